// Host memory as NumPy arrays that keep it alive, and the NumPy dtypes of value types.
#include <pybind11/numpy.h>

#include <atomic>

#include "bind/device.hpp"

namespace py = pybind11;

namespace diagsparse {

DType dtype_from_name(const std::string& name) {
  const std::optional<DType> type = find_dtype(name);
  if (!type || static_cast<int>(*type) >= kValueTypes) throw py::type_error("values of type " + name);
  return *type;
}

py::dtype numpy_dtype(DType t) {
  static std::atomic<PyObject*> cached[kAllTypes];  // one object for each in NumPy, so threads agree
  std::atomic<PyObject*>& type = cached[static_cast<int>(t)];
  if (!type)
    type = py::module_::import("diagsparse._backends.types").attr("named_dtype")(dtype_name(t)).release().ptr();
  return py::reinterpret_borrow<py::dtype>(type.load());
}

py::object to_numpy(const Array& array) {
  const auto* owner = new std::shared_ptr<const void>(array.owner);
  const py::capsule base(owner, [](void* p) { delete static_cast<std::shared_ptr<const void>*>(p); });
  std::vector<py::ssize_t> shape{array.shape.rows};
  if (array.shape.cols >= 0) shape.push_back(array.shape.cols);
  py::array out(numpy_dtype(array.dtype), shape, array.data, base);
  if (!array.writeable) py::detail::array_proxy(out.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return out;
}

py::dict by_name(const std::vector<Part>& arrays) {
  py::dict out;
  for (const auto& [name, array] : arrays) out[py::str(name)] = to_python(array);
  return out;
}

}  // namespace diagsparse
