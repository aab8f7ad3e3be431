// Kernel "block" of dia, hm and cdm: C = alpha op(A) op(B) + beta C, planned from the offset sumset.
//
//   op(A): m x l, op(B): l x n, C: m x n, any of the layouts.  sums: one for each diagonal of C, whose rows first <= i
//   < last are c[out + i].  terms: the pairs of diagonals whose product is on it: a[u + i] b[v + i], for first <= i <
//   last. orders: those of A B; in a plan of A B + B A or A B - B A also those of B A, which are added after them.
//
// A block processes a range of rows of all diagonals of C, or of some of them. Each of its warps computes one diagonal
// at a time, and then takes the next one that is free. A thread holds a few rows in registers, loops over the pairs,
// and writes each value once.
//
//                  diagonals of C
//     rows i0     | 0 1 2 3 ... |     All diagonals of a block read the same rows of A, and many read the same rows of
//     ... of C    | a warp each |     B, so most reads are served by the L1 cache.
//
// It wins from two million multiply-adds on if no kernel can reuse values in registers: scattered diagonals, narrow
// bands, grids (choice.cpp). It supports what others reject: any types and layouts. The terms of a sum are added in the
// order of A's offsets, whichever warp computes it, so every run gives the same bits.
#include "device/resident.cuh"
#include "device/values.cuh"
#include "kernels/diagonals/kernels.hpp"

namespace diagsparse::cuda::matmul {

namespace {

// Most warps per block. Then a thread has 64 registers, enough for everything that it reads of a pair, so it waits only
// once per pair. (The launch bounds state one block per multiprocessor; otherwise the compiler uses 56 registers, and
// threads wait twice: 5-point stencil squared 56 us, with 64 48.)
constexpr int kMostWarps = 32;

// Rows of a diagonal per thread: 64 bytes of them, so that enough loads are in flight.
template <class T>
constexpr int kEach = 64 / sizeof(T);

// Rows first <= x < last, relative to the first row of a block.
struct Rows {
  int first, last;

