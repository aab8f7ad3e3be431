// C = alpha A B + beta C of csr, by rows: "warp_per_row", "row" and "sequential".
//
//   A: m x l, B: l x n, C: m x n, whose structure (indptr, indices) the plan has: row i of C is the sum of A[i, k]
//   times row k of B.
//
// `lanes` threads take a row of C; they walk k in order and share out row k of B, whose columns are distinct, so that
// no two of them meet on a value of C, found by bisection. Lanes read neighbouring entries of B and add to C where they
// find them, in the caches. A warp a row is the default: with one thread, neighbours read what lies apart.
// "sequential" is the slow, obvious reference. No atomics: the same bits on every run.
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
        at =
            bisect(at, end, [&](int64 g) { return indices[g] < column; });  // columns ascend: a later one is further on
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
struct Row : CsrMatmul<Workers::row, U, V> {};
template <class U, class V>
struct Warp : CsrMatmul<Workers::warp, U, V> {};
template <class U, class V>
struct One : CsrMatmul<Workers::one, U, V> {};

}  // namespace

MatmulRow multiply_by_warp() { return {"warp_per_row", every_pair<Warp, MatmulKernel>()}; }
MatmulRow multiply_by_row() { return {"row", every_pair<Row, MatmulKernel>()}; }
MatmulRow multiply_by_one() { return {"sequential", every_pair<One, MatmulKernel>()}; }

}  // namespace diagsparse::cuda::rows
