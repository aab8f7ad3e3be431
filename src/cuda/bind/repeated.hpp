// Products that repeat an earlier call with arrays of the same layout, for Python.
#pragma once

#include <pybind11/pybind11.h>

namespace diagsparse::cuda {

// The Python function `repeated`: it returns a function that multiplies arrays with the same layout as these.
void bind_repeated(pybind11::module_& m);

}  // namespace diagsparse::cuda
