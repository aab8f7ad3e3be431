// mdia: masked diagonals, each with a mask of the elements that are stored.
//
//       matrix A (4 x 5)         offsets      = [ -1   0    1   ]
//     | 1  5  .  .  . |          mask         = [ 1110 1111 1111 ]    one block of rows; row 0 is the lowest bit
//     | 9  2  6  .  . |          block_indptr = [ 0 11 ]
//     | . 10  3  7  . |          values       = [ 9 10 11   1 2 3 4   5 6 7 8 ]
//     | .  . 11  4  8 |
//
// Rows lie in blocks of 32. Bit i of mask[b, d] is set where A[32 b + i, 32 b + i + offsets[d]] is stored. The values
// of block b are values[block_indptr[b] : block_indptr[b + 1]], diagonal by diagonal and row by row. Offsets ascend;
// some of the diagonals may hold nothing. offsets: int64 (D), mask: uint32 (ceil(m / 32), D), block_indptr: int64
// (ceil(m / 32) + 1), values: T (nnz). Bytes: nnz sizeof(T) + 4 D ceil(m / 32) + 8 (ceil(m / 32) + 1) + 8 D.
//
// Of a symmetric or Hermitian matrix one half may be stored. Then there is a part mirrored, uint8 (1): 1 where each
// element above the main diagonal stands for its mirror image too, 2 where it stands for the conjugate of that. No
// offset is negative. That takes a byte more.
//
// Ours; a bit in the place of csr's column, and no padding in the place of the zeros of dia.
#pragma once

#include <vector>

#include "core/format.hpp"
#include "core/validation.hpp"

namespace diagsparse {

extern const Format mdia;

using Mask = std::uint32_t;
constexpr int64 kMaskRows = 32;  // of a block
constexpr int kMaskShift = 5;
constexpr Mask kAllRows = ~Mask{0};
constexpr int64 masks_along(int64 rows) { return (rows + kMaskRows - 1) / kMaskRows; }
// The lowest `count` bits.
constexpr Mask first_rows(int64 count) {
  return count >= kMaskRows ? kAllRows : count <= 0 ? 0 : (Mask{1} << count) - 1;
}
// Of a block from `row` on, the rows that a diagonal runs through.
constexpr Mask rows_within(int64 rows, int64 cols, int64 offset, int64 row) {
  const int64 left = rows < cols - offset ? rows : cols - offset;  // it ends before this row
  return first_rows(left - row) & ~first_rows(-offset - row);
}

template <class T>
struct Mdia {
  int64 rows, cols, diagonals;
  const std::int64_t* offsets;
  const Mask* mask;
  const std::int64_t* begin;  // block_indptr
  const T* values;

  constexpr int64 blocks() const { return masks_along(rows); }
  constexpr int64 count() const { return begin[blocks()]; }
  // How many values come before the last 40: from there on 32 of them and eight more may be read.
  constexpr int64 ample() const { return count() - (kMaskRows + 8); }
  // 0 beyond the matrix.
  constexpr Mask mask_at(int64 block, int64 d) const {
    return block < 0 || block >= blocks() ? 0 : mask[block * diagonals + d];
  }

  static Mdia of(const Matrix& m) { return over(*m.structure, m.values.as<T>()); }
  static Mdia over(const Structure& structure, const T* values) {
    const auto& arrays = static_cast<const Indices&>(structure);
    return {structure.rows,
            structure.cols,
            arrays.at("offsets").size(),
            arrays.at("offsets").as<std::int64_t>(),
            arrays.at("mask").as<Mask>(),
            arrays.at("block_indptr").as<std::int64_t>(),
            values};
  }
};

// A matrix over these arrays. Values that stand for their mirror images too count twice among the stored ones.
StructurePtr mdia_structure(int64 rows, int64 cols, Array offsets, Array mask, Array begin, Symmetry symmetry,
                            int64 count, int64 stored);
// Its offsets, in the memory of the host.
const std::vector<int64>& offsets_of(const Structure& structure);

// ---- The diagonals of op(A) ------------------------------------------------------------------------------
// Element (r, r + offset) of op(A) is element (r, r + offset) of A or, of one that is turned, (r + offset, r); which is
// stored on diagonal `number`.
struct MaskedDiagonal {
  std::int64_t offset;
  std::int32_t number;
  bool turned, conjugated;
};
std::vector<MaskedDiagonal> masked_diagonals(const Structure& structure, Op op);  // by ascending offset
// Whether none of them is turned, so that op(A) lies as A does.
inline bool in_order(const Structure& structure, Op op) {
  return !op.transposed && structure.symmetry() == Symmetry::none;
}

// ---- Each device's own -----------------------------------------------------------------------------------
// Where the values of a block's diagonals begin, counted from where those of the block do: uint32, as the masks. Kept
// with the structure.
struct MaskedPlaces {
  Array from_block;

  template <class F>
  void visit(const F& f) const {
    f(from_block);
  }
};
std::shared_ptr<const MaskedPlaces> masked_places(const Structure& structure);
// The entries of a csr matrix that lie on these diagonals, of which entries on others have to be mirror images.
Matrix masked_from_rows(const Matrix& csr, const std::vector<int64>& offsets, Symmetry symmetry);
Matrix rows_from_masked(const Matrix& a, Op op);  // op(A) as csr
// Where the values of each block begin, and how many there are in all; and how many of them lie on this diagonal.
struct MaskedCounts {
  Array begin;
  int64 all, on_diagonal;
};
MaskedCounts count_masked(const Array& mask, int64 diagonal);
// outside: a mask that reaches beyond the matrix; pointers: an element of block_indptr that is not how many bits are
// set before it.
Fault fault_in_masks(const Structure& structure);
bool masked_diagonal_is_real(const Matrix& m);  // the main one, of Hermitian storage

}  // namespace diagsparse
