// op(A) of a product with vectors, in the form that kernels read.
#pragma once

#include "formats/bmsparse/fragments.cuh"

namespace diagsparse::cuda::bmsparse {

// Most blocks of a row that is not long. Rows with more blocks are long relative to the others, or to the number of
// rows, and are processed by a thread block each.
inline std::int64_t most_blocks(const BlockOperand& of) {
  constexpr std::int64_t few_rows = 1 << 13, limit = 128;
  const std::int64_t most = std::max<std::int64_t>(32, 4 * of.blocks() / std::max<std::int64_t>(1, of.rows));
  return of.rows < few_rows ? std::min(most, limit) : most;
}

// op(A) by rows of blocks.
template <class T>
struct OperandRows {
  int64 rows, cols;   // shape of op(A)
  std::int64_t most;  // blocks of a row that is not long
  const std::int64_t* indptr;
  const std::int32_t *col, *number;
  Source<T> blocks;

  OperandRows(const Matrix& m, const BlockOperand& of)
      : rows(of.op.transposed ? m.cols : m.rows),
        cols(of.op.transposed ? m.rows : m.cols),
        most(most_blocks(of)),
        indptr(of.indptr.as<std::int64_t>()),
        col(of.col.as<std::int32_t>()),
        number(of.number),
        blocks(m, of.op) {}

  __device__ BlockView<T> view(int64 e) const { return blocks.view(number ? number[e] : e); }
};

}  // namespace diagsparse::cuda::bmsparse
