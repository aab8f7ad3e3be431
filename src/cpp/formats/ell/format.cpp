// Defines the Format of ell, validates its arrays, and converts from and to csr.
#include <algorithm>

#include "core/convert.hpp"
#include "core/summary.hpp"
#include "formats/ell/layout.hpp"

namespace diagsparse {

namespace {

void check(const Matrix& given) {
  const Shape shape{given.structure->values_shape.rows, given.rows};
  check_padded_parts(given, shape, shape, {}, {"row_lengths"});
  const Matrix m = lengthened(given, Lines::rows);
  const Fault fault = StoredRows<Ell>::fault_in_entries(*m.structure);
  check_stored_columns(m, fault, element_name("indices", fault.at, m.rows), ", or -1 for padding");
}

Matrix from_csr(const Matrix& csr, const Format&, const Options& options) {
  const DType type = index_type(option(options, "column_bits", 32));
  return shortened(ell_from_csr(csr, longest_row(csr), option(options, "row_lengths", 0) != 0), type, Lines::rows);
}

Matrix to_csr(const Matrix& a, Op op) {
  return convert(StoredRows<Ell>::to_csr(lengthened(a, Lines::rows)), op, common->name);
}

}  // namespace

Matrix ell_from_csr(const Matrix& csr, int64 width, bool with_lengths) {
  const Shape shape{width, csr.rows};
  std::vector<Part> arrays{{"indices", Array::empty(DType::i32, shape)}};
  if (with_lengths) arrays.emplace_back("row_lengths", Array::empty(DType::i32, {csr.rows}));
  int64 stored = 0;
  for (const auto& [length, rows] : row_lengths(csr, {})) stored += std::min(width, length) * rows;
  const Matrix result{std::make_shared<const Indices>(ell.name, csr.rows, csr.cols, std::move(arrays), shape, stored),
                      Array::empty(csr.dtype, shape)};
  StoredRows<Ell>::fill(csr, result);
  return result;
}

const Format ell{.name = "ell",
                 .extent = kIndexExtent,
                 .structure = padded_structure,
                 .check = check,
                 .from_csr = from_csr,
                 .to_csr = to_csr};

}  // namespace diagsparse
