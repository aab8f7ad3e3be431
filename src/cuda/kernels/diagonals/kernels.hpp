// The kernels of the diagonal family on the GPU; each format's table names the ones it offers.
#pragma once

#include "core/plan.hpp"

namespace diagsparse::cuda {

// y = alpha op(A) x + beta y: a thread takes rows of A.
namespace matvec {
MatvecRow row();
}

// C = alpha op(A) op(B) + beta C
namespace matmul {
MatmulRow row();           // a thread takes rows of a diagonal of C
MatmulRow block();         // a block takes rows of all diagonals of C
MatmulRow staged();        // the same of one real type, in shared memory; falls back to "block"
MatmulRow tiled();         // Algorithm 1 of Haque, Parvez and Hossain (2024); cdm only
MatmulRow atomic();        // its Algorithm 2
MatmulRow atomic_split();  // the remedy for divergence that it suggests
MatmulRow entry();         // its first approach
// The part of the offsets between C's lowest and highest that C stores.
double density_of(const Plan& plan);
}  // namespace matmul
namespace band {
MatmulRow matmul();  // bands of one type, on the matrix units; falls back to "row"
MatmulRow bands();   // several bands apart, of float64; falls back to "block"
}  // namespace band

namespace dense_tiles {
MatmulRow matmul();  // wide bands to dense, of one type, on the matrix units; falls back to "block"
// Multiply-adds of its tiles for each of the product's, about: a run of 16 rows of A meets 4 columns together, 4 rows
// of B meet 8 columns.
double padding(const Plan& plan);
}  // namespace dense_tiles

// The sum of a recurrence in op(A): a block takes rows and several steps at once.
namespace chain {
ChainRow blocked();
}

}  // namespace diagsparse::cuda
