// The coordinates of the entries of csr, csc and coo.
#pragma once

#include <utility>

#include "core/format.hpp"
#include "device/bisection.cuh"
#include "entries/sorted_keys.cuh"

namespace diagsparse::cuda {

// The row and column of entry e in any of the three formats; `pointers` for csr and csc, the other index for coo.
struct Coordinates {
  const std::int32_t *row, *col;  // one of them is null in csr and csc
  const std::int64_t* pointers;
  int64 lines;

  // For op(a).
  static Coordinates of(const Matrix& a, Op op) {
    Coordinates result = stored(a);
    if (op.transposed) std::swap(result.row, result.col);
    return result;
  }
  __device__ int64 row_of(int64 e) const { return row ? row[e] : line(e); }
  __device__ int64 col_of(int64 e) const { return col ? col[e] : line(e); }

 private:
  static Coordinates stored(const Matrix& a) {
    const EntryFormat& format = entry_format(a.format);
    if (!format.pointers) return {a.index("row").as<std::int32_t>(), a.index("col").as<std::int32_t>(), nullptr, 0};
    const auto* indices = a.index("indices").as<std::int32_t>();
    const auto* pointers = a.index("indptr").as<std::int64_t>();
    if (format.by_column) return {indices, nullptr, pointers, a.cols};
    return {nullptr, indices, pointers, a.rows};
  }

  // The line that contains entry e: the last one whose pointer is not greater than e.
  __device__ int64 line(int64 e) const {
    return bisect(1, lines, [&](int64 line) { return pointers[line] <= e; }) - 1;
  }
};

// Writes the keys of the entries of op(a), by rows or by columns, to keys[first...]; the positions of their values
// count from `first`.
void write_keys(const Matrix& a, Op op, bool by_column, int64 first, const Keys& keys);

// Rows and columns of sorted keys; `major` may be null.
void split(const Key* keys, int64 count, std::int32_t* major, std::int32_t* minor);

// Sorted keys as lines (rows, or columns): line i has the entries indices[indptr[i] ... indptr[i + 1]).
struct SortedLines {
  Array indptr, indices;

  SortedLines(const Key* keys, int64 count, int64 lines);
};

// The rows of op(a), for kernels that gather: entry e of the line has the value values[positions[e]], or values[e] if
// `positions` is null. If a is not stored by rows, the index is created by a sort the first time, and cached with its
// structure.
struct RowIndex {
  const std::int64_t* indptr;
  const std::int32_t* indices;
  const std::int64_t* positions;
  std::shared_ptr<void> memory;
};
RowIndex rows_of(const Matrix& a, bool transposed);

}  // namespace diagsparse::cuda
