// Columns of entries: in 32 bits, or short, in 16 or 8 bits that count from a base.
//
//     columns        300 304 307 ... 511 | 520 ...        a chunk is 32 neighbouring places of a line
//     indices (u8)     0   4   7 ... 211 |   0 ...        bases [ 300 520 ]
//
// The places of a format are lines of one length, and a chunk ends with its line. The base of a chunk is its lowest
// column; where the type holds every column of the matrix, there are no bases, and indices are columns. Padding is -1
// in 32 bits, else the largest number of the type: so 255 and 65535 are no index of an entry.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

#include "core/array.hpp"

namespace diagsparse {

constexpr int64 kChunk = 32;
constexpr int64 chunks_in(int64 places) { return (places + kChunk - 1) / kChunk; }

template <class I>
struct Columns {
  const I* indices;
  const std::int32_t* bases;  // may be null

  static constexpr bool padding(I index) { return std::is_signed_v<I> ? index < 0 : index == static_cast<I>(-1); }

  // Of a place and its chunk; negative where it is padding.
  constexpr std::int32_t at(int64 place, int64 chunk) const { return of(indices[place], chunk); }
  constexpr std::int32_t of(I index, int64 chunk) const {
    if constexpr (std::is_signed_v<I>) return index;
    else return padding(index) ? -1 : index + (bases ? bases[chunk] : 0);
  }
};

// The column of an index that counts from `base`, where neither has been checked: none that a matrix has where they
// make no number of 32 bits.
template <class I>
constexpr std::int32_t column_from(I index, int64 base) {
  if (Columns<I>::padding(index)) return -1;
  const int64 column = base + index, most = std::numeric_limits<std::int32_t>::max();
  return base < 0 || column > most ? static_cast<std::int32_t>(most) : static_cast<std::int32_t>(column);
}

// How far a column may lie from the base of its chunk: the largest index of this type.
constexpr int64 reach_of(DType type) {
  return type == DType::u8 ? 254 : type == DType::u16 ? 65534 : std::numeric_limits<std::int32_t>::max();
}
inline bool is_index_type(DType type) { return type == DType::u8 || type == DType::u16 || type == DType::i32; }
inline bool has_bases(DType type, int64 cols) { return cols > reach_of(type) + 1; }
DType index_type(int64 bits);  // 32, 16 or 8; std::invalid_argument

// Calls f(I{}) with the type of indices.
template <class F>
decltype(auto) with_index_type(DType type, F&& f) {
  switch (type) {
    case DType::u8: return f(std::uint8_t{});
    case DType::u16: return f(std::uint16_t{});
    case DType::i32: return f(std::int32_t{});
    default: throw std::invalid_argument(std::string("indices of type ") + dtype_name(type));
  }
}

// Index arrays that belong together. Flat ones are one line; else each row is a line.
struct ColumnArrays {
  Array indices;
  std::optional<Array> bases;

  // A flat array of bases for these indices.
  static Shape bases_for(Shape indices) {
    const bool flat = indices.cols < 0;
    return {flat ? chunks_in(indices.rows) : indices.rows * chunks_in(indices.cols), -1};
  }
};

// Columns of 32 bits as short ones of a matrix with so many columns. std::invalid_argument, in the name of `who`, where
// the columns of a chunk lie too far apart.
ColumnArrays shortened(const Array& columns, DType type, int64 cols, const std::string& who);
// In 32 bits; indices of any type. What overflows is an invalid column.
Array lengthened(const Array& indices, const Array* bases);

// ---- Each device's own -----------------------------------------------------------------------------
// Writes indices and, where there are any, bases; returns the first chunk whose columns lie too far apart, else -1.
int64 write_short(const Array& columns, const ColumnArrays& to);
void write_long(const Array& indices, const Array* bases, const Array& to);
int64 count_places(const Array& indices);  // those that are no padding; any type of index

}  // namespace diagsparse
