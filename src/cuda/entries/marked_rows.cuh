// The columns of each row of A B of csr, as bits: a team of threads takes a row and marks the columns of all rows of B
// that it asks for in shared memory. It reads the entries of B that are met twice, and sorts nothing; but it looks
// through all columns from the first to the last of a row.
#pragma once

#include "core/plan.hpp"
#include "formats/csr.hpp"

namespace diagsparse::cuda {

// What marking the rows of A B takes.
struct Reach {
  std::int64_t words;     // of 32 columns, in all rows
  std::int64_t products;  // of an entry of A and one of B
  std::int64_t wide;      // rows that have more words than a warp marks

  // A word takes a thirtieth of the time that sorting a product does. (n = 2 10^5, 8 random nonzeros a row: 1.25 G
  // words 5 ms, 12.8 M products 1.7 ms.)
  bool pays() const { return words / 32 <= products; }
};

class MarkedRows {
 public:
  MarkedRows(const Csr<float>& a, const Csr<float>& b);  // without values

  const Reach& reach() const { return reach_; }
  RowsOfProduct rows() const;  // the structure

 private:
  Csr<float> a_, b_;
  Array ranges_;  // of each row: its first column and its last one, which is less where it has none
  Reach reach_;
};

}  // namespace diagsparse::cuda
