// What the tables of the formats say: their kernels, the shapes they store, the labels for some diagonals.
#include <pybind11/stl.h>

#include "bind/subjects.hpp"
#include "core/format.hpp"
#include "core/gate.hpp"
#include "core/kernel_table.hpp"

namespace py = pybind11;

namespace diagsparse {

namespace {

py::dict kernel_names(const std::string& format) {
  py::dict out;
  const auto list = [&](const char* operation, const auto& rows) {
    py::list names;
    for (const auto& row : rows) names.append(row.name);
    out[operation] = names;
  };
  list("matvec", kernels(format).matvec);
  list("matmul", kernels(format_of(format).multiplies_as).matmul);
  list("chain", kernels(format).chain);
  return out;
}

}  // namespace

void bind_tables(py::module_& m) {
  m.def("kernels", &kernel_names);
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
