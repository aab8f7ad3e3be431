// Python bindings of the format tables: kernels, supported shapes, and labels of diagonals.
#include <pybind11/stl.h>

#include "bind/device.hpp"
#include "bind/subjects.hpp"
#include "core/format.hpp"
#include "core/kernel_table.hpp"

namespace py = pybind11;

namespace diagsparse {

namespace {

// The kernels of a format; if a type is given, only those that multiply values of this type.
py::dict kernel_names(const std::string& format, const std::optional<std::string>& dtype) {
  py::dict out;
  const std::optional<DType> value_type = dtype ? find_dtype(*dtype) : DType::f64;
  if (!value_type) throw py::type_error("values of type " + *dtype);
  const DType stored = *value_type;
  const DType wide = static_cast<int>(stored) < kValueTypes ? stored : DType::f32;  // the type of the other operand
  const auto list = [&](const char* operation, const auto& rows, DType left) {
    py::list names;
    for (const auto& row : rows) {
      if (!dtype || row.typed(left, wide)) names.append(row.name);
    }
    out[operation] = names;
  };
  list("matvec", kernels(format).matvec, stored);
  list("matmul", kernels(multiplied_as(format_of(format)).name).matmul, wide);
  list("chain", kernels(format).chain, stored);
  return out;
}

}  // namespace

void bind_tables(py::module_& m) {
  m.def("kernels", &kernel_names, py::arg(), py::arg("dtype") = py::none());
  m.def("check_shape",
        [](const std::string& format, int64 rows, int64 cols) { check_shape(format_of(format), rows, cols); });
  m.def(
      "labels_for",
      [](const std::string& format, int64 rows, int64 cols, const std::vector<int64>& offsets, int symmetry) {
        const DiagonalFormat& f = diagonal_format(format);
        const std::vector<int64> labels = f.labels_for(rows, cols, offsets);
        return symmetry == 0 ? labels : packed_labels(f.place(rows, cols, labels), packing_from(symmetry, 0));
      },
      py::arg(), py::arg(), py::arg(), py::arg(), py::arg("symmetry") = 0);
}

}  // namespace diagsparse
