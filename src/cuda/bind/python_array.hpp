// The Python class for arrays on a GPU.
#pragma once

#include <pybind11/pybind11.h>

namespace diagsparse::cuda {

void bind_device_array(pybind11::module_& m);

}  // namespace diagsparse::cuda
