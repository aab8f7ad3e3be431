// Triangles of matrices on the CPU, for solving. The values are those of the matrix, which must not change.
//
// x[i] = (b[i] - sum of A[i, j] x[j]) / A[i, i], where j are the columns of row i before the main diagonal (lower), or
// after it (upper). The sum is computed from far columns to near ones. Rows are computed in an order in which those
// that they depend on come first:
//
//   rows    one after the other
//   levels  csr: rows of a level depend on rows of earlier levels alone, so threads share a level
//   blocks  diagonals: as many rows as the distance of the nearest diagonal do not depend on each other, so their
//           vectors are computed at once; near diagonals follow row by row
//   lines   diagonals of a grid: the rows of a line depend on each other, and on lines before it. Line j is computed
//           `skew` positions behind line j - 1; threads share blocks of lines and positions:
//
//               line 0    o o o o o o o o .          o computed
//               line 1    o o o o o o . .            skew 2, as in a stencil of 9 points
//               line 2    o o o o . .
//               line 3    o o . .
#pragma once

#include "core/matrix.hpp"
#include "cpu/simd.hpp"

namespace diagsparse::triangles {

enum class Order { rows, levels, blocks, lines };

constexpr int64 kNear = 16;  // diagonals at smaller distances are processed row by row

// A diagonal at this distance from the main one. The element in row i is values[first + i].
struct Term {
  int64 distance, first;
  int64 ahead = 0;  // with lines: in the first so many positions of a line, the diagonal is zero
};

// A triangle with what solving with it needs.
struct System {
  Matrix matrix;  // diagonals, or csr
  bool lower = true;
  int64 rows = 0;
  Order order = Order::rows;
  Array inverse;                        // reciprocals of the main diagonal; empty if it is 1
  int64 singular = -1;                  // the first row whose pivot is zero, or so small that its reciprocal overflows
  bool finite = true;                   // whether all values are
  std::vector<Term> terms;              // of diagonals, the farthest one first
  int64 line = 0, skew = 0, reach = 0;  // the number of rows in a line; the largest `ahead` of a term
  std::vector<int64> split;             // csr: the first entry of each row that is not before the main diagonal
  std::vector<std::int32_t> sorted;     // csr, by levels: the rows, and where each level starts
  std::vector<int64> levels;

  // Row q of the order of substitution.
  int64 row(int64 q) const { return lower ? q : rows - 1 - q; }
  int64 nbytes() const;
};

// The triangle of op(A) for diagonals, or of a csr matrix, for which op has to be the identity.
System analyzed(const Matrix& a, Op op, bool lower, bool unit);

// Overwrites x (rows x columns, C order) with the solutions.
template <class T>
using Solve = void (*)(const System& triangle, T* x, int64 columns);

}  // namespace diagsparse::triangles