  __device__ Rows(int64 begin, int64 end, int64 i0, int count)
      : first(static_cast<int>(min(max(begin - i0, int64(0)), int64(count)))),
        last(static_cast<int>(min(max(end - i0, int64(0)), int64(count)))) {}
  __device__ bool none() const { return first >= last; }
  __device__ bool all(int count) const { return first == 0 && last == count; }
  __device__ bool holds(int x) const { return x >= first && x < last; }
};

// How blocks with the same rows divide the diagonals. If C stores most offsets of its range, each block takes
// neighbouring diagonals, because these read the same ranges of B. (200 random diagonals, n = 10^4: 490 us if they
// alternate, 446 with 96 neighbours; 300: 1084 and 930.) Otherwise the blocks alternate, so that none has all of the
// short ones. (80 random diagonals, n = 10^5: 978 and 1102 us.)
constexpr int kNeighbours = 96;

// The ranges of rows are along x of the grid, and the blocks with the same range along y; with `Neighbours` it is the
// other way round.
template <bool Neighbours, class U, class V>
__global__ void __launch_bounds__(32 * kMostWarps, 1)
    block_rows(const __grid_constant__ Orders orders, int count, const U* a, bool conj_a, const V* b, bool conj_b,
               Product<U, V>* c, const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  constexpr int each = kEach<T>, rows = 32 * each;
  __shared__ int next;
  const int lane = threadIdx.x % 32;
  const int64 i0 = static_cast<int64>(Neighbours ? blockIdx.y : blockIdx.x) * rows;
  const U* const a_rows = a + i0 + lane;
  const V* const b_rows = b + i0 + lane;
  if (threadIdx.x == 0) next = 0;
  __syncthreads();
  for (;;) {
    int d = 0;
    if (lane == 0) d = atomicAdd(&next, 1);
    d = __shfl_sync(~0u, d, 0);
    if (Neighbours && d >= kNeighbours) return;
    d = Neighbours ? blockIdx.x * kNeighbours + d : d * gridDim.y + blockIdx.y;
    if (d >= count) return;
    const Sum& sum = orders.of[0].sums[d];
    const Rows stored(sum.first, sum.last, i0, rows);
    if (stored.none()) continue;
    T totals[each] = {};
    for (const OneOrder* of = orders.of; of != orders.of + orders.count; ++of) {
      if (orders.subtracted) change_sign(totals);
      const Term *t = of->terms + of->sums[d].terms, *const end = of->terms + of->sums[d].terms_end;
      Term prefetched = t != end ? *t : Term{};
      while (t != end) {
        const Term term = prefetched;
        if (++t != end) prefetched = *t;
        const Rows valid(term.first, term.last, i0, rows);
        if (valid.none()) continue;
        const U* const left = a_rows + term.u;
        const V* const right = b_rows + term.v;
        if (valid.all(rows)) {
          U lefts[each];
#pragma unroll
          for (int r = 0; r < each; ++r) lefts[r] = conjugate_if(conj_a, load(left + 32 * r));
          V rights[each];
#pragma unroll
          for (int r = 0; r < each; ++r) rights[r] = conjugate_if(conj_b, load(right + 32 * r));
#pragma unroll
          for (int r = 0; r < each; ++r) totals[r] += multiply(lefts[r], rights[r]);
          continue;
        }
#pragma unroll
        for (int r = 0; r < each; ++r) {
          if (!valid.holds(lane + 32 * r)) continue;
          totals[r] += multiply(conjugate_if(conj_a, load(left + 32 * r)), conjugate_if(conj_b, load(right + 32 * r)));
        }
      }
    }
    if (orders.subtracted) change_sign(totals);
    T* const out = c + sum.out + i0 + lane;
#pragma unroll
    for (int r = 0; r < each; ++r) {
      if (!stored.holds(lane + 32 * r)) continue;
      if (update.plain) store_once(out + 32 * r, totals[r]);
      else update.one(out + 32 * r, totals[r]);
    }
  }
}

// Warps per block. Few diagonals need many blocks; many are best read by all warps at once. (5-point stencil squared,
// 13 diagonals: 8 warps need 49 us, 16 need 62. Heisenberg chain of 16 sites, 399: 16 need 80, 8 need 104. 80 random
// ones, 2615: 32 need 550, 16 need 680.)
constexpr int warps_for(int64 diagonals) { return diagonals <= 64 ? 8 : diagonals <= 1024 ? 16 : kMostWarps; }

template <class U, class V>
struct BlockMatmul {
  static void run(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
    using T = Product<U, V>;
    const ResidentOrders orders(plan);
    const int count = static_cast<int>(sums_of(plan).sums.size()), warps = warps_for(count);
    const auto launch_with = [&](auto kernel, int64 across, int64 down) {
      launch("matmul block", kernel, dim3(static_cast<unsigned>(across), static_cast<unsigned>(down)), dim3(32 * warps),
             static_cast<Orders>(orders), count, a.values.as<U>(), plan.op_a.conjugated, b.values.as<V>(),
             plan.op_b.conjugated, c.values.as<T>(), Update<T>(alpha, beta));
    };
    constexpr auto kernel = block_rows<false, U, V>;
    const int64 ranges = ceil_div(plan.rows, 32 * kEach<T>);
    // If there are few ranges of rows, several blocks divide the diagonals of one: three blocks per multiprocessor.
    const int64 wanted = 3 * limits<kernel>().multiprocessors;
    const int64 splits =
        std::clamp<int64>(wanted / std::max<int64>(1, ranges), 1, std::clamp<int64>(ceil_div(count, warps), 1, 65535));
    if constexpr (std::is_same_v<U, V> && std::is_floating_point_v<U>) {  // the types of "staged"
      if (splits > 1 && count > kNeighbours && density_of(plan) >= 0.5) {
        return launch_with(block_rows<true, U, V>, ceil_div(count, kNeighbours), ranges);
      }
    }
    launch_with(kernel, ranges, splits);
  }
};

}  // namespace

double density_of(const Plan& plan) {
  const std::vector<Span>& spans = layout_of(plan.c).spans;
  if (spans.empty()) return 0;
  return static_cast<double>(spans.size()) / static_cast<double>(spans.back().offset - spans.front().offset + 1);
}

MatmulRow block() {
  return {.name = "block",
          .typed = every_pair<BlockMatmul, MatmulKernel>(),
          .prepare = prepare_orders,
          .both_orders = true};
}

}  // namespace diagsparse::cuda::matmul
