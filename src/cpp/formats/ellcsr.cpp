#include "formats/ellcsr.hpp"

#include <algorithm>

#include "core/convert.hpp"
#include "core/summary.hpp"
#include "formats/ell.hpp"

namespace diagsparse {

namespace {

StructurePtr over(const Format& format, int64 rows, int64 cols, std::vector<Part> arrays) {
  int64 places = 0, stored = 0;
  if (arrays.size() >= 2 && arrays.front().second.dtype == DType::i32) {  // `check` refuses others
    const Array &head = arrays[0].second, &rest = arrays[1].second;
    places = head.size() + rest.size();
    stored = count_places(head) + rest.size();
  }
  return std::make_shared<const Indices>(format.name, rows, cols, std::move(arrays), Shape{places, -1}, stored);
}

void check(const Matrix& m) {
  check_shape(ellcsr, m.rows, m.cols);
  const Array &head = m.index("ell_indices"), &rest = m.index("csr_indices");
  check_parts(m, {{"ell_indices", DType::i32, {m.rows, std::max<int64>(0, head.shape.cols)}},
                  {"csr_indices", DType::i32, {rest.size()}},
                  {"csr_indptr", DType::i64, {m.rows + 1}}});
  if (!check_lines("ellcsr_array: csr", m.index("csr_indptr"), rest, m.rows, m.cols)) {
    throw std::invalid_argument("ellcsr_array: csr_indices do not rise in each row");
  }
  const EllCsr<float> a = EllCsr<float>::over(*m.structure, nullptr);
  const Fault fault = fault_in_ellcsr(a);
  if (fault.kind == Fault::none) return;
  const int64 leading = a.rows * a.width;
  const std::string place = fault.at < leading ? "ell_indices[" + std::to_string(fault.at / a.width) + ", " +
                                                     std::to_string(fault.at % a.width)
                                               : "csr_indices[" + std::to_string(fault.at - leading);
  const std::string what = fault.kind == Fault::outside
                               ? "] lies outside, expected 0 to " + std::to_string(m.cols - 1) + ", or -1 for padding"
                               : "] does not come after the one before it in its row (padding comes last)";
  throw std::invalid_argument("ellcsr_array: " + place + what);
}

Matrix from_csr(const Matrix& csr, const Format&, const Options& options) {
  const int64 column = option(options, "boundary_column", -1);
  if (column >= 0) return ellcsr_from_rows(csr, entries_before(csr, {}, column).longest, {.column = column});
  const int64 entries = options.at("boundary");  // which Python chooses, where nobody gave it
  return ellcsr_from_rows(csr, entries, {.entries = entries});
}

Matrix to_csr(const Matrix& a, Op op) { return convert(rows_from_ellcsr(a), op, common->name); }

}  // namespace

Matrix ellcsr_over(int64 rows, int64 cols, Array head, Array rest, Array indptr, int64 stored, Array values) {
  std::vector<Part> arrays{
      {"ell_indices", std::move(head)}, {"csr_indices", std::move(rest)}, {"csr_indptr", std::move(indptr)}};
  const Shape places{values.size(), -1};
  return {std::make_shared<const Indices>(ellcsr.name, rows, cols, std::move(arrays), places, stored),
          std::move(values)};
}

const Format ellcsr{.name = "ellcsr",
                    .extent = kIndexExtent,
                    .structure = over,
                    .check = check,
                    .multiplies_as = "csr",
                    .from_csr = from_csr,
                    .to_csr = to_csr};

}  // namespace diagsparse
