// csb: compressed sparse blocks. The matrix is cut into square blocks, and an entry says where in its block it lies.
//
//       matrix A (4 x 5), block 2         block_indptr = [ 0       4   5 5   6       10  11 ]
//     | 1  5 | .  . | . |                 local_row    = [ 0 0 1 1 1 0 0 0 1 1 1 ]
//     | 9  2 | 6  . | . |                 local_col    = [ 0 1 0 1 0 1 0 1 0 1 0 ]
//     |------+------+---|                 values       = [ 1 5 9 2 6 10 3 7 11 4 8 ]
//     | . 10 | 3  7 | . |
//     | .  . |11  4 | 8 |                 block p holds values[block_indptr[p] : block_indptr[p + 1]]
//
// Blocks of `block` x `block` elements, those at the edges cut off: down x across of them, numbered row by row; an
// entry e of block p is A[p / across * block + local_row[e], p % across * block + local_col[e]]. The entries of a block
// lie row by row.
// local_row, local_col: uint8 (nnz) where block <= 256, else uint16; block_indptr: int64 (down across + 1); values: T
// (nnz).
// Bytes: nnz (sizeof(T) + 2), or nnz (sizeof(T) + 4) with uint16, and 8 (down across + 1). The block is an option, a
// power of two from 2 to 65536. It is not stored: it is the smallest one that cuts the matrix into so many blocks.
// Buluc, Fineman, Frigo, Gilbert and Leiserson (2009); Mahmoud, Hoffmann and Reza (2018), section 3.6.
#pragma once

#include <algorithm>

#include "core/format.hpp"
#include "core/validation.hpp"

namespace diagsparse {

extern const Format csb;

// How a matrix is cut.
struct Blocks {
  int64 size, down, across;

  static Blocks of(int64 rows, int64 cols, int64 size) {
    return {size, (rows + size - 1) / size, (cols + size - 1) / size};
  }
  constexpr int64 count() const { return down * across; }
};
// The smallest blocks that are `count`; none: std::nullopt.
std::optional<Blocks> blocks_counted(int64 rows, int64 cols, int64 count);
// Of a matrix that has passed validation.
Blocks blocks_of(const Structure& structure);

// I: the type of the local indices.
template <class T, class I>
struct Csb {
  int64 rows, cols;
  Blocks blocks;
  const int64* indptr;
  const I *row, *col;
  const T* values;

  static Csb of(const Matrix& m) { return over(*m.structure, m.values.as<T>()); }
  static Csb over(const Structure& structure, const T* values) {
    const auto& arrays = static_cast<const Indices&>(structure);
    return {structure.rows,
            structure.cols,
            blocks_of(structure),
            arrays.at("block_indptr").as<int64>(),
            arrays.at("local_row").as<I>(),
            arrays.at("local_col").as<I>(),
            values};
  }
};

// Calls f(I{}) with the type of the local indices in blocks of this size.
constexpr int64 kByteBlock = 256;
template <class F>
decltype(auto) with_local_type(int64 block, F&& f) {
  return block <= kByteBlock ? f(std::uint8_t{}) : f(std::uint16_t{});
}

// The arrays of a matrix of `count` entries in these blocks, not filled but for pointers of 0.
Matrix empty_csb(int64 rows, int64 cols, Blocks blocks, int64 count, DType dtype);

// ---- Each device's own -----------------------------------------------------------------------------
Matrix csb_from_rows(const Matrix& csr, Blocks blocks);
Matrix rows_from_csb(const Matrix& a, Op op);  // op(a) as csr
// pointers: those of the blocks; outside, order: an entry that lies outside of its block, or not behind the one before.
Fault fault_in_csb(const Structure& structure);

}  // namespace diagsparse
