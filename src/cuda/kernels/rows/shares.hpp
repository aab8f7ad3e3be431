// Equal shares of the work on the rows of a matrix.
//
// The work is a list of nnz + m steps, "add entry e" and "end row i", merged in order (Merrill and Garland,
// "Merge-based parallel sparse matrix-vector multiplication", SC16); row i begins at step indptr[i] + i:
//
//     indptr   0     2                 7  7     8
//     steps    e0 e1 r0 e2 e3 e4 e5 e6 r1 r2 e7 r3
//              |--- share 0 ----|--- share 1 ----|
#pragma once

#include "core/matrix.hpp"

namespace diagsparse::cuda::rows {

struct ResidentShares {
  Array first;  // int64 (count + 1): the first row of each; first[count] = rows
  int64 count = 0;
  int64 longest = 0;  // entries of the longest row

  template <class F>
  void visit(const F& f) const {
    f(first);
  }
};

enum class Cut { steps, rows };  // a share begins where its steps do, or with the first row that begins among them

// Shares of `each` steps of the rows of op(A); kept with A.
std::shared_ptr<ResidentShares> shares_of(const Matrix& a, Op op, int each, Cut cut);

}  // namespace diagsparse::cuda::rows
