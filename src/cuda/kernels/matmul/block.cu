// Kernel "block" of dia, hm and cdm: C = alpha op(A) op(B) + beta C, planned from the offset sumset.
//
//   op(A): m x l, op(B): l x n, C: m x n, any of the layouts.  sums: one for each diagonal of C, rows first <= i < last
//   of it at c[out + i].  terms: the pairs of diagonals that meet on it: a[u + i] b[v + i], for first <= i < last.
//   orders: those of A B; in a plan of A B + B A or A B - B A also those of B A, added up after them.
//
// A block takes a run of rows of all diagonals of C, or of some of them. Its warps take a diagonal each, then the next
// that is free. A thread keeps a few of its rows in registers, iterates over the pairs, and writes each value once.
//
//                  diagonals of C
//     rows i0     | 0 1 2 3 ... |     All of the block's diagonals read the same rows of A, and many the same of B: so
//     ... of C    | a warp each |     most of what they read is in the multiprocessor's own cache.
//
// It wins from two million multiply-adds on where nothing reuses values in registers: scattered diagonals, narrow
// bands, grids (choice.cpp). It does what others refuse: any types, any layouts. A sum adds up in the order of A's
// offsets: the same bits on every run, whichever warp it falls to.
#include "device/resident.cuh"
#include "device/values.cuh"
#include "kernels/diagonals/kernels.hpp"

namespace diagsparse::cuda::matmul {

namespace {

// Warps of a block at most. A thread has 64 registers then, room for all that it reads of a pair: it waits for that
// once. (The compiler is told that one block is enough, or it takes 56 of them and has threads wait twice: 5-point
// stencil squared 56 us, with 64 48.)
constexpr int kMostWarps = 32;

// Rows of a diagonal that a thread takes: 64 bytes of them, so that loads enough are on their way.
template <class T>
constexpr int kEach = 64 / sizeof(T);

// Rows first <= x < last, of a block's.
struct Rows {
  int first, last;

  __device__ Rows(int64 begin, int64 end, int64 i0, int count)
      : first(static_cast<int>(min(max(begin - i0, int64(0)), int64(count)))),
        last(static_cast<int>(min(max(end - i0, int64(0)), int64(count)))) {}
  __device__ bool none() const { return first >= last; }
  __device__ bool all(int count) const { return first == 0 && last == count; }
  __device__ bool holds(int x) const { return x >= first && x < last; }
};

// Blocks that share rows take neighbouring diagonals where C stores most offsets of its range: neighbours read the same
// windows of B. (200 random diagonals, n = 10^4: 490 us in turns, 446 by 96 neighbours; 300: 1084 and 930.) Elsewhere
// they take turns, so that none has all of the short ones. (80 random diagonals, n = 10^5: 978 and 1102 us.)
constexpr int kNeighbours = 96;

// The grid has the runs of rows across and the blocks that share one down, for neighbours the other way round.
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
      Term on_its_way = t != end ? *t : Term{};
      while (t != end) {
        const Term term = on_its_way;
        if (++t != end) on_its_way = *t;
        const Rows met(term.first, term.last, i0, rows);
        if (met.none()) continue;
        const U* const left = a_rows + term.u;
        const V* const right = b_rows + term.v;
        if (met.all(rows)) {
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
          if (!met.holds(lane + 32 * r)) continue;
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

// Warps of a block. Few diagonals need many blocks; many are read by all warps at once. (5-point stencil squared, 13
// diagonals: 8 warps take 49 us, 16 take 62. Heisenberg chain of 16 sites, 399: 16 take 80, 8 take 104. 80 random ones,
// 2615: 32 take 550, 16 take 680.)
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
    const int64 runs = ceil_div(plan.rows, 32 * kEach<T>);
    // Where there are few runs of rows, several blocks share the diagonals of one: three blocks a multiprocessor.
    const int64 wanted = 3 * limits<kernel>().multiprocessors;
    const int64 shares =
        std::clamp<int64>(wanted / std::max<int64>(1, runs), 1, std::clamp<int64>(ceil_div(count, warps), 1, 65535));
    if constexpr (std::is_same_v<U, V> && std::is_floating_point_v<U>) {  // as for "staged"
      if (shares > 1 && count > kNeighbours && density_of(plan) >= 0.5) {
        return launch_with(block_rows<true, U, V>, ceil_div(count, kNeighbours), runs);
      }
    }
    launch_with(kernel, runs, shares);
  }
};

void prepare(const Plan& plan) { ResidentOrders{plan}; }

}  // namespace

double density_of(const Plan& plan) {
  const std::vector<Span>& spans = layout_of(plan.c).spans;
  if (spans.empty()) return 0;
  return static_cast<double>(spans.size()) / static_cast<double>(spans.back().offset - spans.front().offset + 1);
}

MatmulRow block() {
  return {.name = "block", .typed = every_pair<BlockMatmul, MatmulKernel>(), .prepare = prepare, .both_orders = true};
}

}  // namespace diagsparse::cuda::matmul
