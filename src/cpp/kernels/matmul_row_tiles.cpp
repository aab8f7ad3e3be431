// Kernel "row_tiles" of dia, hm and cdm: C = alpha op(A) op(B) + beta C from a plan, diagonal by diagonal.
//
//   A: m x k, B: k x n, C: m x n, each diagonal of C a sum over the pairs of diagonals (a, b) that meet on it.
//   Bytes at least: A + B + C, once each.
//
// A thread takes a block of rows and computes it on every diagonal of C: the rows of A and the window of B
// that the block needs stay in cache, and each value of C is summed in a register and written once.
// The same bits for any number of threads.
#include "core/parallel.hpp"
#include "kernels/diagonal_kernels.hpp"
#include "kernels/row_tiles.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

constexpr int64 kBlockRows = 256;
constexpr int64 kSumsPerTask = 256;

template <class U, class V>
struct MatmulRowTiles {
  using T = Product<U, V>;

  static void run(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
    const Sums& sums = plan.sums;
    const Streams<U, V> streams(a.values.as<U>(), plan.op_a.conjugated, b.values.as<V>(), plan.op_b.conjugated,
                                c.values.as<T>(), Update<T>(alpha, beta));
    const int64 count = static_cast<int64>(sums.sums.size());
    const int64 blocks = (plan.rows + kBlockRows - 1) / kBlockRows;
    const int64 chunks = (count + kSumsPerTask - 1) / kSumsPerTask;
    parallel_for(blocks * chunks, sums.work, [&](int64 task) {
      const int64 first = task / chunks * kBlockRows, last = first + kBlockRows;
      const int64 begin = task % chunks * kSumsPerTask, end = std::min(count, begin + kSumsPerTask);
      Streams<U, V> s = streams;
      for (int64 d = begin; d < end; ++d) {
        const Sum& sum = sums.sums[d];
        s.out = streams.out + sum.out;
        RowTiles<U, V, 1>::run(s, sums.terms.data() + sum.terms, sums.terms.data() + sum.terms_end,
                               std::max(first, sum.first), std::min(last, sum.last));
      }
    });
  }
};

}  // namespace

Typed<MatmulKernel> matmul_row_tiles() { return every_pair<MatmulRowTiles, MatmulKernel>(); }

}  // namespace diagsparse::DIAGSPARSE_ISA
