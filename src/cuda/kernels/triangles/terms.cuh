// The diagonals of a triangle as kernels read them, for those that go through rows instead of the points of a grid.
#pragma once

#include "kernels/triangles/rows.cuh"

namespace diagsparse::cuda::triangles {

constexpr int kMostTerms = 32;

template <class T>
struct Terms {
  const T* values;
  const T* inverse;
  Rows rows;
  bool conjugated;
  Last last;
  int64 step;  // rows that do not depend on each other
  int count;
  int64 distance[kMostTerms], first[kMostTerms];

  // The element of diagonal k in row i, which is row q in the order of substitution.
  __device__ T element(int k, int64 q, int64 i) const {
    return distance[k] <= q ? conjugate_if(conjugated, values[first[k] + i]) : T{};
  }
  __device__ T reciprocal(int64 i) const { return inverse ? conjugate_if(conjugated, inverse[i]) : T{}; }
};

}  // namespace diagsparse::cuda::triangles
