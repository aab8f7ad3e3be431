// Tridiagonal and pentadiagonal solves on the GPU for Python.
#pragma once

#include <pybind11/pybind11.h>

namespace diagsparse::cuda {

// The Python functions `solve_tridiagonal` and `solve_pentadiagonal`, which overwrite the right-hand side with the
// solution.
void bind_solving(pybind11::module_& m);

}  // namespace diagsparse::cuda
