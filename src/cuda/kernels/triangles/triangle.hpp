// Triangles of matrices on a GPU, for solving: what is analyzed once. The values are those of the matrix, which must
// not change. Zero pivots have been refused.
//
//   grid     diagonals of a grid: a block of threads computes a tile of lines, each some steps behind the lines that it
//            depends on, and waits for the blocks of the tiles around it
//   chains   distances that are multiples of the nearest one: a thread computes the rows at this distance
//   blocks   diagonals that are all very far: a block of threads computes rows that do not depend on each other, and
//            waits for the blocks that it needs
//   march    other diagonals: a single block of threads computes as many rows at once as do not depend on each other
//   levels   csr, by cuSPARSE
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/matrix.hpp"

namespace diagsparse::cuda::triangles {

// Row q of the order of substitution.
struct Rows {
  int64 count;
  bool lower;
  constexpr int64 row(int64 q) const { return lower ? q : count - 1 - q; }
  constexpr int64 sign() const { return lower ? -1 : 1; }  // of the way to rows that a row depends on
};

// A diagonal at this distance from the main one. The element in row i is values[first + i].
struct Term {
  int64 distance, first;
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

// The triangle of op(A) for diagonals, without those that are zero; null if no kernel suits them. `inverse` has the
// reciprocals of the main diagonal, or nothing if it is 1.
std::unique_ptr<Triangle> of_diagonals(const Matrix& a, Op op, bool lower, const Array& inverse,
                                       const std::vector<int64>& offsets);

// Solving overwrites the main diagonal x of a matrix with the reciprocals of the pivots, where
// x[i] = 1 / (x[i] - sum of weights[first_k + i] x[i - distance_k]); null if no kernel suits the distances.
std::unique_ptr<Triangle> of_pivots(const Matrix& a, const Array& weights, std::vector<Term> terms);

// Incomplete factors without fill-in of a matrix of diagonals: factor_lu overwrites it, and factor_cholesky writes L to
// `factors`, a matrix with the offsets of A that are not positive, after multiplying the main diagonal by 1 + shift.
// Both return the first row whose pivot is zero or not finite (LU) or not positive, or -1 if there is none. They return
// kUnsuitable, and change nothing, if no kernel suits the diagonals.
constexpr int64 kUnsuitable = -2;
int64 factor_lu(Matrix& a);
int64 factor_cholesky(const Matrix& a, double shift, Matrix& factors);

}  // namespace diagsparse::cuda::triangles
