// Defines the Format of ell, validates its arrays, and converts from and to csr.
#include <algorithm>

#include "core/convert.hpp"
#include "core/summary.hpp"
#include "formats/ell/layout.hpp"

namespace diagsparse {

namespace {

StructurePtr over(const Format& format, int64 rows, int64 cols, std::vector<Part> arrays) {
  const Shape shape = arrays.empty() ? Shape{0, rows} : arrays.front().second.shape;
  const bool readable = !arrays.empty() && is_index_type(arrays.front().second.dtype);  // `check` rejects others
  const int64 stored = readable ? count_unpadded(arrays.front().second) : 0;
  return std::make_shared<const Indices>(format.name, rows, cols, std::move(arrays), shape, stored);
}

void check_sizes(const Matrix& m) {
  const auto& parts = static_cast<const Indices&>(*m.structure);
  const Shape shape{m.structure->values_shape.rows, m.rows};
  const DType given = parts.at("indices").dtype, type = is_index_type(given) ? given : DType::i32;
  std::vector<ExpectedPart> expected{{"indices", type, shape}};
  if (parts.find("row_lengths")) expected.push_back({"row_lengths", DType::i32, {m.rows}});
  check_bases(m, "bases", type, shape, m.cols, expected);
  check_parts(m, expected);
}

void check(const Matrix& given) {
  check_shape(ell, given.rows, given.cols);
  check_sizes(given);
  const Matrix m = lengthened(given, Lines::rows);
  const Fault fault = StoredRows<Ell>::fault_in_entries(*m.structure);
  const int64 rows = m.rows > 0 ? m.rows : 1;
  std::string position = "indices[";
  position += std::to_string(fault.at / rows) + ", " + std::to_string(fault.at % rows) + "]";
  switch (fault.kind) {
    case Fault::none: return;
    case Fault::pointers:
      throw std::invalid_argument("ell_array: row_lengths[" + std::to_string(fault.at) +
                                  "] is not the count of the row's entries");
    case Fault::outside:
      throw std::invalid_argument("ell_array: " + position + " lies outside, expected 0 to " +
                                  std::to_string(m.cols - 1) + ", or -1 for padding");
    case Fault::order:
      throw std::invalid_argument("ell_array: " + position +
                                  " does not come after the one before it in its row (padding comes last)");
  }
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
                 .structure = over,
                 .check = check,
                 .multiplies_as = "csr",
                 .from_csr = from_csr,
                 .to_csr = to_csr};

}  // namespace diagsparse
