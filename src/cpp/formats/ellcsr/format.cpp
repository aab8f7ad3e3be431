// Defines the Format of ellcsr, validates its arrays, and converts from and to csr, with and without
// symmetric storage.
#include <algorithm>

#include "core/convert.hpp"
#include "core/elementwise.hpp"
#include "formats/ellcsr/layout.hpp"

namespace diagsparse {

namespace {

constexpr int64 kWidthMultiple = 4;  // positions that kernels read at once if columns are short or mirrored
constexpr std::pair<Symmetry, const char*> kMirrors[] = {{Symmetry::symmetric, "symmetric_columns"},
                                                         {Symmetry::hermitian, "hermitian_columns"}};

// The component array with the number of mirrored columns, or null if the storage is not symmetric.
const Array* mirror_array(const Indices& parts) {
  for (const auto& [symmetry, name] : kMirrors) {
    if (symmetry == parts.symmetry()) return &parts.at(name);
  }
  return nullptr;
}

const Indices& indices_of(const Matrix& m) { return static_cast<const Indices&>(*m.structure); }

DType type_of_rest(DType head) { return head == DType::i32 ? DType::i32 : DType::u16; }

StructurePtr over(const Format& format, int64 rows, int64 cols, std::vector<Part> arrays) {
  Symmetry symmetry = Symmetry::none;
  for (const auto& [which, name] : kMirrors) {
    if (find(arrays, name)) symmetry = which;
  }
  int64 positions = 0, stored = 0;
  if (arrays.size() >= 2 && is_index_type(arrays.front().second.dtype)) {  // `check` rejects others
    const Array &head = arrays[0].second, &rest = arrays[1].second;
    positions = head.size() + rest.size();
    stored = count_unpadded(head) * (symmetry == Symmetry::none ? 1 : 2) + rest.size();
  }
  return std::make_shared<const Indices>(format.name, rows, cols, std::move(arrays), Shape{positions, -1}, stored,
                                         symmetry);
}

// The leading entries are in columns below this one.
int64 columns_of_head(const Matrix& m) { return has_mirror(m) ? mirrored_columns(m) : m.cols; }

std::vector<Part> arrays_of(ColumnArrays head, ColumnArrays rest, Array indptr) {
  std::vector<Part> arrays{{"ell_indices", std::move(head.indices)},
                           {"csr_indices", std::move(rest.indices)},
                           {"csr_indptr", std::move(indptr)}};
  if (head.bases) arrays.emplace_back("ell_bases", std::move(*head.bases));
  if (rest.bases) arrays.emplace_back("csr_bases", std::move(*rest.bases));
  return arrays;
}

// A matrix with these columns, and the other arrays and the values of m.
Matrix with_columns(const Matrix& m, ColumnArrays head, ColumnArrays rest) {
  const Indices& parts = indices_of(m);
  std::vector<Part> arrays = arrays_of(std::move(head), std::move(rest), parts.at("csr_indptr"));
  for (const auto& [symmetry, name] : kMirrors) {
    if (const Array* columns = parts.find(name)) arrays.emplace_back(name, *columns);
  }
  return {std::make_shared<const Indices>(ellcsr.name, m.rows, m.cols, std::move(arrays), parts.values_shape,
                                          parts.stored(), parts.symmetry()),
          m.values};
}

ColumnArrays columns_of(const Indices& parts, const char* indices, const char* bases) {
  const Array* const given = parts.find(bases);
  return {parts.at(indices), given ? std::optional(*given) : std::nullopt};
}

// The same matrix with short columns, over the same values.
Matrix shortened(const Matrix& m, DType type) {
  const Indices& parts = indices_of(m);
  return with_columns(m, shortened(parts.at("ell_indices"), type, columns_of_head(m), "ellcsr_array"),
                      shortened(parts.at("csr_indices"), type_of_rest(type), m.cols,
                                "ellcsr_array: the rest, of 16 bits with column_bits=8 too"));
}

void reject_narrow_mirror(DType type) {
  if (type == DType::u8) reject(ellcsr.name, "columns of 8 bits do not support symmetric storage, expected 16 or 32");
}

void check_types(const Matrix& m) {
  const Array &head = m.index("ell_indices"), &rest = m.index("csr_indices");
  const DType type = is_index_type(head.dtype) ? head.dtype : DType::i32;
  const Shape head_shape{m.rows, std::max<int64>(0, head.shape.cols)}, rest_shape{rest.size()};
  std::vector<ExpectedPart> expected{{"ell_indices", type, head_shape},
                                     {"csr_indices", type_of_rest(type), rest_shape},
                                     {"csr_indptr", DType::i64, {m.rows + 1}}};
  for (const auto& [symmetry, name] : kMirrors) {
    if (symmetry == m.structure->symmetry()) expected.push_back({name, DType::i32, {1}});
  }
  check_bases(m, "ell_bases", type, head_shape, columns_of_head(m), expected);
  check_bases(m, "csr_bases", type_of_rest(type), rest_shape, m.cols, expected);
  check_parts(m, expected);
}

void check_mirror(const Matrix& m) {
  const Indices& parts = indices_of(m);
  const Array* const part = mirror_array(parts);
  if (part == nullptr) return;
  reject_narrow_mirror(parts.at("ell_indices").dtype);
  if (parts.find(kMirrors[0].second) && parts.find(kMirrors[1].second)) {
    reject(m.format, "symmetric_columns and hermitian_columns exclude each other");
  }
  if (part->dtype != DType::i32 || part->size() != 1) {
    reject(m.format, "symmetric_columns or hermitian_columns: expected int32 of shape (1,)");
  }
  if (const int64 columns = mirrored_columns(m); m.rows != m.cols || columns < 0 || columns > m.cols) {
    reject(m.format, std::to_string(columns) + " columns have mirror images in a " + extents(m.rows, m.cols) +
                         " matrix, expected a square one and 0 to its extent");
  }
}

void check(const Matrix& given) {
  check_mirror(given);
  check_types(given);
  check_values(given, given.structure->values_shape);  // because they are reordered with their columns
  const int64 mirrored = mirrored_columns(given);
  Matrix m = lengthened(given);
  if (has_mirror(given)) {  // the leading columns of a row may be in any order
    const Fault fault = fault_in_padding(EllCsr<float>::over(*m.structure, nullptr));
    if (fault.kind != Fault::none) {
      reject(m.format, element_name("ell_indices", fault.at, m.index("ell_indices").shape.cols) +
                           " follows padding, which has to be at the end of its row");
    }
    m = in_column_order(m);
  }
  check_lines(m, "csr_indptr", "csr_indices", m.rows, m.cols, "row");
  const EllCsr<float> a = EllCsr<float>::over(*m.structure, nullptr);
  const Fault fault = fault_in_ellcsr(a, mirrored);
  if (fault.kind == Fault::none) return;
  const int64 leading = a.rows * a.width;
  const bool in_head = fault.at < leading;
  const std::string following = element_name("csr_indices", fault.at - leading);
  if (mirrored < 0) {
    check_stored_columns(m, fault, in_head ? element_name("ell_indices", fault.at, a.width) : following,
                         ", or -1 for padding");
  }
  if (!in_head) {
    reject(m.format, following + " lies outside, expected the diagonal, or rows and columns from " +
                         std::to_string(mirrored) + " on");
  }
  reject(m.format, element_name("ell_indices", fault.at / a.width) +
                       (fault.kind == Fault::order ? " holds a column twice"
                                                   : " holds a column outside of 0 to " + std::to_string(mirrored - 1) +
                                                         " and below the diagonal (-1: padding)"));
}

Matrix from_symmetric(const Matrix& csr, Symmetry symmetry, int64 columns, DType type) {
  reject_narrow_mirror(type);
  check_symmetry(ellcsr.name, csr, symmetry);
  if (!entries_have_mirrors(csr, columns)) reject_zeros_without_mirror_images(ellcsr.name);
  const Leading leading{.column = columns, .lower = true};
  const LeadingEntries count = leading_entries(csr, {}, leading);
  const int64 width = (count.longest + kWidthMultiple - 1) / kWidthMultiple * kWidthMultiple;
  const Matrix result = in_bank_order(ellcsr_from_rows(csr, width, leading));
  std::vector<Part> arrays = indices_of(result).parts();
  arrays.emplace_back(kMirrors[symmetry == Symmetry::hermitian].second,
                      array_of(std::vector{static_cast<std::int32_t>(columns)}));
  const Matrix mirrored{std::make_shared<const Indices>(ellcsr.name, csr.rows, csr.cols, std::move(arrays),
                                                        result.structure->values_shape, csr.values.size(), symmetry),
                        result.values};
  return type == DType::i32 ? mirrored : shortened(mirrored, type);
}

Matrix from_csr(const Matrix& csr, const Format&, const Options& options) {
  const DType type = index_type(option(options, "column_bits", 32));
  const Packing packing = packing_from(static_cast<int>(option(options, "symmetry", 0)), 0);
  if (packing) return from_symmetric(csr, packing.symmetry, option(options, "boundary_column"), type);
  Leading leading{.entries = option(options, "boundary", kAnyExtent),
                  .column = option(options, "boundary_column", kAnyExtent)};
  int64 width = leading.entries;
  if (leading.entries == kAnyExtent) width = leading_entries(csr, {}, leading).longest;
  if (type == DType::i32) return ellcsr_from_rows(csr, width, leading);
  if (has_bases(type, csr.cols)) leading.reach = reach_of(type);
  return shortened(ellcsr_from_rows(csr, (width + kWidthMultiple - 1) / kWidthMultiple * kWidthMultiple, leading),
                   type);
}

Matrix to_csr(const Matrix& a, Op op) {
  const Matrix wide = lengthened(a), m = has_mirror(wide) ? in_column_order(wide) : wide;
  if (!has_mirror(m)) return convert(rows_from_ellcsr(m), op, common->name);
  const auto sum = [&](const Matrix& x, const Matrix& y, Op of_y) {
    return combine(*common, {{&x, {}, 1.0}, {&y, of_y, 1.0}}, Combine::sum, true, m.dtype);
  };
  const Matrix triangle = rows_from_ellcsr(leading_of(m)), rest = rows_from_ellcsr(rest_of(m));
  const Op image{.transposed = true, .conjugated = m.structure->symmetry() == Symmetry::hermitian};
  return convert(sum(sum(triangle, triangle, image), rest, {}), op, common->name);
}

}  // namespace

int64 mirrored_columns(const Matrix& m) {
  const Array* const part = mirror_array(indices_of(m));
  if (part == nullptr) return -1;
  return *m.cache().get<int64>("mirrored columns",
                               [part] { return std::make_shared<int64>(element<std::int32_t>(*part, 0)); });
}

Matrix leading_of(const Matrix& m) {
  const Indices& parts = indices_of(m);
  const Array& head = parts.at("ell_indices");
  std::vector<Part> arrays =
      arrays_of(columns_of(parts, "ell_indices", "ell_bases"), {parts.at("csr_indices").slice(0, {0}), {}},
                Array::zeros(DType::i64, {m.rows + 1}));
  const Shape values{head.size()};
  const int64 stored = (parts.stored() - parts.at("csr_indices").size()) / 2;
  return {std::make_shared<const Indices>(ellcsr.name, m.rows, m.cols, std::move(arrays), values, stored),
          m.values.slice(0, values)};
}

Matrix rest_of(const Matrix& m) {
  const Indices& parts = indices_of(m);
  const Array &head = parts.at("ell_indices"), &rest = parts.at("csr_indices");
  const Shape values{rest.size()};
  const auto structure = m.cache().get<const Indices>("the rest", [&] {
    std::vector<Part> arrays = arrays_of({head.slice(0, {m.rows, 0}), {}},
                                         columns_of(parts, "csr_indices", "csr_bases"), parts.at("csr_indptr"));
    return std::make_shared<Indices>(ellcsr.name, m.rows, m.cols, std::move(arrays), values, rest.size());
  });
  return {structure, m.values.slice(head.size(), values)};
}

Matrix lengthened(const Matrix& m) {
  const Indices& parts = indices_of(m);
  if (parts.at("ell_indices").dtype == DType::i32) return m;
  return with_columns(m, {lengthened(parts.at("ell_indices"), parts.find("ell_bases")), {}},
                      {lengthened(parts.at("csr_indices"), parts.find("csr_bases")), {}});
}

Matrix with_head(const Matrix& m, Array head, Array values) {
  Matrix result = with_columns(m, {std::move(head), {}}, {indices_of(m).at("csr_indices"), {}});
  result.values = std::move(values);
  return result;
}

Matrix ellcsr_over(int64 rows, int64 cols, Array head, Array rest, Array indptr, int64 stored, Array values) {
  std::vector<Part> arrays = arrays_of({std::move(head), {}}, {std::move(rest), {}}, std::move(indptr));
  const Shape positions{values.size(), -1};
  return {std::make_shared<const Indices>(ellcsr.name, rows, cols, std::move(arrays), positions, stored),
          std::move(values)};
}

const Format ellcsr{.name = "ellcsr",
                    .extent = kIndexExtent,
                    .structure = over,
                    .check = check,
                    .from_csr = from_csr,
                    .to_csr = to_csr};

}  // namespace diagsparse
