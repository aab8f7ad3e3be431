// Equal shares of the work on the rows of a matrix.
//
// The work is a list of nnz + m steps, "add entry e" and "end row i", merged in order (Merrill and Garland,
// "Merge-based parallel sparse matrix-vector multiplication", SC16); row i begins at step indptr[i] + i:
//
//     indptr   0     2                 7  7     8
//     steps    e0 e1 r0 e2 e3 e4 e5 e6 r1 r2 e7 r3
//              |--- share 0 ----|--- share 1 ----|
//
// Shares of whole rows take the rows that begin among their steps, so they go on to the end of the last one. There an
// entry counts as kEntry steps: the end of a row costs less than an entry, and entries are what has to fit.
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

// Shares of `steps` steps of the rows of op(A); kept with A.
std::shared_ptr<ResidentShares> shares_of_steps(const Matrix& a, Op op, int steps);

// Shares of whole rows with at most `entries` entries, but for a last row that is longer than most: without that one a
// share has at most as many. A matrix with few entries is cut into smaller ones. Kept with A.
std::shared_ptr<ResidentShares> shares_of_rows(const Matrix& a, Op op, int entries);

// The most entries that one of the rows with these pointers has.
int64 longest_of(const std::int64_t* indptr, int64 rows);

}  // namespace diagsparse::cuda::rows
