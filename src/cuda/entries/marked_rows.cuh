// The columns of each row of A B of csr. A team of threads processes a row, depending on the number of its products and
// the range of its columns (row_ranges.cuh): it sorts the columns of the corresponding rows of B (sorted_rows.cuh), or
// marks them as bits in shared memory, for all columns from the first to the last of the row.
#pragma once

#include "core/plan.hpp"
#include "entries/row_ranges.cuh"

namespace diagsparse::cuda {

class MarkedRows {
 public:
  MarkedRows(const Csr<float>& a, const Csr<float>& b, int64 entries_of_b);  // the values of a and b are not used

  // Whether this is faster than listing and sorting all products. A word takes a thirtieth of the time of sorting a
  // product. (n = 2 10^5, 8 random nonzeros per row: 1.25 G words 5 ms, 12.8 M products 1.7 ms.)
  bool is_faster() const { return static_cast<int64>(totals_.words) / 32 <= products(); }
  RowsOfProduct rows();  // the structure; may be called once

 private:
  struct Counters {
    columns_of_product::Totals totals;
    columns_of_product::Cursors cursors;
  };

  int64 products() const { return static_cast<int64>(totals_.products); }

  Csr<float> a_, b_;
  int64 entries_of_b_;
  Array ranges_;  // the Range of each row
  Scratch<Counters> counters_;
  columns_of_product::Totals totals_;
};

}  // namespace diagsparse::cuda
