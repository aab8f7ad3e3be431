#include "formats/ell.hpp"

#include "core/convert.hpp"
#include "core/summary.hpp"

namespace diagsparse {

namespace {

StructurePtr over(const Format& format, int64 rows, int64 cols, std::vector<Part> arrays) {
  const Shape shape = arrays.empty() ? Shape{0, rows} : arrays.front().second.shape;
  const bool readable = !arrays.empty() && is_index_type(arrays.front().second.dtype);  // `check` refuses others
  const int64 stored = readable ? count_places(arrays.front().second) : 0;
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
  const Fault fault = fault_in_ell(Ell<float>::over(*m.structure, nullptr));
  const int64 rows = m.rows > 0 ? m.rows : 1;
  std::string place = "indices[";
  place += std::to_string(fault.at / rows) + ", " + std::to_string(fault.at % rows) + "]";
  switch (fault.kind) {
    case Fault::none: return;
    case Fault::pointers:
      throw std::invalid_argument("ell_array: row_lengths[" + std::to_string(fault.at) +
                                  "] is not the count of the row's entries");
    case Fault::outside:
      throw std::invalid_argument("ell_array: " + place + " lies outside, expected 0 to " + std::to_string(m.cols - 1) +
                                  ", or -1 for padding");
    case Fault::order:
      throw std::invalid_argument("ell_array: " + place +
                                  " does not come after the one before it in its row (padding comes last)");
  }
}

Matrix from_csr(const Matrix& csr, const Format&, const Options& options) {
  const DType type = index_type(option(options, "column_bits", 32));
  const Matrix made = ell_from_rows(csr, longest_row(csr), option(options, "row_lengths", 0) != 0);
  return shortened(made, type, Lines::rows);
}

Matrix to_csr(const Matrix& a, Op op) { return convert(rows_from_ell(lengthened(a, Lines::rows)), op, common->name); }

}  // namespace

Matrix ell_over(int64 rows, int64 cols, Array indices, const Array* lengths, int64 stored, Array values) {
  const Shape shape = indices.shape;
  std::vector<Part> arrays{{"indices", std::move(indices)}};
  if (lengths) arrays.emplace_back("row_lengths", *lengths);
  return {std::make_shared<const Indices>(ell.name, rows, cols, std::move(arrays), shape, stored), std::move(values)};
}

const Format ell{.name = "ell",
                 .extent = kIndexExtent,
                 .structure = over,
                 .check = check,
                 .multiplies_as = "csr",
                 .from_csr = from_csr,
                 .to_csr = to_csr};

}  // namespace diagsparse
