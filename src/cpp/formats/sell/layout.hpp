// sell: sliced ELLPACK, SELL-C-sigma. The rows are divided into slices of C rows. Each slice is padded to its longest
// row and transposed, so that entries w of its rows are contiguous.
//
//       matrix A (4 x 5), C = 2      indices = [ 0  0 ]   values = [ 1  9 ]   slice_indptr = [ 0 6 12 ]
//     | 1  5  .  .  . |                        [ 1  1 ]            [ 5  2 ]
//     | 9  2  6  .  . |                        [-1  2 ]            [ *  6 ]   row_lengths  = [ 2 3 3 3 ]
//     | . 10  3  7  . |                        [ 1  2 ]            [10 11 ]
//     | .  . 11  4  8 |                        [ 2  3 ]            [ 3  4 ]
//                                              [ 3  4 ]            [ 7  8 ]
//
// Entry w of stored row p is at position slice_indptr[p / C] + w C + p % C of both arrays; * is padding. The last slice
// has C rows, too: those beyond m are padding.
// indices: int32 (positions / C, C; so n < 2^31), ascending in a row, then -1 from its padding on; values: T, the same
// shape; slice_indptr: int64 (slices + 1), the first position of each slice; row_order, if rows are sorted: int32 (m),
// the row of A that is stored as row p; row_lengths, optional: int32 (m), the length of stored row p.
// Each window of sigma rows is sorted by descending length with a stable sort: sigma = 2 would swap the first two rows
// above. Kernels stop at the first padding of a row, and read neither the values of the padding nor elements of x for
// it.
// Bytes: positions (sizeof(T) + 4) + 8 (slices + 1), 4 m for row_order and 4 m for row_lengths.
//
// Columns may be short (core/columns.hpp): with column_bits = 16 or 8, a column needs 2 bytes or 1 instead of 4. All
// positions form one line, so a chunk consists of 32 consecutive positions, regardless of C. bases, if any: int32
// (ceil(positions / 32)).
//
// Monakov, Lokhmotov and Avetisyan, "Automatically tuning sparse matrix-vector multiplication for GPU architectures",
// HiPEAC 2010; Kreutzer, Hager, Wellein, Fehske and Bishop, "A unified sparse matrix data format for efficient general
// sparse matrix-vector multiplication on modern processors with wide SIMD units", SIAM J. Sci. Comput. 36 (2014).
#pragma once

#include <optional>

#include "core/columns.hpp"
#include "layouts/rows.hpp"

namespace diagsparse {

extern const Format sell;

constexpr int64 kHighestSlice = 1024;

inline int64 slices_of(int64 rows, int64 height) { return rows / height + (rows % height != 0); }

// I: the type of indices.
template <class T, class I = std::int32_t>
struct Sell {
  int64 rows, cols, height, slices;
  const int64* slice_indptr;
  Columns<I> columns;
  const std::int32_t *row_order, *row_lengths;  // may be null
  const T* values;

  // Stored row p: its row in the matrix, and its positions begin(p), begin(p) + step(), ... up to end(p).
  constexpr int64 row(int64 p) const { return row_order ? row_order[p] : p; }
  constexpr int64 begin(int64 p) const { return slice_indptr[p / height] + p % height; }
  constexpr int64 step() const { return height; }
  // The chunk of entry w of stored row p.
  constexpr int64 chunk(int64 /*p*/, int64 /*w*/, int64 position) const { return position / kChunk; }
  constexpr int64 end(int64 p) const {
    return row_lengths ? begin(p) + row_lengths[p] * height : slice_indptr[p / height + 1];
  }
  // The interface that layouts/rows.hpp expects.
  static constexpr std::int32_t kLeastColumn = -1;  // of padding
  constexpr int64 stored_rows() const { return slices * height; }
  constexpr StoredRow stored_row(int64 p) const {
    return {p < rows ? row(p) : -1, begin(p), slice_indptr[p / height + 1] + p % height, height};
  }
  constexpr std::int32_t column(int64 e) const { return columns.indices[e]; }
  constexpr bool follows(int64 /*p*/) const { return true; }

  static Sell of(const Matrix& m) { return over(*m.structure, m.values.as<T>()); }
  static Sell over(const Structure& structure, const T* values) {
    const auto& arrays = static_cast<const Indices&>(structure);
    const Array &indices = arrays.at("indices"), *order = arrays.find("row_order"),
                *lengths = arrays.find("row_lengths");
    const int64 height = indices.shape.cols;
    return {structure.rows,
            structure.cols,
            height,
            slices_of(structure.rows, height),
            arrays.at("slice_indptr").as<int64>(),
            Columns<I>::of(indices, arrays.find("bases")),
            order ? order->as<std::int32_t>() : nullptr,
            lengths ? lengths->as<std::int32_t>() : nullptr,
            values};
  }
};

// The slices of `height` rows of a csr matrix, whose rows are sorted in windows of `sigma` rows (1: not sorted).
struct Slices {
  std::optional<Array> row_order;
  Array indptr;
  int64 positions;
};
Slices cut_into_slices(const Matrix& csr, int64 height, int64 sigma);
// The number of values that sell stores for op(a) in such slices, with the padding of shorter rows.
int64 padded_size_of_slices(const Matrix& a, Op op, int64 height, int64 sigma);

// ---- Implemented by each backend -----------------------------------------------------------------------------
// Writes slice_indptr and returns the number of positions. `row_order` may be null.
int64 compute_slice_indptr(const Matrix& csr, int64 height, const std::int32_t* row_order, int64* slice_indptr);
// Checks that slice_indptr increases from 0 to `positions` in multiples of the height.
Fault fault_in_slices(const Sell<float>& a, int64 positions);

}  // namespace diagsparse
