// The columns of each row of A B of csr. A team of threads takes a row, and has the columns of all rows of B that it
// asks for in shared memory: as bits, of all columns from the first to the last of the row; or, where these are many
// and it meets few, as a list that is sorted. The entries of B that are met are read twice.
#pragma once

#include "core/plan.hpp"
#include "formats/csr.hpp"

namespace diagsparse::cuda {

// What marking the rows of A B takes.
struct Reach {
  std::int64_t words;     // of 32 columns, in all wide and heavy rows
  std::int64_t products;  // of an entry of A and one of B
  std::int64_t tiny;      // rows whose columns half a warp sorts
  std::int64_t few;       // rows whose columns a warp sorts
  std::int64_t wide;      // rows that a block of threads marks
  std::int64_t heavy;     // rows that a large one marks

  // A word takes a thirtieth of the time that sorting a product does. (n = 2 10^5, 8 random nonzeros a row: 1.25 G
  // words 5 ms, 12.8 M products 1.7 ms.)
  bool pays() const { return words / 32 <= products; }
};

class MarkedRows {
 public:
  MarkedRows(const Csr<float>& a, const Csr<float>& b);  // without values

  const Reach& reach() const { return reach_; }
  RowsOfProduct rows();  // the structure; once

 private:
  Csr<float> a_, b_;
  Array ranges_;  // of each row its Range
  Array few_;     // the products of each row that is sorted; then their running sum
  Reach reach_;
};

}  // namespace diagsparse::cuda
