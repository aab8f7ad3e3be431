// Python bindings of matrices: creation from component arrays with validation, access to these arrays, and new values
// on the same structure.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <cstring>

#include "bind/device.hpp"
#include "bind/subjects.hpp"
#include "core/format.hpp"
#include "core/repeats.hpp"
#include "core/several.hpp"
#include "formats/mdia/layout.hpp"

namespace py = pybind11;

namespace diagsparse {

namespace {

Matrix checked(Matrix m) {
  const Entry entry(m.device(), {&m});
  check_matrix(m);
  return m;
}

// The packing of a diagonal matrix; empty for other formats.
Packing packing_of(const Matrix& m) {
  const auto* layout = dynamic_cast<const Layout*>(m.structure.get());
  return layout ? layout->packing : Packing{};
}

// A matrix with the structure of m and other values, which have not been validated.
Matrix with_structure_of(const Matrix& m, py::object values) { return {m.structure, array_from(values)}; }

// A row for each diagonal of op(m): offset, first row, length, start in the value array, phase in the period, and
// whether the values are conjugated.
py::array spans(const Matrix& m, Op op) {
  const std::vector<Span> all = packed_spans_of(m.layout(), op);
  py::array_t<int64> out({static_cast<py::ssize_t>(all.size()), py::ssize_t{6}});
  int64* to = out.mutable_data();
  for (const Span& s : all) {
    for (const int64 field : {s.offset, s.row, s.length, s.start, s.phase, int64{s.conjugated}}) *to++ = field;
  }
  return out;
}

Matrix diagonal_matrix(const std::string& format, int64 rows, int64 cols, std::vector<int64> labels, py::object values,
                       const std::string& dtype, int device, int symmetry, int64 period) {
  const DiagonalFormat& f = diagonal_format(format);
  check_shape(f, rows, cols);
  auto layout =
      std::make_shared<const Layout>(pack(f.place(rows, cols, std::move(labels)), packing_from(symmetry, period)));
  if (values.is_none()) {
    const DType type = dtype_from_name(dtype);
    const Entry entry(device);
    Array zeros = Array::zeros(type, layout->values_shape);
    return {std::move(layout), std::move(zeros)};
  }
  return checked({std::move(layout), array_from(values)});
}

// A matrix in a format that consists of index arrays, which must not be modified afterwards.
Matrix indexed_matrix(const std::string& format, int64 rows, int64 cols, py::object values,
                      const std::vector<std::pair<std::string, py::object>>& arrays) {
  std::vector<Part> parts;
  for (const auto& [name, array] : arrays) parts.emplace_back(name, array_from(array));
  Array memory = array_from(values);
  const Entry entry(memory.device);
  Matrix result = {structure_over(format, rows, cols, std::move(parts)), std::move(memory)};
  check_matrix(result);
  return result;
}

// The matrix as it was created, without changes to arrays that were exposed to Python later.
const Matrix& as_made(py::handle matrix) {
  if (!py::isinstance<Matrix>(matrix)) throw py::type_error("expected a matrix");
  return *owned(matrix).get();
}

Exports& exports_of(py::handle matrix) {
  as_made(matrix);
  return owned(matrix).exports();
}

py::object exporter_of(py::handle matrix) {
  as_made(matrix);
  return owned(matrix).exported() ? owned(matrix).exports().exporter() : py::none();
}

// The transpose on the same memory, in the dual format.
py::object dual(py::handle matrix) {
  const Matrix& m = as_made(matrix);
  py::object result =
      py::cast(Matrix(dynamic_cast<const Indices&>(*m.structure).transposed(format_of(m.format).dual), m.values));
  owned(result).adopt(owned(matrix).exports().add_owner());
  return result;
}

// The children of a matrix that consists of several. They are read-only, because the matrix must not change.
py::list children(const Matrix& m) {
  py::list all;
  for (Matrix& child : children_of(m)) {
    const py::object result = py::cast(std::move(child));
    owned(result).adopt(new Exports(true));
    all.append(result);
  }
  return all;
}

// The values in the order of the exposed index arrays, if there are any.
py::object stored_values(py::handle matrix) {
  const Matrix& m = as_made(matrix);
  const py::object exporter = exporter_of(matrix);
  return exporter.is_none() ? to_python(m.values) : exporter.attr("values");
}

Matrix with_values(const Matrix& m, py::object values) {
  Matrix out = with_structure_of(m, values);
  check_values(out, m.values.shape);
  if (out.structure->symmetry() == Symmetry::hermitian) {
    const Entry entry(out.device(), {&out});
    check_main_diagonal(out);
  }
  return out;
}

// Whether each value has the same position in two matrices. On a GPU, the call waits for the result, unless they share
// their structure.
bool same_structure(const Matrix& a, const Matrix& b) {
  const Entry entry(a.device(), {&a, &b});
  return a.structure == b.structure || a.structure->same_as(*b.structure);
}

// Whether two matrices have the same structure and bitwise the same values. On a GPU, the call waits for the result. A
// GPU compares 4-byte words, so 16-bit values that are not aligned to a word are reported as different.
bool same_parts(const Matrix& a, const Matrix& b) {
  const auto misaligned = [](const Array& x) { return reinterpret_cast<std::uintptr_t>(x.data) % 4 != 0; };
  if (misaligned(a.values) || misaligned(b.values)) return false;
  const Entry entry(a.device(), {&a, &b});
  return a.dtype == b.dtype && (a.structure == b.structure || a.structure->same_as(*b.structure)) &&
         a.values.size() == b.values.size() && same_bytes(a.values.data, b.values.data, a.values.nbytes());
}

// The period of a vector on the host: its length minus the length of its longest border.
int64 period_of(const py::array& vector) {
  const auto n = static_cast<int64>(vector.size());
  const char* bytes = static_cast<const char*>(vector.data());
  const auto item = static_cast<int64>(vector.itemsize());
  const Unlocked unlocked;
  return shortest_period(n,
                         [=](int64 i, int64 j) { return std::memcmp(bytes + i * item, bytes + j * item, item) == 0; });
}

}  // namespace

void bind_matrices(py::module_& m) {
  py::class_<Matrix, Owned<Matrix>>(m, "Matrix", py::module_local())
      // Properties that do not depend on index arrays are read from the matrix as created, without its exporter.
      .def_property_readonly("format", [](py::handle matrix) { return as_made(matrix).format; })
      .def_property_readonly("rows", [](py::handle matrix) { return as_made(matrix).rows; })
      .def_property_readonly("cols", [](py::handle matrix) { return as_made(matrix).cols; })
      .def_property_readonly("dtype", [](py::handle matrix) { return numpy_dtype(as_made(matrix).dtype); })
      .def_property_readonly("stored", [](const Matrix& a) { return a.structure->stored(); })
      .def_property_readonly("diagonals", [](const Matrix& a) { return a.layout().spans.size(); })
      .def_property_readonly("strips", [](const Matrix& a) { return strips_of(a.layout().spans).size(); })
      .def_property_readonly("symmetry",
                             [](py::handle matrix) { return static_cast<int>(as_made(matrix).structure->symmetry()); })
      .def_property_readonly("palette", [](py::handle matrix) { return has_palette(*as_made(matrix).structure); })
      .def_property_readonly("description",  // what the Python matrix caches, in one call
                             [](py::handle matrix) {
                               const Matrix& a = as_made(matrix);
                               const Symmetry stored = a.structure->symmetry();
                               const bool packed = item_size(a.dtype) == 2 || packing_of(a).period > 0 ||
                                                   stored != Symmetry::none || has_palette(*a.structure);
                               // Only a symmetry of the complete matrix: it equals its transpose or adjoint for any
                               // values.
                               const int symmetry = format_of(a.format).real_diagonal ? static_cast<int>(stored) : 0;
                               return py::make_tuple(a.format, numpy_dtype(a.dtype), a.rows, a.cols, packed, symmetry);
                             })
      .def_property_readonly("period", [](const Matrix& a) { return packing_of(a).period; })
      .def_property_readonly("nbytes", &Matrix::nbytes)
      .def_property_readonly("device", [](py::handle matrix) { return as_made(matrix).device(); })
      .def_property_readonly("values", [](const Matrix& a) { return to_python(a.values); })
      .def("parts", [](const Matrix& a) { return by_name(a.parts()); })
      .def("children", &children)
      .def("spans", &spans)
      .def("with_values", &with_values)
      .def("with_members",
           [](const Matrix& m, py::object values) {
             Matrix all = with_structure_of(m, values);
             check_members(all);
             return all;
           })
      .def("dual", &dual)
      .def_property_readonly("stored_values", &stored_values)
      // For index arrays that are exposed for writing: bind/exports.hpp.
      .def_property_readonly("sealed", [](py::handle a) { return exports_of(a).sealed(); })
      .def_property_readonly("as_made", [](py::handle a) { return Matrix(as_made(a)); })
      .def_property_readonly("exporter", &exporter_of)
      .def("export_by", [](py::handle a, py::object exporter) { return exports_of(a).set(std::move(exporter)); })
      .def("drop_exporter", [](py::handle a, const py::object& exporter) { exports_of(a).drop(exporter); });
  m.def("diagonal_matrix", &diagonal_matrix, py::arg(), py::arg(), py::arg(), py::arg(), py::arg(), py::arg(),
        py::arg("device") = 0, py::arg("symmetry") = 0, py::arg("period") = 0);
  m.def("indexed_matrix", &indexed_matrix);
  m.def("same_parts", &same_parts);
  m.def("same_structure", &same_structure);
  m.def("shortest_period", &period_of);
  m.def("overlap", [](py::handle x, py::handle y) { return overlap(dense_from(x), dense_from(y)); });
}

}  // namespace diagsparse
