// Tridiagonal systems whose members are interleaved, as in cuSPARSE's gtsvInterleavedBatch.
#pragma once

#include <optional>

#include "core/array.hpp"

namespace diagsparse::cuda::tridiagonal {

// The diagonals of `count` members of n rows; element i of member m is element i * count + m of an array. lower and
// upper have n - 1 rows, or none: zeros.
struct Batch {
  Array lower, main, upper;
  int64 n, count;
};

// What is wrong with solutions: the first member, and its row, with a pivot of zero; the first member whose backward
// error is larger than that of elimination with pivoting. -1: nothing.
struct Verdict {
  int64 singular_member = -1, singular_row = -1, inaccurate = -1;
};

// x = A^-1 b for b and x like `main`; x may be b. Solutions without pivoting are only verified where elements grow.
// verify = false: nothing is verified, and the device is not waited for.
Verdict solve(const Batch& a, const Array& b, const Array& x, bool pivoting, bool verify);
// The same for random numbers b.
Verdict solve_random(const Batch& a, bool pivoting);

}  // namespace diagsparse::cuda::tridiagonal
