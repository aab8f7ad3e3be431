// Device arrays of other libraries, in and out without a copy: by DLPack, or else by __cuda_array_interface__.
#pragma once

#include <pybind11/pybind11.h>

#include "bind/dlpack.hpp"
#include "device/device_array.hpp"

namespace diagsparse::cuda {

// An array, whose memory stays valid until the work on this stream is done.
inline Array array_in_use(const DeviceArray& a) {
  const Array array = a.array();
  used_on_this_stream(array);
  return array;
}

// A view of any object that supports either; `stream` is the one before whose work it has to be ready (None: no
// synchronization).
DeviceArray import_array(pybind11::handle object, pybind11::object stream);
pybind11::capsule export_dlpack(const DeviceArray& a);
pybind11::dict array_interface(const DeviceArray& a);
// Whether DLPack's type is this one.
bool of_type(dlpack::DataType theirs, DType ours);
// The type with this NumPy name; TypeError lists the supported ones.
DType dtype_of_name(const std::string& name);

}  // namespace diagsparse::cuda
