// Compressed column indices: a base for each chunk and offsets of 8 or 16 bits.
#include "core/columns.hpp"

#include <stdexcept>

namespace diagsparse {

namespace {

const Indices& parts_of(const Matrix& m) { return static_cast<const Indices&>(*m.structure); }

Array in_lines(const Array& indices, Lines lines) {
  return lines == Lines::rows ? indices : indices.slice(0, {indices.size(), -1});
}

// The matrix with its column indices replaced by these.
Matrix with_columns(const Matrix& m, ColumnArrays columns) {
  const Shape shape = m.structure->values_shape;
  std::vector<Part> arrays{{"indices", columns.indices.slice(0, shape)}};
  for (const Part& part : parts_of(m).parts()) {
    if (part.first != "indices" && part.first != "bases") arrays.push_back(part);
  }
  if (columns.bases) arrays.emplace_back("bases", std::move(*columns.bases));
  return {std::make_shared<const Indices>(m.structure->format, m.rows, m.cols, std::move(arrays), shape,
                                          m.structure->stored()),
          m.values};
}

}  // namespace

DType index_type(int64 bits) {
  if (bits == 8) return DType::u8;
  if (bits == 16) return DType::u16;
  if (bits == 32) return DType::i32;
  throw std::invalid_argument("columns of " + std::to_string(bits) + " bits: expected 8, 16 or 32");
}

ColumnArrays shortened(const Array& columns, DType type, int64 cols, const std::string& who) {
  if (type == DType::i32) return {columns, std::nullopt};
  ColumnArrays result{Array::empty(type, columns.shape), std::nullopt};
  if (has_bases(type, cols)) result.bases = Array::empty(DType::i32, ColumnArrays::bases_for(columns.shape));
  const int64 chunk = write_short(columns, result);
  if (chunk < 0) return result;
  throw std::invalid_argument(who + ": columns of " + std::to_string(8 * item_size(type)) + " bits: in chunk " +
                              std::to_string(chunk) + ", " + std::to_string(kChunk) +
                              " consecutive positions, columns are more than " + std::to_string(reach_of(type)) +
                              " apart; pass column_bits=" + (type == DType::u8 ? "16 or 32" : "32"));
}

Array lengthened(const Array& indices, const Array* bases) {
  if (indices.dtype == DType::i32) return indices;
  Array result = Array::empty(DType::i32, indices.shape);
  write_long(indices, bases, result);
  return result;
}

Matrix shortened(const Matrix& m, DType type, Lines lines) {
  if (type == DType::i32) return m;
  return with_columns(m, shortened(in_lines(m.index("indices"), lines), type, m.cols, m.format + "_array"));
}

Matrix lengthened(const Matrix& m, Lines lines) {
  const Array& indices = m.index("indices");
  if (indices.dtype == DType::i32) return m;
  return with_columns(m, {lengthened(in_lines(indices, lines), parts_of(m).find("bases")), std::nullopt});
}

}  // namespace diagsparse
