#include "core/columns.hpp"

#include <stdexcept>

namespace diagsparse {

DType index_type(int64 bits) {
  if (bits == 8) return DType::u8;
  if (bits == 16) return DType::u16;
  if (bits == 32) return DType::i32;
  throw std::invalid_argument("columns of " + std::to_string(bits) + " bits: expected 8, 16 or 32");
}

ColumnArrays shortened(const Array& columns, DType type, int64 cols, const std::string& who) {
  if (type == DType::i32) return {columns, std::nullopt};
  ColumnArrays made{Array::empty(type, columns.shape), std::nullopt};
  if (has_bases(type, cols)) made.bases = Array::empty(DType::i32, ColumnArrays::bases_for(columns.shape));
  const int64 chunk = write_short(columns, made);
  if (chunk < 0) return made;
  throw std::invalid_argument(who + ": columns of " + std::to_string(8 * item_size(type)) + " bits: those of chunk " +
                              std::to_string(chunk) + ", " + std::to_string(kChunk) +
                              " neighbouring places, lie more than " + std::to_string(reach_of(type)) +
                              " apart; more bits hold them");
}

Array lengthened(const Array& indices, const Array* bases) {
  if (indices.dtype == DType::i32) return indices;
  Array made = Array::empty(DType::i32, indices.shape);
  write_long(indices, bases, made);
  return made;
}

}  // namespace diagsparse
