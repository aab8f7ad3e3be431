// csb: compressed sparse blocks. The matrix is divided into square blocks, and entries store their position in a block.
//
//       matrix A (4 x 5), block 2         block_indptr = [ 0       4   5 5   6       10  11 ]
//     | 1  5 | .  . | . |                 local_row    = [ 0 0 1 1 1 0 0 0 1 1 1 ]
//     | 9  2 | 6  . | . |                 local_col    = [ 0 1 0 1 0 1 0 1 0 1 0 ]
//     |------+------+---|                 values       = [ 1 5 9 2 6 10 3 7 11 4 8 ]
//     | . 10 | 3  7 | . |
//     | .  . |11  4 | 8 |                 block p holds values[block_indptr[p] : block_indptr[p + 1]]
//
// There are down x across blocks of `block` x `block` elements, smaller at the edges of the matrix, numbered row by
// row. Entry e of block p is A[p / across * block + local_row[e], p % across * block + local_col[e]]. The entries of a
// block are sorted by row.
// local_row, local_col: uint8 (nnz) if block <= 256, else uint16; block_indptr: int64 (down across + 1);
// values: T (nnz).
// Bytes: nnz (sizeof(T) + 2), or nnz (sizeof(T) + 4) with uint16, and 8 (down across + 1).
// The block is an option, a power of two from 2 to 65536. It is not stored: it is the smallest one that results in the
// number of blocks.
// Buluc, Fineman, Frigo, Gilbert and Leiserson (2009); Mahmoud, Hoffmann and Reza (2018), section 3.6.
#pragma once

#include <algorithm>

#include "core/format.hpp"
#include "core/validation.hpp"

namespace diagsparse {

extern const Format csb;

// The division of a matrix into blocks.
struct Blocks {
  int64 size, down, across;

  static Blocks of(int64 rows, int64 cols, int64 size) {
    return {size, (rows + size - 1) / size, (cols + size - 1) / size};
  }
  constexpr int64 count() const { return down * across; }
};
// The smallest blocks whose number is `count`, or std::nullopt.
std::optional<Blocks> blocks_with_count(int64 rows, int64 cols, int64 count);
// The blocks of a structure that has been validated.
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

// Calls f(I{}) with the type of local indices in blocks of this size.
constexpr int64 kByteBlock = 256;
template <class F>
decltype(auto) with_local_type(int64 block, F&& f) {
  return block <= kByteBlock ? f(std::uint8_t{}) : f(std::uint16_t{});
}

// A matrix with `count` entries in these blocks. The pointers are 0, and the other arrays are not initialized.
Matrix empty_csb(int64 rows, int64 cols, Blocks blocks, int64 count, DType dtype);

// ---- Implemented by each backend -----------------------------------------------------------------------------
Matrix csb_from_rows(const Matrix& csr, Blocks blocks);
Matrix rows_from_csb(const Matrix& a, Op op);  // op(a) as csr
// pointers: invalid block_indptr; outside: an entry is outside of its block; order: an entry does not follow the
// previous one.
Fault fault_in_csb(const Structure& structure);

}  // namespace diagsparse
