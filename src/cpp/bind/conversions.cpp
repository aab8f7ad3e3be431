// Python bindings of conversions: between formats, copies of diagonals, and the statistics needed to plan a conversion.
#include <pybind11/complex.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "bind/device.hpp"
#include "bind/subjects.hpp"
#include "core/convert.hpp"
#include "core/sample.hpp"
#include "core/summary.hpp"
#include "formats/mdia/palette.hpp"
#include "formats/sell/layout.hpp"

namespace py = pybind11;

namespace diagsparse {

void bind_conversions(py::module_& m) {
  m.def("add_diagonals", [](Scalar alpha, const Matrix& from, Op op, Matrix& to, bool accumulate) {
    const Entry entry(from.device(), {&from, &to});
    add_diagonals(alpha, from, op, to, accumulate);
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
    const Entry entry(packed.device(), {&packed, &full});
    return differing_diagonal(packed, full);
  });
  const auto of_diagonals = [&m](const char* name, const std::vector<int64>& (*find)(const Matrix&, Op)) {
    m.def(name, [find](const Matrix& a, Op op) {
      const std::vector<int64>* result = nullptr;  // valid as long as the structure of `a`
      {
        const Entry entry(a.device(), {&a});
        result = &find(a, op);
      }
      return py::array_t<int64>(static_cast<py::ssize_t>(result->size()), result->data());
    });
  };
  of_diagonals("occupied_diagonals", occupied_diagonals);
  of_diagonals("entries_on_diagonals", entries_on_diagonals);
  m.def("sample", [](const Matrix& csr) {
    Sample result;
    {
      const Entry entry(csr.device(), {&csr});
      result = sample(csr);
    }
    const auto numbers = [](const std::vector<int64>& all) {
      return py::array_t<int64>(static_cast<py::ssize_t>(all.size()), all.data());
    };
    return py::make_tuple(numbers(result.offsets), numbers(result.fill), result.blocks, result.in_full_blocks,
                          result.masks, result.lines, result.branches);
  });
  m.def("occupied_blocks", guarded(occupied_blocks));
  m.def("leading_entries", [](const Matrix& a, Op op, const Options& which) {
    const auto limit = [&](const char* name) { return option(which, name, kAnyExtent); };
    const Entry entry(a.device(), {&a});
    const LeadingEntries result =
        leading_entries(a, op, {limit("entries"), limit("column"), limit("reach"), option(which, "lower", 0) != 0});
    return std::pair(result.longest, result.all);
  });
  m.def("padded_size_of_slices", guarded(padded_size_of_slices));
  m.def("without_palette", [](const Matrix& a) {
    const Entry entry(a.device(), {&a});
    return without_palette(a);
  });
  m.def("colors_on_diagonals", guarded(colors_on_diagonals));
  m.def("symmetries", guarded(symmetries));
  m.def("repeats_after", guarded(repeats_after));
  m.def(
      "convert",
      [](const Matrix& a, Op op, const std::string& format, const Options& options) {
        const Entry entry(a.device(), {&a});
        return convert(a, op, format, options);
      },
      py::arg(), py::arg(), py::arg(), py::arg("options") = Options());
  m.def("row_lengths", guarded(row_lengths));
  m.def("count_nonzero", guarded(count_nonzero));
}

}  // namespace diagsparse
