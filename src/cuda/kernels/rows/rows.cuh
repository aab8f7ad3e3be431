// The rows of op(A) in the form that gathering kernels read.
#pragma once

#include "device/values.cuh"
#include "entries/coordinates.cuh"

namespace diagsparse::cuda::rows {

// Row i has the entries e from indptr[i] to indptr[i + 1], in column indices[e].
template <class U>
struct Rows {
  const std::int64_t* indptr;
  const std::int32_t* indices;
  const std::int64_t* positions;  // if null, entry e has the value values[e], otherwise values[positions[e]]
  const U* values;
  int64 count, nnz;  // rows, and their entries: values in the padding of A do not count

  static Rows of(const Matrix& a, Op op) {
    const RowIndex index = rows_of(a, op.transposed);
    const int64 count = op.transposed ? a.cols : a.rows;
    return {index.indptr, index.indices, index.positions, a.values.as<U>(), count, a.structure->stored()};
  }

  __device__ U value(int64 e) const { return load(values + (positions ? positions[e] : e)); }
  // For an entry that is read once: leaves the caches to x.
  __device__ U value_once(int64 e) const { return positions ? load(values + positions[e]) : load_once(values + e); }
};

}  // namespace diagsparse::cuda::rows
