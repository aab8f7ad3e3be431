// Multigrid on a GPU for Python.
#pragma once

#include <pybind11/pybind11.h>

namespace diagsparse::cuda {

void bind_multigrid(pybind11::module_& m);

}  // namespace diagsparse::cuda
