// Solving with narrow bands and with triangles on the GPU, for Python.
#pragma once

#include <pybind11/pybind11.h>

namespace diagsparse::cuda {

// The Python functions `solve_tridiagonal` and `solve_pentadiagonal`, and the class `Triangle` with the functions that
// create it. Solving overwrites the right-hand side with the solution.
void bind_solving(pybind11::module_& m);

}  // namespace diagsparse::cuda
