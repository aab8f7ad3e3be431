// The kernels for dia, hm and cdm, which have the same table.
#pragma once

#include "core/plan.hpp"
#include "kernels/simd/vec.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

// y = alpha op(A) x + beta y
Typed<MatvecKernel> matvec_row_tiles();
// The same kernel, with a callback then(of, first, last) after each block of rows [first, last) of y, while it is
// cached.
struct AfterRows {
  void (*then)(const void* of, int64 first, int64 last);
  const void* of;
  const int64* before = nullptr;  // multiply-adds of `then` per column before each row, and in total; or null
};
using MatvecThen = void (*)(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y,
                            AfterRows after);
Typed<MatvecThen> matvec_row_tiles_then();
Typed<MatvecKernel> matvec_sequential();

// C = alpha op(A) op(B) + beta C
Typed<MatmulKernel> matmul_row_tiles();
Typed<MatmulKernel> matmul_sequential();
// For wide bands of one type; falls back to row_tiles.
MatmulRow matmul_dense_tiles();
// The faster one of row_tiles and dense_tiles.
const char* choose_diagonal_matmul(const Plan& plan, DType a, DType b);

// The sum of a recurrence in op(A)
Typed<ChainKernel> chain_blocked();

}  // namespace diagsparse::DIAGSPARSE_ISA
