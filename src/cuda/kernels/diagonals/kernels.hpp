// The kernels of the diagonal family on the GPU; each format's table lists those that it supports.
#pragma once

#include "core/plan.hpp"

namespace diagsparse::cuda {

// y = alpha op(A) x + beta y: a thread processes rows of A.
namespace matvec {
MatvecRow row();
}

// C = alpha op(A) op(B) + beta C
namespace matmul {
MatmulRow row();     // a thread processes rows of a diagonal of C
MatmulRow block();   // a block processes rows of all diagonals of C
MatmulRow staged();  // the same for one real type, in shared memory; falls back to "block"
// Those of Haque, Parvez and Hossain (2024), for comparison; they fall back to "row" for operands of two types.
MatmulRow tiled();         // Algorithm 1; cdm only
MatmulRow atomic();        // Algorithm 2
MatmulRow atomic_split();  // the variant with less divergence that the paper suggests
MatmulRow entry();         // the paper's first approach
template <template <class, class> class Kernel, void (*prepare)(const Plan&)>
MatmulRow row_of_paper(const char* name) {
  return {.name = name,
          .typed = one_type<Kernel, MatmulKernel>(),
          .prepare =
              [](const Plan& plan) {
                prepare(plan);
                find_matmul(plan.format(), "row").prepare(plan);  // for operands of other types than the planned ones
              },
          .fallback = [](const Plan&, DType a, DType b) -> const char* { return a == b ? nullptr : "row"; }};
}
// The fraction of the offsets between C's lowest and highest that C stores.
double density_of(const Plan& plan);
}  // namespace matmul
namespace band {
MatmulRow matmul();  // bands of one type, on the matrix units; falls back to "row"
MatmulRow bands();   // several separate bands, of float64; falls back to "block"
}  // namespace band

namespace dense_tiles {
MatmulRow matmul();  // wide bands to dense matrices, of one type, on the matrix units; falls back to "block"
// Approximate ratio of the multiply-adds of its tiles to those of the product: 16 rows of A are multiplied with 4
// columns at a time, 4 rows of B with 8 columns.
double padding(const Plan& plan);
}  // namespace dense_tiles

// The sum of a recurrence in op(A): a block processes rows for several steps at once.
namespace chain {
ChainRow blocked();
}

}  // namespace diagsparse::cuda
