// The rest of quasi-bands on the CPU, row by row.
#pragma once

#include "formats/qband/products.hpp"

namespace diagsparse {

// The rest of op(A) by rows: entry e has row rows[e] and column columns[e], and is entry position(e) of the rest of A.
struct RowsOfRest {
  Array indptr, rows, columns;
  Array order;        // int64; empty if the rest of A already has this order
  int64 longest = 0;  // entries of a row

  const int64* pointers() const { return indptr.as<int64>(); }
  const std::int32_t* row() const { return rows.as<std::int32_t>(); }
  const std::int32_t* column() const { return columns.as<std::int32_t>(); }
  int64 position(int64 e) const { return order.data ? order.as<int64>()[e] : e; }
};
// Cached with the rest of A.
std::shared_ptr<const RowsOfRest> rows_of_rest(const QuasiBand& a);

// The data that a plan has for As Bb + Ab Bs + As Bs in addition to the structure of C: the rows of As and Bs, and the
// columns of each row that are on the bands of C.
struct RestOnCpu : Work {
  std::shared_ptr<const RowsOfRest> a, b;
  Array on_bands_indptr, on_bands_columns;
  int64 products = 0;
  int64 workspace = 0;                // workspace in bytes, to plan or to multiply
  std::vector<int64> row_boundaries;  // ranges of rows with equal work

  int64 nbytes() const override { return on_bands_indptr.nbytes() + on_bands_columns.nbytes() + workspace; }
  int64 operations() const override { return products; }
  // The lowest and the highest column of the product in rows [begin, end). `indptr` and `columns` are those outside of
  // the bands of C.
  std::pair<int64, int64> columns(int64 begin, int64 end, const int64* indptr, const std::int32_t* columns) const;
};

constexpr int64 kRowsPerCheckpoint = 64;  // rows between two calls of checkpoint()

// Whether it is worth copying the bands of B, with this many rows and diagonals, to rows if As has this many entries.
constexpr bool use_band_rows(int64 rows, int64 diagonals, int64 entries) {
  constexpr int64 few = 4;
  return diagonals >= few && entries >= rows / few;
}

// Calls f(strip, first, last) for each strip of diagonals that row i intersects in a matrix with `cols` columns, where
// its offsets there are [first, last).
template <class F>
void for_each_crossed(const std::vector<Strip>& strips, int64 i, int64 cols, const F& f) {
  for (const Strip& strip : strips) {
    const int64 first = std::max(strip.low, -i), last = std::min(strip.high + 1, cols - i);
    if (first < last) f(strip, first, last);
  }
}

}  // namespace diagsparse
