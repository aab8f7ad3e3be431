// Python bindings of conversions: between formats, copies of diagonals, and the statistics needed to plan a conversion.
#include <pybind11/complex.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "bind/device.hpp"
#include "bind/subjects.hpp"
#include "core/convert.hpp"
#include "core/summary.hpp"
#include "core/validation.hpp"
#include "formats/sell/layout.hpp"

namespace py = pybind11;

namespace diagsparse {

void bind_conversions(py::module_& m) {
  m.def("add_diagonals", [](Scalar alpha, const Matrix& from, int op, Matrix& to, bool accumulate) {
    const Entry entry(from.device(), {&from, &to});
    add_diagonals(alpha, from, op_from(op), to, accumulate);
  });
  m.def("realigned",
        [](const std::string& format, int64 rows, int64 cols, py::handle data, const std::vector<int64>& offsets) {
          const DiagonalFormat& f = diagonal_format(format);
          check_shape(f, rows, cols);
          const Array values = array_from(data);
          const Entry entry(values.device);
          return realigned(f, rows, cols, values, offsets);
        });
  m.def("differing_diagonal", [](const Matrix& packed, const Matrix& full) {
    std::optional<int64> offset;
    {
      const Entry entry(packed.device(), {&packed, &full});
      offset = differing_diagonal(packed, full);
    }
    return offset;
  });
  const auto of_diagonals = [&m](const char* name, const std::vector<int64>& (*find)(const Matrix&, Op)) {
    m.def(name, [find](const Matrix& a, int op) {
      const std::vector<int64>* result = nullptr;  // valid as long as the structure of `a`
      {
        const Entry entry(a.device(), {&a});
        result = &find(a, op_from(op));
      }
      return py::array_t<int64>(static_cast<py::ssize_t>(result->size()), result->data());
    });
  };
  of_diagonals("occupied_diagonals", occupied_diagonals);
  of_diagonals("entries_on_diagonals", entries_on_diagonals);
  m.def("occupied_blocks", [](const Matrix& a, int op, int64 size) {
    const Entry entry(a.device(), {&a});
    return occupied_blocks(a, op_from(op), size);
  });
  m.def("leading_entries", [](const Matrix& a, int op, const Options& which) {
    const auto limit = [&](const char* name) { return option(which, name, kAnyExtent); };
    LeadingEntries result{};
    {
      const Entry entry(a.device(), {&a});
      result = leading_entries(a, op_from(op),
                               {limit("entries"), limit("column"), limit("reach"), option(which, "lower", 0) != 0});
    }
    return std::pair(result.longest, result.all);
  });
  m.def("places_in_slices", [](const Matrix& a, int op, int64 height, int64 sigma) {
    const Entry entry(a.device(), {&a});
    return places_in_slices(a, op_from(op), height, sigma);
  });
  m.def("symmetries", [](const Matrix& csr) {
    const Entry entry(csr.device(), {&csr});
    return symmetries(csr);
  });
  m.def("repeats_after", [](const Matrix& csr, int64 period) {
    const Entry entry(csr.device(), {&csr});
    return repeats_after(csr, period);
  });
  m.def(
      "convert",
      [](const Matrix& a, int op, const std::string& format, const Options& options) {
        const Entry entry(a.device(), {&a});
        return convert(a, op_from(op), format, options);
      },
      py::arg(), py::arg(), py::arg(), py::arg("options") = Options());
  m.def("row_lengths", [](const Matrix& a, int op) {
    RowLengths lengths;
    {
      const Entry entry(a.device(), {&a});
      lengths = row_lengths(a, op_from(op));
    }
    return lengths;
  });
  m.def("count_nonzero", [](const Matrix& a) {
    const Entry entry(a.device(), {&a});
    return count_nonzero(a);
  });
}

}  // namespace diagsparse
