// The binding's side of the CPU: NumPy arrays in and out, threads, the memory-reading yardstick.
#include <pybind11/numpy.h>

#include <bit>
#include <optional>

#include "bind/device.hpp"
#include "core/gate.hpp"
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
  const auto known = [&]() -> std::optional<DType> {
    if (kind == 'f' && size == 8) return DType::f64;
    if (kind == 'f' && size == 4) return DType::f32;
    if (kind == 'c' && size == 16) return DType::c128;
    if (kind == 'c' && size == 8) return DType::c64;
    if (kind == 'f' && size == 2) return DType::f16;
    if (kind == 'i' && size == 8) return DType::i64;
    if (kind == 'i' && size == 4) return DType::i32;
    if (type.attr("name").cast<std::string>() == dtype_name(DType::bf16)) return DType::bf16;  // of ml_dtypes
    return std::nullopt;
  }();
  constexpr char foreign = std::endian::native == std::endian::little ? '>' : '<';
  if (!known || type.byteorder() == foreign) {
    throw py::type_error("arrays of type " + py::str(type).cast<std::string>() + " are not supported");
  }
  return *known;
}

// Memory of the machine's own types, in one or two dimensions, each element where its type wants it.
py::array as_numpy(py::handle object) {
  if (!py::isinstance<py::array>(object)) throw py::type_error("expected a NumPy array");
  py::array a = py::reinterpret_borrow<py::array>(object);
  if (a.ndim() != 1 && a.ndim() != 2) {
    throw py::value_error("an array of " + std::to_string(a.ndim()) + " dimensions, expected one or two");
  }
  if (!(a.flags() & py::detail::npy_api::NPY_ARRAY_ALIGNED_)) throw py::value_error("the array is misaligned");
  return a;
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
  out.shape.rows = a.shape(0);
  if (a.ndim() == 2) out.shape.cols = a.shape(1);
  out.writeable = a.writeable();
  out.owner = keep_alive(object, out.data);
  return out;
}

py::object to_python(const Array& array) { return to_numpy(array); }

struct Entry::State {};
Entry::Entry(int, std::initializer_list<const Matrix*>) {}
Entry::~Entry() = default;

void bind_device(py::module_& m) {
  // Whether lines of another library's arrays are in order; ValueError where they would be read out of bounds.
  m.def("lines_in_order", [](const std::string& who, py::array indptr, py::array indices, int64 lines, int64 extent) {
    const Array pointers = array_from(indptr), columns = array_from(indices);
    const Entry entry(0);
    return check_lines(who, pointers, columns, lines, extent);
  });
  m.def("instruction_set", &instruction_set);
  m.def("get_num_threads", &requested_thread_count);
  m.def("set_num_threads", &set_thread_count);
  m.def("read", [](py::array_t<double, py::array::c_style> data) {
    const double* p = data.data();
    const int64 n = data.size();
    const Unlocked unlocked;
    return reader()(p, n);
  });
}

}  // namespace diagsparse

PYBIND11_MODULE(_core, m) { diagsparse::bind_module(m); }
