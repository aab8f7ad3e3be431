// The kernels of csr, csc and coo on the GPU; each format's table lists those that it supports.
#pragma once

#include "core/plan.hpp"

namespace diagsparse::cuda {

namespace rows {

// y = alpha op(A) x + beta y. These kernels gather the rows of op(A) and sum each in a fixed order, so every run gives
// the same bits. If A is stored by columns (csc, or a transposed csr or coo), the first call sorts an index of its rows
// and caches it with A: 12 bytes per entry.
MatvecRow gather_by_stream();   // "stream": a block reads the entries of several rows in order and sums in shared
                                // memory
MatvecRow gather_by_threads();  // "threads_per_row": 2 to 32 threads process a row, by the mean length of the rows
MatvecRow gather_by_row();      // "row": a thread processes a row
MatvecRow gather_by_warp();     // "warp_per_row": a warp processes a row
MatvecRow gather_by_merge();    // "merge": all threads process equal numbers of entries and ends of rows
MatvecRow gather_by_one();      // "sequential": one thread processes all rows

// This kernel loops over the entries as they are stored and adds each product to y atomically: it needs no index, but
// sums may differ in their last bits from run to run.
MatvecRow scatter_entries();  // "entry": a thread processes an entry

// How formats that store rows multiply by a transpose: "stream" with an index of its rows, which is cached with A.
template <class U, class V>
void gather_transpose(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
  static const MatvecKernel gather = gather_by_stream().typed(dtype_of<U>(), dtype_of<V>());
  gather(a, op, alpha, x, beta, y);
}
void prepare_transpose(const Matrix& a, Op op);  // builds what it caches; does nothing if op is not a transpose

// C = alpha A B + beta C, of csr.
MatmulRow multiply_by_hash();   // "hash": 4 to 32 threads compute a row of C, with its sums in shared memory
MatmulRow multiply_by_terms();  // "terms": a thread computes an entry of C, whose terms are listed in the plan
MatmulRow multiply_by_warp();   // "warp_per_row": a warp computes a row
MatmulRow multiply_by_row();    // "row": a thread computes a row
MatmulRow multiply_by_one();    // "sequential": one thread computes all rows

// Number of entries of A that "hash" reads: those of a row once for each segment of the corresponding row of C.
int64 hash_reads(const Plan& plan);

// The bytes that "terms" caches with a plan, and whether 32 bits suffice for its numbers.
int64 terms_nbytes(const Plan& plan);
bool can_list_terms(const Plan& plan);

}  // namespace rows

// The same with NVIDIA's library; its product is for csr.
namespace cusparse {
MatvecRow matvec();       // "cusparse": the library's default algorithm; also for sell
MatvecRow matvec_alg1();  // "cusparse_alg1", "cusparse_alg2": the algorithm of this name, for csr
MatvecRow matvec_alg2();
MatmulRow matmul();
}  // namespace cusparse

}  // namespace diagsparse::cuda
