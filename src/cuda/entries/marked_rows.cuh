// The columns of each row of A B of csr. Some threads take a row, by how many products it has and how far they reach
// (row_ranges.cuh): they sort the columns of all rows of B that it asks for (sorted_rows.cuh), or mark them as bits in
// shared memory, of all columns from the first to the last of the row, once to count them and once to write them.
#pragma once

#include "core/compressed_rows.hpp"
#include "core/plan.hpp"

namespace diagsparse::cuda {

class MarkedRows {
 public:
  MarkedRows(const Csr<float>& a, const Csr<float>& b);  // without values

  // Whether listing all products and sorting them takes longer. A word takes a thirtieth of the time that sorting a
  // product does. (n = 2 10^5, 8 random nonzeros a row: 1.25 G words 5 ms, 12.8 M products 1.7 ms.)
  bool pays() const { return words_ / 32 <= products_; }
  RowsOfProduct rows();  // the structure; once

 private:
  Csr<float> a_, b_;
  Array ranges_;               // of each row its Range
  std::int64_t words_;         // of 32 columns, in all rows that blocks mark
  std::int64_t products_;      // of an entry of A and one of B
  std::int64_t block_sorted_;  // of these, in rows that blocks sort
  std::int64_t ends_[6] = {};  // of the rows of each kind (row_ranges.cuh), listed kind by kind
};

}  // namespace diagsparse::cuda
