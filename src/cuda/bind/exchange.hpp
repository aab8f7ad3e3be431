// Device arrays of other libraries, in and out without a copy: DLPack first, __cuda_array_interface__ second.
#pragma once

#include <pybind11/pybind11.h>

#include "bind/dlpack.hpp"
#include "device/device_array.hpp"

namespace diagsparse::cuda {

// A view of any object that offers either; `stream` is what its work has to be ordered before (None: in order already).
DeviceArray import_array(pybind11::handle object, pybind11::object stream);
pybind11::capsule export_dlpack(const DeviceArray& a);
pybind11::dict array_interface(const DeviceArray& a);
// Whether DLPack's type is this one.
bool of_type(dlpack::DataType theirs, DType ours);
// Of NumPy's name; TypeError lists those that there are.
DType dtype_of_name(const std::string& name);

}  // namespace diagsparse::cuda
