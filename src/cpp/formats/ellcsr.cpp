#include "formats/ellcsr.hpp"

#include <algorithm>

#include "core/convert.hpp"

namespace diagsparse {

namespace {

constexpr int64 kTogether = 4;  // neighbouring places, which kernels read at once where columns are short

DType type_of_rest(DType head) { return head == DType::i32 ? DType::i32 : DType::u16; }

StructurePtr over(const Format& format, int64 rows, int64 cols, std::vector<Part> arrays) {
  int64 places = 0, stored = 0;
  if (arrays.size() >= 2 && is_index_type(arrays.front().second.dtype)) {  // `check` refuses others
    const Array &head = arrays[0].second, &rest = arrays[1].second;
    places = head.size() + rest.size();
    stored = count_places(head) + rest.size();
  }
  return std::make_shared<const Indices>(format.name, rows, cols, std::move(arrays), Shape{places, -1}, stored);
}

// With columns of 32 bits, and the same values.
Matrix lengthened(const Matrix& m) {
  const auto& parts = static_cast<const Indices&>(*m.structure);
  if (parts.at("ell_indices").dtype == DType::i32) return m;
  return ellcsr_over(m.rows, m.cols, lengthened(parts.at("ell_indices"), parts.find("ell_bases")),
                     lengthened(parts.at("csr_indices"), parts.find("csr_bases")), parts.at("csr_indptr"),
                     parts.stored(), m.values);
}

// With short columns, and the same values.
Matrix shortened(const Matrix& m, DType type) {
  const auto& parts = static_cast<const Indices&>(*m.structure);
  ColumnArrays head = shortened(parts.at("ell_indices"), type, m.cols, "ellcsr_array"),
               rest = shortened(parts.at("csr_indices"), type_of_rest(type), m.cols, "ellcsr_array: what follows");
  std::vector<Part> arrays{{"ell_indices", std::move(head.indices)},
                           {"csr_indices", std::move(rest.indices)},
                           {"csr_indptr", parts.at("csr_indptr")}};
  if (head.bases) arrays.emplace_back("ell_bases", std::move(*head.bases));
  if (rest.bases) arrays.emplace_back("csr_bases", std::move(*rest.bases));
  return {std::make_shared<const Indices>(ellcsr.name, m.rows, m.cols, std::move(arrays), m.structure->values_shape,
                                          parts.stored()),
          m.values};
}

void check_types(const Matrix& m) {
  const Array &head = m.index("ell_indices"), &rest = m.index("csr_indices");
  const DType type = is_index_type(head.dtype) ? head.dtype : DType::i32;
  const Shape leads{m.rows, std::max<int64>(0, head.shape.cols)}, follows{rest.size()};
  std::vector<ExpectedPart> expected{{"ell_indices", type, leads},
                                     {"csr_indices", type_of_rest(type), follows},
                                     {"csr_indptr", DType::i64, {m.rows + 1}}};
  check_bases(m, "ell_bases", type, leads, expected);
  check_bases(m, "csr_bases", type_of_rest(type), follows, expected);
  check_parts(m, expected);
}

void check(const Matrix& given) {
  check_shape(ellcsr, given.rows, given.cols);
  check_types(given);
  const Matrix m = lengthened(given);
  const Array& rest = m.index("csr_indices");
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
  const DType type = index_type(option(options, "column_bits", 32));
  Leading leading{.entries = option(options, "boundary", kAnyExtent),
                  .column = option(options, "boundary_column", kAnyExtent)};
  int64 width = leading.entries;
  if (leading.entries == kAnyExtent) width = leading_entries(csr, {}, leading).longest;
  if (type == DType::i32) return ellcsr_from_rows(csr, width, leading);
  if (has_bases(type, csr.cols)) leading.reach = reach_of(type);
  return shortened(ellcsr_from_rows(csr, (width + kTogether - 1) / kTogether * kTogether, leading), type);
}

Matrix to_csr(const Matrix& a, Op op) { return convert(rows_from_ellcsr(lengthened(a)), op, common->name); }

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
