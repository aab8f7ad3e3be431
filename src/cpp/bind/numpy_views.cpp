// Host memory of ours as NumPy arrays that keep it alive, and NumPy's names for the types of values.
#include <pybind11/numpy.h>

#include "bind/device.hpp"

namespace py = pybind11;

namespace diagsparse {

DType dtype_from_name(const std::string& name) {
  for (DType t : {DType::f32, DType::f64, DType::c64, DType::c128}) {
    if (name == dtype_name(t)) return t;
  }
  throw py::type_error("values of type " + name);
}

py::object to_numpy(const Array& array) {
  static const char* formats[] = {"f4", "f8", "c8", "c16", "f2", "bfloat16", "i4", "i8"};
  const auto* owner = new std::shared_ptr<const void>(array.owner);
  const py::capsule base(owner, [](void* p) { delete static_cast<std::shared_ptr<const void>*>(p); });
  std::vector<py::ssize_t> shape{array.shape.rows};
  if (array.shape.cols >= 0) shape.push_back(array.shape.cols);
  py::array out(py::dtype(formats[static_cast<int>(array.dtype)]), shape, array.data, base);
  if (!array.writeable) out.attr("flags").attr("writeable") = false;
  return out;
}

}  // namespace diagsparse
