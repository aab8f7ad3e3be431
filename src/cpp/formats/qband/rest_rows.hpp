// The rest of quasi-bands on the CPU, row by row.
#pragma once

#include "formats/qband/products.hpp"

namespace diagsparse {

// The rows of the rest of op(A): entry e lies in rows[e] and columns[e], and is entry place(e) of the rest of A.
struct RowsOfRest {
  Array indptr, rows, columns;
  Array order;        // int64; empty where entries lie in this order already
  int64 longest = 0;  // entries of a row

  const int64* pointers() const { return indptr.as<int64>(); }
  const std::int32_t* row() const { return rows.as<std::int32_t>(); }
  const std::int32_t* column() const { return columns.as<std::int32_t>(); }
  int64 place(int64 e) const { return order.data ? order.as<int64>()[e] : e; }
};
// Kept with the rest of A.
std::shared_ptr<const RowsOfRest> rows_of_rest(const QuasiBand& a);

// What a plan knows of As Bb + Ab Bs + As Bs beside the structure of C: rows of As and Bs, and the columns of each row
// that lie on the bands of C.
struct RestOnCpu : Work {
  std::shared_ptr<const RowsOfRest> a, b;
  Array onto_indptr, onto_columns;
  int64 products = 0;
  int64 beside = 0;           // bytes that are taken for a while, to plan or to multiply
  std::vector<int64> shares;  // rows, shared out by the work on them

  int64 nbytes() const override { return onto_indptr.nbytes() + onto_columns.nbytes() + beside; }
  int64 operations() const override { return products; }
  // The lowest and the highest column that these rows of the product reach; beside its bands they are those of
  // `columns`.
  std::pair<int64, int64> columns(int64 begin, int64 end, const int64* indptr, const std::int32_t* columns) const;
};

constexpr int64 kRowsPerCheckpoint = 64;  // rows that are worked on between two questions whether to go on

// Whether the bands of B, of so many rows and diagonals, are brought into rows where As has so many entries.
constexpr bool in_rows(int64 rows, int64 diagonals, int64 entries) {
  constexpr int64 few = 4;
  return diagonals >= few && entries >= rows / few;
}

// Calls f(strip, first, last) for the strips of diagonals that row i crosses, in `cols` columns: those from offset
// `first` up to `last`.
template <class F>
void for_each_crossed(const std::vector<Strip>& strips, int64 i, int64 cols, const F& f) {
  for (const Strip& strip : strips) {
    const int64 first = std::max(strip.low, -i), last = std::min(strip.high + 1, cols - i);
    if (first < last) f(strip, first, last);
  }
}

}  // namespace diagsparse
