// mdia: masked diagonals. Each diagonal has a mask of the elements that are stored.
//
//       matrix A (4 x 5)         offsets      = [ -1   0    1   ]
//     | 1  5  .  .  . |          mask         = [ 1110 1111 1111 ]    one block of rows; row 0 is the lowest bit
//     | 9  2  6  .  . |          block_indptr = [ 0 11 ]
//     | . 10  3  7  . |          values       = [ 9 10 11   1 2 3 4   5 6 7 8 ]
//     | .  . 11  4  8 |
//
// Rows are divided into blocks of 32. Bit i of mask[b, d] is set if A[32 b + i, 32 b + i + offsets[d]] is stored. The
// values of block b are values[block_indptr[b] : block_indptr[b + 1]], diagonal by diagonal, each of them row by row.
// Offsets are ascending. Diagonals may be empty.
// offsets: int64 (D), mask: uint32 (ceil(m / 32), D), block_indptr: int64 (ceil(m / 32) + 1), values: T (nnz).
// Bytes: nnz sizeof(T) + 4 D ceil(m / 32) + 8 (ceil(m / 32) + 1) + 8 D.
//
// Symmetric and Hermitian matrices can store their upper triangle only. In this case no offset is negative, and there
// is an array mirrored, uint8 (1), which is 1 if each element above the main diagonal also represents its mirror image,
// and 2 if it represents the conjugate of its mirror image. This needs one byte more.
//
// With a palette, the values of some diagonals are codes: positions in a table of the different values of the diagonal.
//
//       matrix A (4 x 4)         offsets      = [ 0   2    3 ]       mask  = [ 1111 0011 0001 ]
//     | 1  .  7  9 |             table_indptr = [ 0 2 3 3 ]          codes = [ 0110 ]         row 0 is the lowest bit
//     | .  5  .  7 |             block_indptr = [ 3 4 ]
//     | .  .  5  . |             values       = [ 1 5   7   9 ]
//     | .  .  .  1 |
//
// The table of diagonal d is values[table_indptr[d] : table_indptr[d + 1]]. If it has 1, 2, up to 4, 16 or 256 values,
// a code has w = 0, 1, 2, 4 or 8 bits. The codes of a block are rows of 32-bit words, w for each diagonal: bits w i to
// w i + w - 1 of those of a diagonal are the code of row i. Codes of rows that are not stored are valid, too. If the
// table is empty, the values of the diagonal are stored one by one as above, after all tables.
// Additional arrays: table_indptr: int64 (D + 1), codes: uint32 (ceil(m / 32), W), where W is the sum of all w.
// Bytes: as above, with the number of values in place of nnz, + 4 W ceil(m / 32) + 8 (D + 1).
//
// This format is new. Compared to csr, it stores a bit instead of a column; compared to dia, it stores no zeros.
#pragma once

#include <tuple>
#include <vector>

#include "core/format.hpp"
#include "core/validation.hpp"

namespace diagsparse {

extern const Format mdia;

using Mask = std::uint32_t;
constexpr int64 kMaskRows = 32;  // of a block
constexpr int kMaskShift = 5;
constexpr int64 kPackedRows = kMaskRows + 8;  // eight values can be read from any of the first 32
constexpr Mask kAllRows = ~Mask{0};
constexpr int64 masks_along(int64 rows) { return (rows + kMaskRows - 1) / kMaskRows; }
// The lowest `count` bits.
constexpr Mask first_rows(int64 count) {
  return count >= kMaskRows ? kAllRows : count <= 0 ? 0 : (Mask{1} << count) - 1;
}
// The mask of the rows of a block from `row` on in which the diagonal is inside the matrix.
constexpr Mask rows_within(int64 rows, int64 cols, int64 offset, int64 row) {
  const int64 left = rows < cols - offset ? rows : cols - offset;  // the diagonal ends before this row
  return first_rows(left - row) & ~first_rows(-offset - row);
}

// How the values of a diagonal are stored.
struct alignas(16) Coding {
  std::int64_t table;  // position of its table among the values
  std::uint32_t word;  // of a block's codes, the first one of the diagonal
  std::int32_t bits;   // of a code; negative if the values are stored one by one

  constexpr bool is_stored() const { return bits < 0; }
};

// How each diagonal of a structure with a palette is stored: an array of Coding, cached with the structure. Implemented
// by each backend.
Array codings_of(const Structure& structure);
// Whether a structure of any format has a palette, so that several elements may share a value.
inline bool has_palette(const Structure& structure) {
  const auto* arrays = dynamic_cast<const Indices*>(&structure);
  return arrays != nullptr && arrays->find("table_indptr") != nullptr;
}

template <class T>
struct Mdia {
  int64 rows, cols, diagonals;
  const std::int64_t* offsets;
  const Mask* mask;
  const std::int64_t* begin;  // block_indptr
  const T* values;
  // Of a palette: how each diagonal is stored (null without a palette), and the codes, `words` for each block.
  const Coding* codings = nullptr;
  const std::uint32_t* codes = nullptr;
  int64 words = 0;

