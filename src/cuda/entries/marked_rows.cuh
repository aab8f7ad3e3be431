// The columns of each row of A B of csr. A team of threads processes a row, depending on the number of its products and
// the range of its columns (row_ranges.cuh): it sorts the columns of the corresponding rows of B (sorted_rows.cuh), or
// marks them as bits in shared memory, for all columns from the first to the last of the row, once to count them and
// once to write them.
#pragma once

#include "core/compressed_rows.hpp"
#include "core/plan.hpp"

namespace diagsparse::cuda {

class MarkedRows {
 public:
  MarkedRows(const Csr<float>& a, const Csr<float>& b);  // the values of a and b are not used

  // Whether this is faster than listing and sorting all products. A word takes a thirtieth of the time of sorting a
  // product. (n = 2 10^5, 8 random nonzeros per row: 1.25 G words 5 ms, 12.8 M products 1.7 ms.)
  bool is_faster() const { return words_ / 32 <= products_; }
  RowsOfProduct rows();  // the structure; may be called once

 private:
  Csr<float> a_, b_;
  Array ranges_;               // the Range of each row
  std::int64_t words_;         // words of 32 columns, in all rows that blocks mark
  std::int64_t products_;      // products of an entry of A and one of B
  std::int64_t block_sorted_;  // those of rows that blocks sort
  std::int64_t ends_[6] = {};  // ends of the rows of each kind (row_ranges.cuh) in the list, which is sorted by kind
};

}  // namespace diagsparse::cuda
