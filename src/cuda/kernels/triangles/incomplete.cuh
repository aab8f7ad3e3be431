// What both ways to compute incomplete factors have in common: they find the first row without a pivot.
#pragma once

#include "kernels/triangles/rows.cuh"
#include "kernels/triangles/triangle.hpp"

namespace diagsparse::cuda::triangles {

// Calls f(bad), whose kernels decrease *bad to the rows without a pivot, and returns the first of them, or -1.
template <class F>
int64 first_bad(const F& f) {
  const Scratch<unsigned long long> bad(1);
  CUDA_CALL(cudaMemsetAsync(bad.get(), 0xff, sizeof(unsigned long long), stream()));
  f(bad.get());
  const unsigned long long row = download(bad.get(), 1)[0];
  return row == ~0ull ? -1 : static_cast<int64>(row);
}

// Overwrites the diagonals of a grid with their incomplete factors: both triangles, or the lower one if there is none
// above the main diagonal. Returns as factor_lu.
int64 eliminate_by_levels(Matrix& a, bool cholesky);

}  // namespace diagsparse::cuda::triangles
