// Products that repeat the call before with arrays of the same shape, for Python.
#pragma once

#include <pybind11/pybind11.h>

namespace diagsparse::cuda {

// The Python function `repeated`: a product of a matrix with arrays that lie like those of the call before.
void bind_repeated(pybind11::module_& m);

}  // namespace diagsparse::cuda
