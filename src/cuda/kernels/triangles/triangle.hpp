// Triangles of matrices on a GPU, for solving: what is analyzed once. The values are those of the matrix, which must
// not change. Zero pivots have been refused.
//
//   lines    diagonals of a grid: a warp computes 32 lines side by side, line j `skew` positions behind line j - 1, as
//            drawn in cpu/triangle.hpp, and waits for the warps of earlier lines
//   blocks   diagonals that are all far: a block of threads computes rows that do not depend on each other, and waits
//   for
//            the blocks that it needs
//   levels   csr, by cuSPARSE
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/matrix.hpp"

namespace diagsparse::cuda::triangles {

// A diagonal at this distance from the main one. The element in row i is values[first + i].
struct Term {
  int64 distance, first;
  int64 lines = 0, ahead = 0;  // the distance is lines * line + ahead
};

class Triangle {
 public:
  const Matrix matrix;
  const Array inverse;  // reciprocals of the main diagonal; empty if they are not needed

  explicit Triangle(const Matrix& matrix, const Array& inverse = {}) : matrix(matrix), inverse(inverse) {}
  virtual ~Triangle() = default;
  virtual const char* order() const = 0;
  virtual int64 nbytes() const = 0;
  virtual void solve(const Dense& x) = 0;  // overwrites the columns of x, which are contiguous
};

// The triangle of op(A) for csr, by cuSPARSE's SpSV, whose analysis is stored.
std::unique_ptr<Triangle> by_levels(const Matrix& a, Op op, bool lower, bool unit);

// The triangle of op(A) for diagonals, without those that are zero; null if near diagonals form no lines. `inverse` has
// the reciprocals of the main diagonal, or nothing if it is 1.
std::unique_ptr<Triangle> of_diagonals(const Matrix& a, Op op, bool lower, const Array& inverse,
                                       const std::vector<int64>& offsets);

}  // namespace diagsparse::cuda::triangles
