// op(A) of a product with vectors, as kernels walk it.
#pragma once

#include "kernels/bmsparse/fragments.cuh"

namespace diagsparse::cuda::bitmaps {

constexpr int64 kLong = 128;  // blocks of a row: one with more is left to a block of threads

// op(A), row by row of blocks.
template <class T>
struct Walked {
  int64 rows, cols;  // of op(A)
  const std::int64_t* indptr;
  const std::int32_t *col, *number;
  Source<T> blocks;

  Walked(const Matrix& m, const BlockOperand& of)
      : rows(of.op.transposed ? m.cols : m.rows),
        cols(of.op.transposed ? m.rows : m.cols),
        indptr(of.indptr.as<std::int64_t>()),
        col(of.col.as<std::int32_t>()),
        number(of.number),
        blocks(m, of.op) {}

  __device__ Piece<T> piece(int64 e) const { return blocks.piece(number ? number[e] : e); }
};

}  // namespace diagsparse::cuda::bitmaps
