// The CPU part of the bindings: NumPy arrays as arguments and results, threads, and the benchmark of memory bandwidth.
#include <pybind11/complex.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <bit>
#include <numeric>

#include "bind/device.hpp"
#include "bind/subjects.hpp"
#include "core/convert.hpp"
#include "core/matvec.hpp"
#include "cpu/block_counts.hpp"
#include "cpu/dense.hpp"
#include "cpu/measure.hpp"
#include "cpu/mirror_sums.hpp"
#include "cpu/parallel.hpp"
#include "cpu/row_period.hpp"
#include "cpu/rows_of_diagonals.hpp"
#include "cpu/squares.hpp"

namespace py = pybind11;

namespace diagsparse {

namespace {

DType dtype_from(const py::array& a) {
  const py::dtype type = a.dtype();
  std::optional<DType> known = find_dtype(type.kind(), static_cast<int>(type.itemsize()));
  if (!known) known = find_dtype(type.attr("name").cast<std::string>());  // bfloat16 of ml_dtypes
  constexpr char foreign = std::endian::native == std::endian::little ? '>' : '<';
  if (!known || type.byteorder() == foreign) {
    throw py::type_error("arrays of type " + py::str(type).cast<std::string>() + " are not supported");
  }
  return *known;
}

// An aligned NumPy array in native byte order, with one or two dimensions.
py::array as_numpy(py::handle object) {
  if (!py::isinstance<py::array>(object)) throw py::type_error("expected a NumPy array");
  py::array a = py::reinterpret_borrow<py::array>(object);
  if (a.ndim() != 1 && a.ndim() != 2) {
    throw py::value_error("an array of " + std::to_string(a.ndim()) + " dimensions, expected one or two");
  }
  if (!(a.flags() & py::detail::npy_api::NPY_ARRAY_ALIGNED_)) throw py::value_error("the array is misaligned");
  return a;
}

using Numbers = py::array_t<std::int32_t, py::array::c_style>;

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
Entry::Entry(int, std::span<const Matrix* const>) {}
Entry::~Entry() = default;

void run_in_stream(void*, const std::function<void(int)>& work) { work(0); }

namespace {

// op(A) x for a contiguous vector of A's type. Returns None for all other operands, which take the general path.
py::object times_vector(const Matrix& a, Op op, const py::array& x) {
  const bool known = item_size(a.dtype) > 2 && x.dtype().ptr() == numpy_dtype(a.dtype).ptr();
  constexpr int plain =
      static_cast<int>(py::array::c_style) | static_cast<int>(py::detail::npy_api::NPY_ARRAY_ALIGNED_);
  const bool contiguous = x.ndim() == 1 && (x.flags() & plain) == plain;
  if (!known || !contiguous || x.size() != (op.transposed ? a.rows : a.cols)) return py::none();
  const std::vector<py::ssize_t> shape{op.transposed ? a.cols : a.rows};
  py::array y(numpy_dtype(a.dtype), shape);
  const auto vector = [&a](const py::array& v) {
    return Dense{const_cast<void*>(v.data()), a.dtype, v.size(), 1, 1, v.size()};
  };
  const Dense in = vector(x), out = vector(y);
  {
    const Entry entry(0, {&a});
    matvec(a, op, 1.0, in, 0.0, out, "");
  }
  return y;
}

}  // namespace

void bind_device(py::module_& m) {
  bind_multigrid(m);
  bind_triangles(m);
  // Whether the lines of another library's arrays are sorted; raises ValueError if kernels would read out of bounds.
  m.def("lines_in_order", [](const std::string& who, py::array indptr, py::array indices, int64 lines, int64 extent) {
    const Array pointers = array_from(indptr), columns = array_from(indices);
    const Entry entry(0);
    return check_lines(who, pointers, columns, lines, extent);
  });
  m.def("add_to_dense", [](Scalar alpha, const Matrix& a, Op op, py::handle dense, bool accumulate) {
    const Dense to = dense_from(dense);
    const Entry entry(0);
    add_to_dense(alpha, a, op, to, accumulate);
  });
  // The entries of op(a) for which an array of uint8 is not 0, with the values of this array: those of a csr, csc or
  // coo matrix in its own format, those of diagonals as csr.
  m.def("select", [](const Matrix& a, Op op, py::handle flags) {
    const Matrix all(a.structure, array_from(flags));
    if (all.dtype != DType::u8 || all.values.size() != a.values.size()) {
      throw std::invalid_argument("select: expected a flag of type uint8 for each value");
    }
    const Entry entry(0);
    const Format& format = format_of(a.format);
    if (format.family == &diagonal_family) return csr_from_diagonals(all, op);
    return combine(format, {{&all, op, 1.0}}, Combine::sum, false, DType::u8);
  });
  m.def("rows_of_diagonals", [](const Matrix& a, Op op, const py::array_t<int64, py::array::c_style>& numbers) {
    const std::span<const int64> rows(numbers.data(), numbers.size());
    const Entry entry(a.device(), {&a});
    return rows_of_diagonals(a, op, rows);
  });
  // Uninitialized memory for a NumPy array, in huge pages if there is much of it.
  m.def("empty_bytes", [](int64 nbytes) { return to_numpy(Array::empty(DType::u8, {nbytes})); });
  m.def("same_bytes", [](py::handle x, py::handle y) {
    const Array a = array_from(x), b = array_from(y);
    const Unlocked unlocked;
    return a.dtype == b.dtype && a.shape == b.shape && same_bytes(a.data, b.data, a.nbytes());
  });
  m.def("period_of_rows", [](int64 first, int64 cols, const Numbers& lengths, const Numbers& columns,
                             py::handle values) {
    const std::span<const std::int32_t> of_rows(lengths.data(), lengths.size()), all(columns.data(), columns.size());
    const Array stored = array_from(values);
    if (std::accumulate(of_rows.begin(), of_rows.end(), int64{0}) != columns.size() ||
        stored.size() != columns.size()) {
      throw std::logic_error("period_of_rows: the lengths of the rows do not fit");
    }
    const Unlocked unlocked;
    return period_of_rows(first, cols, of_rows, all, stored);
  });
  m.def("seeming_symmetries", guarded(seeming_symmetries));
  m.def("block_diagonals", guarded(count_block_diagonals));
  m.def("variable_blocks", [](const Matrix& csr) {
    const Entry entry(csr.device(), {&csr});
    const VariableBlocks result = count_variable_blocks(csr);
    return std::tuple(result.rows, result.cols, result.blocks);
  });
  m.def("times_vector", &times_vector);
  m.def("instruction_set", &instruction_set);
  m.def("instruction_sets", &instruction_sets);
  m.def("get_num_threads", &requested_thread_count);
  m.def("set_num_threads", &set_thread_count);
  m.def("sum_of_squares", [](const std::vector<py::object>& arrays, double factor) {
    std::vector<Array> all;
    for (const py::object& one : arrays) all.push_back(array_from(one));
    const Unlocked unlocked;
    return ForEachSet<SumOfSquares>::best()(all, factor);
  });
  m.def("read", [](py::array_t<double, py::array::c_style> data) {
    const double* p = data.data();
    const int64 n = data.size();
    const Unlocked unlocked;
    return ForEachSet<Reader>::best()(p, n);
  });
}

}  // namespace diagsparse

PYBIND11_MODULE(_core, m, py::mod_gil_not_used()) { diagsparse::bind_module(m); }