  constexpr int64 blocks() const { return masks_along(rows); }
  constexpr int64 count() const { return begin[blocks()]; }
  // 0 outside of the matrix.
  constexpr Mask mask_at(int64 block, int64 d) const {
    return block < 0 || block >= blocks() ? 0 : mask[block * diagonals + d];
  }
  constexpr bool is_coded(int64 d) const { return codings != nullptr && !codings[d].is_stored(); }
  // Whether eight values can be read from each value of a block on a diagonal, from `first` on. Values that were looked
  // up are in a buffer of kPackedRows.
  constexpr bool can_overread(int64 d, const T* first) const {
    return is_coded(d) || first - values <= count() - kPackedRows;
  }
  // The position of the value of a row on a diagonal with a table.
  constexpr int64 in_table(const Coding& coding, int64 block, int row) const {
    if (coding.bits == 0) return coding.table;
    const int bit = row * coding.bits;
    const std::uint32_t word = codes[block * words + coding.word + bit / 32];
    return coding.table + (word >> (bit % 32) & ((1u << coding.bits) - 1));
  }

  static Mdia of(const Matrix& m) { return over(*m.structure, m.values.as<T>()); }
  static Mdia over(const Structure& structure, const T* values) {
    const auto& arrays = static_cast<const Indices&>(structure);
    Mdia a{structure.rows,
           structure.cols,
           arrays.at("offsets").size(),
           arrays.at("offsets").as<std::int64_t>(),
           arrays.at("mask").as<Mask>(),
           arrays.at("block_indptr").as<std::int64_t>(),
           values};
    if (has_palette(structure)) {
      a.codings = codings_of(structure).as<const Coding>();
      a.codes = arrays.at("codes").as<const std::uint32_t>();
      a.words = arrays.at("codes").shape.cols;
    }
    return a;
  }
};

// The structure of a matrix with these arrays. `stored` counts values that also represent their mirror image twice.
StructurePtr mdia_structure(int64 rows, int64 cols, Array offsets, Array mask, Array begin, Symmetry symmetry,
                            int64 count, int64 stored);
// The same, which counts the values in the masks.
StructurePtr mdia_structure(int64 rows, int64 cols, const std::vector<int64>& offsets, Array mask, Symmetry symmetry);
// The offsets, in host memory.
const std::vector<int64>& offsets_of(const Structure& structure);

// ---- The diagonals of op(A) ------------------------------------------------------------------------------
// A diagonal of op(A), whose values are those of diagonal `number` of A. Element (r, r + offset) of op(A) is element
// (r, r + offset) of A, or (r + offset, r) if the diagonal is transposed.
struct MaskedDiagonal {
  std::int64_t offset;
  std::int32_t number;
  bool is_transposed, conjugated;
};
std::vector<MaskedDiagonal> masked_diagonals(const Structure& structure, Op op);  // by ascending offset
// Whether no diagonal is transposed, so that op(A) is stored in the order of A.
inline bool in_order(const Structure& structure, Op op) {
  return !op.transposed && structure.symmetry() == Symmetry::none;
}

// ---- Implemented by each backend -----------------------------------------------------------------------------------
// The position of the first value of each diagonal of a block, relative to the first value of the block: uint32, the
// shape of the masks. For diagonals whose values are stored one by one. Cached with the structure.
struct ValueStarts {
  Array from_block;

  auto arrays() const { return std::tie(from_block); }
};
std::shared_ptr<const ValueStarts> value_starts(const Structure& structure);
// Stores the entries of a csr matrix on these diagonals. All other entries have to be mirror images of these.
Matrix masked_from_rows(const Matrix& csr, const std::vector<int64>& offsets, Symmetry symmetry);
Matrix rows_from_masked(const Matrix& a, Op op);  // op(A) as csr
// The pointers to the values of each block, the number of all of these, and the number of elements on one diagonal.
// With codings, only values that are stored one by one count; they follow `tables` others.
struct MaskedCounts {
  Array begin;
  int64 all, on_diagonal;
};
MaskedCounts count_masked(const Array& mask, int64 diagonal, const Coding* codings = nullptr, int64 tables = 0);
// outside: a mask has elements outside of the matrix; pointers: an element of block_indptr is not the number of values
// before it; order: a code exceeds the table of its diagonal.
Fault fault_in_masks(const Structure& structure);
bool masked_diagonal_is_real(const Matrix& m);  // the main diagonal, for Hermitian storage

}  // namespace diagsparse
