// Kernel "row" of dia, hm and cdm: C = alpha op(A) op(B) + beta C, planned from the offset sumset.
//
//   op(A): m x l, op(B): l x n, C: m x n, any of the layouts.  sums: one for each diagonal of C, whose rows first <= i
//   < last are c[out + i].  terms: the pairs of diagonals whose product is on it: a[u + i] b[v + i], for first <= i <
//   last. orders: those of A B; in a plan of A B + B A or A B - B A also those of B A, which are added after them.
//
// A block processes a range of rows of one diagonal of C. A thread accumulates the sums of one or a few of these rows
// in registers, loops over the pairs, and writes each value once. Neighbouring threads read neighbouring elements of A
// and B, through the caches, once for each pair. It wins for small products and if there are few pairs per diagonal
// (choice.cpp), and supports what others reject: any types and layouts. The terms of a sum are added in the order of
// A's offsets, so every run gives the same bits.
#include "device/resident.cuh"
#include "device/values.cuh"
#include "kernels/diagonals/kernels.hpp"

namespace diagsparse::cuda::matmul {

namespace {

template <int Rows, class U, class V>
__global__ void __launch_bounds__(kBlock)
    diagonal_rows(const __grid_constant__ Orders orders, int64 count, const U* a, bool conj_a, const V* b, bool conj_b,
                  Product<U, V>* c, const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  for (int64 d = blockIdx.y; d < count; d += gridDim.y) {
    const Sum sum = orders.of[0].sums[d];
    const int64 first = sum.first + static_cast<int64>(blockIdx.x) * (kBlock * Rows) + threadIdx.x;
    T totals[Rows] = {};
    for (const OneOrder* of = orders.of; of != orders.of + orders.count; ++of) {
      if (orders.subtracted) change_sign(totals);
      for (const Term *t = of->terms + of->sums[d].terms, *end = of->terms + of->sums[d].terms_end; t != end; ++t) {
        const Term term = *t;
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
          const int64 i = first + r * kBlock;
          if (i >= term.first && i < term.last) {
            totals[r] +=
                multiply(conjugate_if(conj_a, load(a + term.u + i)), conjugate_if(conj_b, load(b + term.v + i)));
          }
        }
      }
    }
    if (orders.subtracted) change_sign(totals);
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      const int64 i = first + r * kBlock;
      if (i < sum.last) update.one(c + sum.out + i, totals[r]);
    }
  }
}

template <class U, class V>
struct RowMatmul {
  static void run(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
    const ResidentOrders orders(plan);
    // Small products need as many threads as possible; in large ones a thread reuses the list for several rows.
    if (plan.c->stored() < kSmall) multiply<1>(plan, orders, a, b, alpha, beta, c);
    else multiply<4>(plan, orders, a, b, alpha, beta, c);
  }

 private:
  static constexpr int64 kSmall = 1 << 21;  // values of C below which a product is small

  template <int Rows>
  static void multiply(const Plan& plan, const Orders& orders, const Matrix& a, const Matrix& b, Scalar alpha,
                       Scalar beta, Matrix& c) {
    using T = Product<U, V>;
    const int64 count = static_cast<int64>(diagonal_work(plan).sums.sums.size());
    const dim3 grid(blocks(std::min(plan.rows, plan.cols), Rows).x,
                    static_cast<unsigned>(std::min<int64>(count, 65535)));
    launch("matmul row", diagonal_rows<Rows, U, V>, grid, dim3(kBlock), orders, count, a.values.as<U>(),
           plan.op_a.conjugated, b.values.as<V>(), plan.op_b.conjugated, c.values.as<T>(), Update<T>(alpha, beta));
  }
};

}  // namespace

MatmulRow row() {
  return {
      .name = "row", .typed = every_pair<RowMatmul, MatmulKernel>(), .prepare = prepare_orders, .both_orders = true};
}

}  // namespace diagsparse::cuda::matmul
