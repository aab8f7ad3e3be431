// bmsparse: blocks of 8 x 8 elements, each with a bitmap of those that are stored.
//
//       matrix A (4 x 5)         block_indptr = [ 0 1 ]   block_col = [ 0 ]   value_indptr = [ 0 11 ]
//     | 1  5  .  .  . |
//     | 9  2  6  .  . |          bitmap = [ 11000000 11100000 01110000 00111000 00000000 ... ]
//     | . 10  3  7  . |
//     | .  . 11  4  8 |          values = [ 1 5   9 2 6   10 3 7   11 4 8 ]
//
// Row i of blocks holds the blocks block_indptr[i] <= p < block_indptr[i + 1], by ascending column of blocks,
// block_col[p]. Bit 63 - (8 r + c) of bitmap[p] is set where A[8 i + r, 8 block_col[p] + c] is stored; its values
// are values[value_indptr[p] : value_indptr[p + 1]], row by row. No block is empty.
// block_indptr: int64 (ceil(m / 8) + 1), block_col: int32 (blocks), bitmap: uint64 (blocks), value_indptr: int64
// (blocks + 1), values: T (nnz).
// Bytes: nnz sizeof(T) + 20 blocks + 8 (ceil(m / 8) + 2).
//
// Berger Alvarez (2024), who keeps a key of 64 bits, row and column of blocks, in the place of block_indptr and
// block_col: that takes fewer bytes below two blocks a row of blocks, and more above.
#pragma once

#include <bit>

#include "core/format.hpp"
#include "core/validation.hpp"

namespace diagsparse {

extern const Format bmsparse;

constexpr int64 kTile = 8;  // rows and columns of a block
constexpr int64 tiles_along(int64 n) { return (n + kTile - 1) / kTile; }

// A block's elements, row by row from the highest bit.
using Bitmap = std::uint64_t;
constexpr Bitmap kFirstColumn = 0x8080808080808080u, kEachRow = 0x0101010101010101u;
constexpr Bitmap bit_of(int place) { return Bitmap{1} << (63 - place); }  // place = 8 r + c
constexpr unsigned row_bits(Bitmap bitmap, int row) { return bitmap >> (56 - 8 * row) & 0xffu; }
// Those that a block at an edge may have.
constexpr Bitmap bits_within(int64 rows, int64 cols) {
  const Bitmap columns = cols >= kTile ? ~Bitmap{0} : (0xff00u >> cols & 0xffu) * kEachRow;
  return rows >= kTile ? columns : columns & ~(~Bitmap{0} >> 8 * rows);
}

constexpr Bitmap turned(Bitmap x) {  // rows and columns exchanged
  Bitmap t = (x ^ (x >> 7)) & 0x00aa00aa00aa00aau;
  x ^= t ^ (t << 7);
  t = (x ^ (x >> 14)) & 0x0000cccc0000ccccu;
  x ^= t ^ (t << 14);
  t = (x ^ (x >> 28)) & 0x00000000f0f0f0f0u;
  return x ^ t ^ (t << 28);
}
constexpr Bitmap turned_if(bool yes, Bitmap x) { return yes ? turned(x) : x; }

constexpr Bitmap kAllPlaces = ~Bitmap{0};

// Whether a product of two blocks has anything: some column of one and the same row of the other do.
constexpr bool meet(Bitmap a, Bitmap b) {
  bool some = false;
  for (int k = 0; k < kTile; ++k) some |= (a & kFirstColumn >> k) != 0 && row_bits(b, k) != 0;
  return some;
}
// Where it has sums.
constexpr Bitmap product_of(Bitmap a, Bitmap b) {
  if ((a & b) == kAllPlaces) return kAllPlaces;
  Bitmap c = 0;
  for (int k = 0; k < kTile; ++k) c |= (a >> (7 - k) & kEachRow) * 0xffu & row_bits(b, k) * kEachRow;
  return c;
}

template <class T>
struct Bmsparse {
  int64 rows, cols;
  const int64* indptr;
  const std::int32_t* col;
  const Bitmap* bitmap;
  const int64* begin;  // value_indptr
  const T* values;

  constexpr int64 count() const { return begin[indptr[tiles_along(rows)]]; }

  static Bmsparse of(const Matrix& m) { return over(*m.structure, m.values.as<T>()); }
  static Bmsparse over(const Structure& structure, const T* values) {
    const auto& arrays = static_cast<const Indices&>(structure);
    return {structure.rows,
            structure.cols,
            arrays.at("block_indptr").as<int64>(),
            arrays.at("block_col").as<std::int32_t>(),
            arrays.at("bitmap").as<Bitmap>(),
            arrays.at("value_indptr").as<int64>(),
            values};
  }
};

// A matrix over these arrays.
StructurePtr bmsparse_structure(int64 rows, int64 cols, Array indptr, Array col, Array bitmap, Array begin,
                                int64 count);

// ---- Each device's own -----------------------------------------------------------------------------
Matrix blocks_from_rows(const Matrix& csr);
Matrix rows_from_blocks(const Matrix& a);  // as csr
// outside: a block whose bitmap is empty or reaches beyond the matrix; pointers: an element of value_indptr that is not
// how many bits are set before it.
Fault fault_in_bitmaps(const Structure& structure);

}  // namespace diagsparse
