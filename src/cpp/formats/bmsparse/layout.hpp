// bmsparse: blocks of 8 x 8 elements, each with a bitmap of the elements that are stored.
//
//       matrix A (4 x 5)         block_indptr = [ 0 1 ]   block_col = [ 0 ]   value_indptr = [ 0 11 ]
//     | 1  5  .  .  . |
//     | 9  2  6  .  . |          bitmap = [ 11000000 11100000 01110000 00111000 00000000 ... ]
//     | . 10  3  7  . |
//     | .  . 11  4  8 |          values = [ 1 5   9 2 6   10 3 7   11 4 8 ]
//
// Row i of blocks consists of blocks block_indptr[i] <= p < block_indptr[i + 1], sorted by their column of blocks,
// block_col[p]. Bit 63 - (8 r + c) of bitmap[p] is set if A[8 i + r, 8 block_col[p] + c] is stored. The values of the
// block are values[value_indptr[p] : value_indptr[p + 1]], row by row. No block is empty.
// block_indptr: int64 (ceil(m / 8) + 1), block_col: int32 (blocks), bitmap: uint64 (blocks), value_indptr: int64
// (blocks + 1), values: T (nnz).
// Bytes: nnz sizeof(T) + 20 blocks + 8 (ceil(m / 8) + 2).
//
// Berger Alvarez (2024), who stores a 64-bit key per block, its row and column, instead of block_indptr and block_col.
// This needs fewer bytes if there are fewer than two blocks per row of blocks, and more otherwise.
#pragma once

#include <bit>

#include "core/format.hpp"
#include "core/validation.hpp"

namespace diagsparse {

extern const Format bmsparse;

constexpr int64 kTile = 8;  // rows and columns of a block
constexpr int64 tiles_along(int64 n) { return (n + kTile - 1) / kTile; }

// The elements of a block, row by row from the highest bit.
using Bitmap = std::uint64_t;
constexpr Bitmap kFirstColumn = 0x8080808080808080u, kEachRow = 0x0101010101010101u;
constexpr Bitmap bit_of(int position) { return Bitmap{1} << (63 - position); }  // position = 8 r + c
constexpr unsigned row_bits(Bitmap bitmap, int row) { return bitmap >> (56 - 8 * row) & 0xffu; }
// The elements of a block with this many rows and columns, fewer than 8 at the edges of a matrix.
constexpr Bitmap bits_within(int64 rows, int64 cols) {
  const Bitmap columns = cols >= kTile ? ~Bitmap{0} : (0xff00u >> cols & 0xffu) * kEachRow;
  return rows >= kTile ? columns : columns & ~(~Bitmap{0} >> 8 * rows);
}

constexpr Bitmap transpose(Bitmap x) {  // exchanges rows and columns
  Bitmap t = (x ^ (x >> 7)) & 0x00aa00aa00aa00aau;
  x ^= t ^ (t << 7);
  t = (x ^ (x >> 14)) & 0x0000cccc0000ccccu;
  x ^= t ^ (t << 14);
  t = (x ^ (x >> 28)) & 0x00000000f0f0f0f0u;
  return x ^ t ^ (t << 28);
}
constexpr Bitmap transpose_if(bool condition, Bitmap x) { return condition ? transpose(x) : x; }

constexpr Bitmap kFullBitmap = ~Bitmap{0};

// Whether the product of two blocks has elements: some column k of a and row k of b are nonempty.
constexpr bool has_product(Bitmap a, Bitmap b) {
  bool nonempty = false;
  for (int k = 0; k < kTile; ++k) nonempty |= (a & kFirstColumn >> k) != 0 && row_bits(b, k) != 0;
  return nonempty;
}
// The bitmap of the product of two blocks.
constexpr Bitmap product_of(Bitmap a, Bitmap b) {
  if ((a & b) == kFullBitmap) return kFullBitmap;
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

// The structure of a matrix with these arrays.
StructurePtr bmsparse_structure(int64 rows, int64 cols, Array indptr, Array col, Array bitmap, Array begin,
                                int64 count);

// ---- Implemented by each backend -----------------------------------------------------------------------------
Matrix blocks_from_rows(const Matrix& csr);
Matrix rows_from_blocks(const Matrix& a);  // as csr
// outside: the bitmap of a block is empty, or has elements outside of the matrix; pointers: an element of value_indptr
// is not the number of bits that are set before it.
Fault fault_in_bitmaps(const Structure& structure);

}  // namespace diagsparse
