// Products that repeat the previous call with arrays of the same layout, for Python.
#pragma once

#include <pybind11/pybind11.h>

namespace diagsparse::cuda {

// The Python function `repeated`: a product of a matrix with arrays that have the same layout as those of the previous
// call.
void bind_repeated(pybind11::module_& m);

}  // namespace diagsparse::cuda
