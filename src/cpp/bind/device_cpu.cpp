// The binding's side of the CPU: NumPy arrays in and out, threads, the memory-reading yardstick.
#include <pybind11/numpy.h>

#include "bind/device.hpp"
#include "cpu/measure.hpp"
#include "cpu/parallel.hpp"

namespace py = pybind11;

namespace diagsparse {

namespace {

// NumPy's type numbers are fixed by its C API; `long` and `long long` are both 64 bits on some systems.
DType dtype_from(const py::array& a) {
  const py::dtype type = a.dtype();
  const char kind = type.kind();
  const auto size = type.itemsize();
  if (kind == 'f' && size == 8) return DType::f64;
  if (kind == 'f' && size == 4) return DType::f32;
  if (kind == 'c' && size == 16) return DType::c128;
  if (kind == 'c' && size == 8) return DType::c64;
  if (kind == 'f' && size == 2) return DType::f16;
  if (type.attr("name").cast<std::string>() == dtype_name(DType::bf16)) return DType::bf16;  // of the package ml_dtypes
  if (kind == 'i' && size == 8) return DType::i64;
  if (kind == 'i' && size == 4) return DType::i32;
  throw py::type_error("arrays of type " + py::str(type).cast<std::string>() + " are not supported");
}

py::array as_numpy(py::handle object) {
  if (!py::isinstance<py::array>(object)) throw py::type_error("expected a NumPy array");
  return py::reinterpret_borrow<py::array>(object);
}

}  // namespace

Dense dense_from(py::handle object) {
  const py::array a = as_numpy(object);
  const int64 item = a.itemsize();
  Dense d{const_cast<void*>(a.data()), dtype_from(a), a.shape(0), 1, a.strides(0) / item, 0};
  if (a.ndim() == 2) {
    d.cols = a.shape(1);
    d.col_stride = a.strides(1) / item;
  } else {
    d.col_stride = d.rows;
  }
  return d;
}

Array array_from(py::handle object) {
  const py::array a = as_numpy(object);
  if (!(a.flags() & py::array::c_style)) throw std::logic_error("the array is not contiguous");
  Array out;
  out.data = const_cast<void*>(a.data());
  out.dtype = dtype_from(a);
  out.shape.rows = a.ndim() > 0 ? a.shape(0) : 0;
  if (a.ndim() == 2) out.shape.cols = a.shape(1);
  out.writeable = a.writeable();
  object.inc_ref();
  out.owner = std::shared_ptr<const void>(out.data, [keep = object.ptr()](const void*) {
    if (!Py_IsInitialized()) return;
    py::gil_scoped_acquire gil;
    Py_DECREF(keep);
  });
  return out;
}

py::object to_python(const Array& array) { return to_numpy(array); }

struct Entry::State {};
Entry::Entry(int, std::initializer_list<const Matrix*>) {}
Entry::~Entry() = default;

void bind_device(py::module_& m) {
  m.def("instruction_set", &instruction_set);
  m.def("get_num_threads", &thread_count);
  m.def("set_num_threads", &set_thread_count);
  m.def("read", [](py::array_t<double, py::array::c_style> data) {
    const double* p = data.data();
    const int64 n = data.size();
    py::gil_scoped_release unlocked;
    return reader()(p, n);
  });
}

}  // namespace diagsparse
