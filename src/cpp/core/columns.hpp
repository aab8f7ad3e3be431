// Column indices of entries, stored in 32 bits or compressed to 16 or 8 bits relative to a base.
//
//     columns        300 304 307 ... 511 | 520 ...        a chunk is 32 consecutive positions of a line
//     indices (u8)     0   4   7 ... 211 |   0 ...        bases [ 300 520 ]
//
// The positions of a format form lines of equal length, and a chunk never extends past the end of its line. The base of
// a chunk is its lowest column. If the type can hold every column of the matrix, there are no bases and the indices are
// the columns themselves. Padding is -1 in 32 bits, otherwise the largest number of the type, so 255 and 65535 are
// never the index of an entry.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

#include "core/matrix.hpp"

namespace diagsparse {

constexpr int64 kChunk = 32;
constexpr int64 chunks_in(int64 positions) { return (positions + kChunk - 1) / kChunk; }

template <class I>
struct Columns {
  const I* indices;
  const std::int32_t* bases;  // may be null

  static Columns of(const Array& indices, const Array* bases) {
    return {indices.as<const I>(), bases ? bases->as<const std::int32_t>() : nullptr};
  }
  static constexpr bool padding(I index) { return std::is_signed_v<I> ? index < 0 : index == static_cast<I>(-1); }

  // The column at a position of a chunk; negative for padding.
  constexpr std::int32_t at(int64 position, int64 chunk) const { return of(indices[position], chunk); }
  constexpr std::int32_t of(I index, int64 chunk) const {
    if constexpr (std::is_signed_v<I>) return index;
    else return padding(index) ? -1 : index + (bases ? bases[chunk] : 0);
  }
};

// Columns whose type is known only at run time. They are read in runs, so that no kernel is needed for each type.
struct AnyIndex {};
template <>
struct Columns<AnyIndex> {
  DType type;
  const void* indices;
  const std::int32_t* bases;  // may be null

  static Columns of(const Array& indices, const Array* bases) {
    return {indices.dtype, indices.data, bases ? bases->as<const std::int32_t>() : nullptr};
  }

  // The columns if they have 32 bits, otherwise null.
  [[gnu::always_inline]] const std::int32_t* wide() const {
    return type == DType::i32 ? static_cast<const std::int32_t*>(indices) : nullptr;
  }
  // Returns the columns at `count` <= kChunk consecutive positions, negative for padding. The first position is
  // `position`, which is in chunk `chunk` with `within` positions of that chunk before it. The result points into the
  // stored columns or to `buffer`.
  [[gnu::always_inline]] const std::int32_t* read(int64 position, int64 chunk, int64 within, int64 count,
                                                  std::int32_t* buffer) const {
    if (wide()) return wide() + position;
    const auto rest = static_cast<std::int32_t>(kChunk - within);  // positions in this chunk
    const std::int32_t base = bases ? bases[chunk] : 0, next = bases && rest < count ? bases[chunk + 1] : base;
    if (type == DType::u8) widen(static_cast<const std::uint8_t*>(indices) + position, base, rest, next, count, buffer);
    else widen(static_cast<const std::uint16_t*>(indices) + position, base, rest, next, count, buffer);
    return buffer;
  }
  [[gnu::always_inline]] std::int32_t at(int64 position, int64 chunk) const {
    if (wide()) return wide()[position];
    const bool bytes = type == DType::u8;
    const std::int32_t index = bytes ? static_cast<const std::uint8_t*>(indices)[position]
                                     : static_cast<const std::uint16_t*>(indices)[position];
    if (index == (bytes ? 255 : 65535)) return -1;
    return bases ? index + bases[chunk] : index;
  }

 private:
  template <class I>
  [[gnu::always_inline]] static void widen(const I* from, std::int32_t base, std::int32_t rest, std::int32_t next,
                                           int64 count, std::int32_t* to) {
    for (std::int32_t k = 0; k < count; ++k) {
      const std::int32_t column = from[k] + (k < rest ? base : next);
      to[k] = Columns<I>::padding(from[k]) ? -1 : column;
    }
  }
};

// The column of an index relative to `base`, where neither has been checked. If their sum does not fit 32 bits, the
// result is a column that no matrix has.
template <class I>
constexpr std::int32_t column_from(I index, int64 base) {
  if (Columns<I>::padding(index)) return -1;
  const int64 column = base + index, most = std::numeric_limits<std::int32_t>::max();
  return base < 0 || column > most ? static_cast<std::int32_t>(most) : static_cast<std::int32_t>(column);
}

// The largest index of this type: how far a column may be from the base of its chunk.
constexpr int64 reach_of(DType type) {
  return type == DType::u8 ? 254 : type == DType::u16 ? 65534 : std::numeric_limits<std::int32_t>::max();
}
inline bool is_index_type(DType type) { return type == DType::u8 || type == DType::u16 || type == DType::i32; }
inline bool has_bases(DType type, int64 cols) { return cols > reach_of(type) + 1; }
DType index_type(int64 bits);  // 32, 16 or 8; std::invalid_argument

// Calls f(I{}) with the index type.
template <class F>
decltype(auto) with_index_type(DType type, F&& f) {
  switch (type) {
    case DType::u8: return f(std::uint8_t{});
    case DType::u16: return f(std::uint16_t{});
    case DType::i32: return f(std::int32_t{});
    default: throw std::invalid_argument(std::string("indices of type ") + dtype_name(type));
  }
}

// Index arrays that belong together. A one-dimensional array is a single line; otherwise each row is a line.
struct ColumnArrays {
  Array indices;
  std::optional<Array> bases;

  // The shape of the bases, a one-dimensional array, for these indices.
  static Shape bases_for(Shape indices) {
    const bool flat = indices.cols < 0;
    return {flat ? chunks_in(indices.rows) : indices.rows * chunks_in(indices.cols), -1};
  }
};

// Compresses the 32-bit columns of a matrix with `cols` columns. Throws std::invalid_argument, with a message that
// starts with `who`, if the columns of a chunk are too far apart.
ColumnArrays shortened(const Array& columns, DType type, int64 cols, const std::string& who);
// Expands indices of any type to 32 bits. An index that overflows becomes an invalid column.
Array lengthened(const Array& indices, const Array* bases);

// The same for a matrix whose columns are its component array `indices`, with `bases` as its last component array. The
// result shares the values.
enum class Lines { rows, one };  // each row of `indices` is a line, or the whole array is one line
Matrix shortened(const Matrix& m, DType type, Lines lines);
Matrix lengthened(const Matrix& m, Lines lines);

// ---- Implemented by each backend --------------------------------------------------------------------
// Writes the indices and the bases, if any; returns the first chunk whose columns are too far apart, or -1.
int64 write_short(const Array& columns, const ColumnArrays& to);
void write_long(const Array& indices, const Array* bases, const Array& to);
int64 count_unpadded(const Array& indices);  // positions that are not padding, for any index type

}  // namespace diagsparse
