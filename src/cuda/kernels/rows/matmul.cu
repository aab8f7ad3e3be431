// C = alpha A B + beta C of csr, by rows: "warp_per_row", "row" and "sequential".
//
//   A: m x l, B: l x n, C: m x n, whose structure (indptr, indices) is in the plan: row i of C is the sum of A[i, k]
//   times row k of B.
//
// `lanes` threads compute a row of C. They loop over k in order and divide row k of B among them. The columns of this
// row are distinct, so no two threads update the same value of C, whose position is found by bisection. The lanes read
// neighbouring entries of B and update C through the caches. A warp per row is the default: with one thread per row,
// neighbouring threads read distant entries. "sequential" is the slow, obvious reference. There are no atomics, so
// every run gives the same bits.
#include "core/compressed_rows.hpp"
#include "device/bisection.cuh"
#include "device/launch.cuh"
#include "device/values.cuh"
#include "kernels/rows/kernels.hpp"

namespace diagsparse::cuda::rows {

namespace {

template <class U, class V>
__global__ void __launch_bounds__(kBlock)
    multiply_rows(const Csr<U> a, const Csr<V> b, const int64* indptr, const std::int32_t* indices, Product<U, V>* c,
                  const __grid_constant__ Update<Product<U, V>> scale,
                  const __grid_constant__ Factor<Product<U, V>> alpha, int lanes) {
  using T = Product<U, V>;
  const int shift = __ffs(lanes) - 1, lane = threadIdx.x & (lanes - 1);
  const int64 width = static_cast<int64>(gridDim.x) * blockDim.x >> shift;
  for (int64 i = thread_index() >> shift; i < a.rows; i += width) {
    const int64 begin = indptr[i], end = indptr[i + 1];
    for (int64 e = begin + lane; e < end; e += lanes) scale.one(c + e, T{});
    if (lanes > 1) __syncwarp();
    for (int64 e = a.indptr[i]; e < a.indptr[i + 1]; ++e) {
      const std::int32_t k = a.indices[e];
      const U left = load(a.values + e);
      int64 at = begin;
      for (int64 f = b.indptr[k] + lane; f < b.indptr[k + 1]; f += lanes) {
        const std::int32_t column = b.indices[f];
        at = bisect(at, end, [&](int64 g) { return indices[g] < column; });  // columns ascend, so the search continues
                                                                             // from here
        c[at] += alpha * multiply(left, load(b.values + f));
      }
      if (lanes > 1) __syncwarp();
    }
  }
}

enum class Workers { row, warp, one };

template <Workers W, class U, class V>
struct CsrMatmul {
  static void run(const Plan& plan, const Matrix& left, const Matrix& right, Scalar alpha, Scalar beta, Matrix& c) {
    using T = Product<U, V>;
    constexpr int lanes = W == Workers::warp ? 32 : 1;
    const Array &indptr = c.index("indptr"), &indices = c.index("indices");
    used_on_this_stream(indptr);
    used_on_this_stream(indices);
    const dim3 grid = W == Workers::one ? dim3(1) : blocks(plan.rows * lanes);
    launch("csr matmul", multiply_rows<U, V>, grid, dim3(W == Workers::one ? 1 : kBlock), Csr<U>::of(left),
           Csr<V>::of(right), indptr.as<const int64>(), indices.as<const std::int32_t>(), c.values.as<T>(),
           Update<T>(0.0, beta), Factor<T>(alpha), lanes);
  }
};
template <class U, class V>
struct MatmulByRow : CsrMatmul<Workers::row, U, V> {};
template <class U, class V>
struct MatmulByWarp : CsrMatmul<Workers::warp, U, V> {};
template <class U, class V>
struct MatmulByOne : CsrMatmul<Workers::one, U, V> {};

// The structure of C has to be complete before the plan runs in another stream.
void wait_for_structure(const Plan& plan) {
  if (plan.repeated) CUDA_CALL(cudaStreamSynchronize(stream()));
}

}  // namespace

MatmulRow multiply_by_warp() { return {"warp_per_row", every_pair<MatmulByWarp, MatmulKernel>(), wait_for_structure}; }
MatmulRow multiply_by_row() { return {"row", every_pair<MatmulByRow, MatmulKernel>(), wait_for_structure}; }
MatmulRow multiply_by_one() { return {"sequential", every_pair<MatmulByOne, MatmulKernel>(), wait_for_structure}; }

}  // namespace diagsparse::cuda::rows
