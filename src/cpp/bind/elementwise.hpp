#pragma once

#include <pybind11/pybind11.h>

namespace diagsparse {

void bind_elementwise(pybind11::module_& m);

}  // namespace diagsparse
