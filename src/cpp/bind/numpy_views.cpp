// Host memory of ours as NumPy arrays that keep it alive, and NumPy's names for the types of values.
#include <pybind11/numpy.h>

#include <optional>
#include <vector>

#include "bind/device.hpp"

namespace py = pybind11;

namespace diagsparse {

DType dtype_from_name(const std::string& name) {
  for (DType t : {DType::f32, DType::f64, DType::c64, DType::c128}) {
    if (name == dtype_name(t)) return t;
  }
  throw py::type_error("values of type " + name);
}

const py::dtype& numpy_type(DType type) {
  static const char* names[] = {"f4", "f8", "c8", "c16", "f2", "bfloat16", "i4", "i8"};
  static auto* types = new std::vector<std::optional<py::dtype>>(std::size(names));  // outlive the interpreter
  std::optional<py::dtype>& known = (*types)[static_cast<std::size_t>(type)];
  if (!known) known = py::dtype(names[static_cast<int>(type)]);
  return *known;
}

py::object to_numpy(const Array& array) {
  const auto* owner = new std::shared_ptr<const void>(array.owner);
  const py::capsule base(owner, [](void* p) { delete static_cast<std::shared_ptr<const void>*>(p); });
  std::vector<py::ssize_t> shape{array.shape.rows};
  if (array.shape.cols >= 0) shape.push_back(array.shape.cols);
  py::array out(numpy_type(array.dtype), shape, array.data, base);
  if (!array.writeable) py::detail::array_proxy(out.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return out;
}

}  // namespace diagsparse
