// Between Python's arrays and ours, without a copy. One implementation for each module:
// arrays_numpy.cpp for the CPU.
#pragma once

#include <pybind11/pybind11.h>

#include "core/array.hpp"

namespace diagsparse {

Dense dense_from(pybind11::handle object);       // a vector or block that a kernel reads or writes
Array array_from(pybind11::handle object);       // contiguous memory, kept alive by the result
pybind11::object to_python(const Array& array);  // a view that keeps the memory alive

}  // namespace diagsparse
