// The correction of tridiagonal solutions for two corner elements, as in cyclic matrices, of one matrix or of many.
#pragma once

#include "core/array.hpp"

namespace diagsparse::cuda::tridiagonal {

// Where row i of member m is in a vector: n m + i, or if the members are interleaved, count i + m.
struct Placement {
  int64 n, count;
  bool interleaved;

  int64 rows() const { return n * count; }
};

// Writes the first column of the identity to the first column of y, and the last one to the second, for each member.
void write_ends(const Placement& p, const Dense& y);

// The matrices M of the correction, 2 x 2 by rows for each member: with the corners in K = [0 first; last 0], the
// columns of the identity for the first and the last row in P, and y = T^-1 P, they are (I + K P^T y)^-1 K.
Array corner_weights(const Placement& p, const Array& first, const Array& last, const Dense& y);

// x(:, j) -= y M (x(0, j), x(n - 1, j)) for each member and column j. Columns are contiguous.
void correct_for_corners(const Placement& p, const Dense& y, const Array& weights, const Dense& x);

}  // namespace diagsparse::cuda::tridiagonal
