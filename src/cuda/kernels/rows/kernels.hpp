// The kernels of csr, csc and coo on the GPU; each format's table names the ones it offers.
#pragma once

#include "core/plan.hpp"

namespace diagsparse::cuda {

namespace rows {

// y = alpha op(A) x + beta y. These gather the rows of op(A) and sum each in a fixed order: the same bits on every run.
// Where A is stored by columns (csc, or a transposed csr or coo), the first call sorts an index of its rows and keeps
// it with A: 12 bytes an entry.
MatvecRow gather_by_stream();   // "stream": a block takes rows, reads their entries in order and sums in shared memory
MatvecRow gather_by_threads();  // "threads_per_row": 2 to 32 threads take a row, by the mean length of the rows
MatvecRow gather_by_row();      // "row": a thread takes a row
MatvecRow gather_by_warp();     // "warp_per_row": a warp takes a row
MatvecRow gather_by_merge();    // "merge": each thread takes as many entries and ends of rows as the others
MatvecRow gather_by_one();      // "sequential": one thread takes all rows

// This one walks the entries as they are stored and adds each product to y atomically: no index, but sums may differ in
// their last bits from run to run.
MatvecRow scatter_entries();  // "entry": a thread takes an entry

// What formats that store rows do with a transpose: "stream" over an index of its rows, which is kept with A.
template <class U, class V>
void gather_transpose(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
  static const MatvecKernel gather = gather_by_stream().typed(dtype_of<U>(), dtype_of<V>());
  gather(a, op, alpha, x, beta, y);
}
void prepare_transpose(const Matrix& a, Op op);  // makes what it keeps; nothing where op is no transpose

// C = alpha A B + beta C, of csr.
MatmulRow multiply_by_hash();   // "hash": 4 to 32 threads take a row of C, whose sums they hold in shared memory
MatmulRow multiply_by_terms();  // "terms": a thread takes an entry of C, whose terms the plan lists
MatmulRow multiply_by_warp();   // "warp_per_row": a warp takes a row
MatmulRow multiply_by_row();    // "row": a thread takes a row
MatmulRow multiply_by_one();    // "sequential": one thread takes all rows

// How many entries of A "hash" looks at: those of a row once for each stretch of its row of C.
int64 hash_walks(const Plan& plan);

// What "terms" keeps with a plan, and whether its numbers, of 32 bits, reach.
int64 terms_nbytes(const Plan& plan);
bool can_list_terms(const Plan& plan);

}  // namespace rows

// The same by NVIDIA's library; its product is of csr.
namespace cusparse {
MatvecRow matvec();       // "cusparse": by the algorithm that the library takes by default; also of sell
MatvecRow matvec_alg1();  // "cusparse_alg1", "cusparse_alg2": of csr, by the algorithm of this name
MatvecRow matvec_alg2();
MatmulRow matmul();
}  // namespace cusparse

}  // namespace diagsparse::cuda
