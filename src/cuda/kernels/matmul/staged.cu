// Kernel "staged" of dia, hm and cdm: C = alpha op(A) op(B) + beta C of many diagonals, of float64 or of float32.
//
//   op(A): m x l, op(B): l x n, C: m x n, any of the layouts.  tiles, stages: how C and its operands are divided
//   (stages.hpp).  pairs: those of each diagonal of C, a << 16 | b, in the order of A's offsets; b then decreases, so
//   the pairs of a stage are consecutive.
//
// A block computes a tile of C, a warp ten of its diagonals, and a thread a few rows of each, whose sums stay in
// registers. Stage after stage, the block copies diagonals of A and B into shared memory, with one bulk copy each
// (fetch.cuh), and every warp adds its pairs of them:
//
//     A's diagonals, the tile's rows      B's diagonals, the tile's rows and its span
//     [ a0 ........ ]                     [ b0 .................. ]
//     [ a1 ........ ]                     [ b1 .................. ]
//     [ a2 ........ ]
//
// A value is read from L2 once for each tile, and used for every diagonal of the tile to which it contributes. The
// kernel wins if C stores most offsets of its range and there are a dozen pairs or more per diagonal (choice.cpp),
// because "block" would read the same values again and again. The terms of a sum are added in the order of A's offsets,
// as in "block": every run gives the same bits, and both kernels give the same. Elements that are not stored are zero
// in shared memory. Therefore a sum that is not finite is recomputed from the stored pairs only.
//
// What limits its speed, and which variants are slower: docs/decisions/0015.
#include "device/resident.cuh"
#include "kernels/diagonals/kernels.hpp"
#include "kernels/matmul/stage.cuh"

namespace diagsparse::cuda::matmul {

namespace {

constexpr int kWarps = 16;
// Diagonals per warp: with the rows of a thread, 80 registers of sums.
constexpr int kDiagonals = 10;
// Bytes of a block's sums, which pass through shared memory if they need alpha, beta or a correction.
template <class T>
constexpr int kSums = kWarps* kDiagonals* kRows<T>* static_cast<int>(sizeof(T));

struct ResidentStages {
  Array sums, pairs, tiles, stages, a, b, above;
  int count = 0;  // number of tiles

  operator Lists() const {
    return {sums.as<const Sum>(),          pairs.as<const std::uint32_t>(),
            tiles.as<const Tile>(),        stages.as<const Stage>(),
            a.as<const Stored>(),          b.as<const Stored>(),
            above.as<const std::int32_t>()};
  }
  auto arrays() const { return std::tie(sums, pairs, tiles, stages, a, b, above); }
};

std::vector<Stored> stored_rows(const std::vector<Diagonal>& diagonals, int64 rows, int64 cols) {
  std::vector<Stored> all;
  all.reserve(diagonals.size());
  for (const Diagonal& d : diagonals) {
    const int64 first = first_row(d.shift);
    all.push_back({d.base, first, first + diagonal_length(rows, cols, d.shift), d.shift});
  }
  return all;
}

std::shared_ptr<ResidentStages> resident_stages(const Plan& plan, const TileShape& shape) {
  return cached<ResidentStages>(plan.cache, shape.item == 4 ? "staged 4" : "staged 8", [&] {
    auto result = std::make_shared<ResidentStages>();
    const Sums& sums = sums_of(plan);
    constexpr std::size_t most = 1 << 16;
    if (sums.a.size() >= most || sums.b.size() >= most || sums.terms() > INT32_MAX - 32) return result;
    const Stages cut = cut_into_stages(plan, shape);
    if (cut.tiles.empty()) return result;
    std::vector<std::uint32_t> pairs;
    pairs.reserve(sums.terms());
    for (const Sum& sum : sums.sums) {
      sums.for_each_pair(sum, [&](std::int32_t a, std::int32_t b) {
        pairs.push_back(static_cast<std::uint32_t>(a) << 16 | static_cast<std::uint32_t>(b));
      });
    }
    std::vector<std::int32_t> above;
    above.reserve(sums.sums.size());
    for (const Tile& tile : cut.tiles) {
      for (int d = tile.first; d < tile.last; ++d) {
        above.push_back(static_cast<std::int32_t>(layout_of(plan.c).spans[d].offset - tile.low));
      }
    }
    result->count = static_cast<int>(cut.tiles.size());
    result->sums = upload(sums.sums);
    result->pairs = upload(pairs);
    result->tiles = upload(cut.tiles);
    result->stages = upload(cut.stages);
    result->a = upload(stored_rows(sums.a, plan.rows, sums.inner));
    result->b = upload(stored_rows(sums.b, sums.inner, plan.cols));
    result->above = upload(above);
    return result;
  });
}

template <class T>
__global__ void __launch_bounds__(32 * kWarps, 1)
    staged_tiles(const __grid_constant__ Lists lists, const Source<T> a, const Source<T> b, T* c,
                 const __grid_constant__ Update<T> update, int tiles) {
  constexpr int diagonals = kDiagonals, each = kThreadRows<T>;
  extern __shared__ __align__(kSector) char shared[];
  __shared__ Copies copies;
  __shared__ Positions positions;
  __shared__ Tile tile;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int64 i0 = static_cast<int64>(blockIdx.x / tiles) * kRows<T>;
  if (threadIdx.x == 0) {
    copies.begin(blockDim.x);
    tile = lists.tiles[blockIdx.x % tiles];
  }
  __syncthreads();
  // Lane e holds the next pair of the warp's diagonal e, the end of its pairs, and its distance above the tile's first
  // diagonal.
  int next = 0, end = 0, shift = 0;
  bool stored = false;
  if (const int d = tile.first + lane * kWarps + warp; lane < diagonals && d < tile.last) {
    const Sum& sum = lists.sums[d];
    next = static_cast<int>(sum.terms);
    stored = sum.first < i0 + kRows<T> && sum.last > i0;
    end = stored ? static_cast<int>(sum.terms_end) : next;
    shift = static_cast<int>(sizeof(T)) * lists.above[d];
  }
  if (!__syncthreads_or(stored)) return;  // the tile is outside of the matrix
  const std::uint32_t own_bytes = sizeof(T) * lane;
  T totals[diagonals][each] = {};
  for (int n = tile.stage; n < tile.stage_end; ++n) {
    if (n > tile.stage) {  // all warps have finished the previous stage
      before_copies();
      __syncthreads();
    }
    const Stage stage = lists.stages[n];
    std::uint32_t first[diagonals];  // the next pairs of each diagonal, one per lane, loaded ahead
#pragma unroll
    for (int e = 0; e < diagonals; ++e) {
      const int t = __shfl_sync(~0u, next, e) + lane;
      first[e] = t < __shfl_sync(~0u, end, e) ? __ldg(lists.pairs + t) : 0;
    }
    start_stage(copies, positions, shared, lists, tile, stage, i0, a, b);
    copies.wait(n - tile.stage);
#pragma unroll
    for (int e = 0; e < diagonals; ++e) {
      int t = __shfl_sync(~0u, next, e);
      const int t_end = __shfl_sync(~0u, end, e), above = __shfl_sync(~0u, shift, e);
      std::uint32_t pair = first[e];
      for (;;) {
        const bool here = t + lane < t_end && static_cast<int>(pair & 0xffff) >= stage.b;
        std::uint32_t left = 0, right = 0;
        if (here) {
          left = positions.a[static_cast<int>(pair >> 16) - stage.a];
          right = positions.b[static_cast<int>(pair & 0xffff) - stage.b];
        }
        const int count = __popc(__ballot_sync(~0u, here));
        unsigned stored = __ballot_sync(~0u, left != 0 && right != 0);
        right += above;
        const auto add = [&](int of) {
          add_pair(totals[e], __shfl_sync(~0u, left, of) + own_bytes, __shfl_sync(~0u, right, of) + own_bytes,
                   std::make_integer_sequence<int, each>());
        };
        if (__popc(stored) == count) {
#pragma unroll 1
          for (int k = 0; k < count; ++k) add(k);
        } else {
          for (; stored != 0; stored &= stored - 1) add(__ffs(stored) - 1);
        }
        t += count;
        if (count < 32) break;
        pair = t + lane < t_end ? __ldg(lists.pairs + t + lane) : 0;
      }
      if (lane == e) next = t;
    }
  }
  bool non_finite = false;  // whether a sum is not finite
#pragma unroll
  for (int e = 0; e < diagonals; ++e) {
#pragma unroll
    for (int r = 0; r < each; ++r) non_finite |= !is_finite(totals[e][r]);
  }
  const bool careful = __syncthreads_or(non_finite) || !update.plain;
  if (!careful) {
#pragma unroll
    for (int e = 0; e < diagonals; ++e) {
      const int d = tile.first + e * kWarps + warp;
      if (d >= tile.last) return;
      const Sum sum = lists.sums[d];
      T* const out = c + sum.out + i0 + lane;
      const int64 first = sum.first - i0 - lane, last = sum.last - i0 - lane;
#pragma unroll
      for (int r = 0; r < each; ++r) {
        if (32 * r >= first && 32 * r < last) store_once(out + 32 * r, totals[e][r]);
      }
    }
    return;
  }
  // Through shared memory, so that this code exists once instead of once per sum.
  T* const own = reinterpret_cast<T*>(shared) + threadIdx.x;
#pragma unroll
  for (int e = 0; e < diagonals; ++e) {
#pragma unroll
    for (int r = 0; r < each; ++r) own[(e * each + r) * static_cast<int>(blockDim.x)] = totals[e][r];
  }
#pragma unroll 1
  for (int x = 0; x < diagonals * each; ++x) {
    const int d = tile.first + x / each * kWarps + warp;
    if (d >= tile.last) return;
    const Sum sum = lists.sums[d];
    const int64 i = i0 + lane + 32 * (x % each);
    if (i < sum.first || i >= sum.last) continue;
    T total = own[x * static_cast<int>(blockDim.x)];
    if (!is_finite(total)) total = stored_sum(lists, sum, i, a.values, b.values);
    update.one(c + sum.out + i, total);
  }
}

// Both operands have one real type; others are rare with so many diagonals, and not compiled.
template <class T, class>
struct StagedMatmul {
  static constexpr auto kernel = staged_tiles<T>;

  static int shared() { return limits<kernel>().shared / kSector * kSector; }
  static std::shared_ptr<ResidentStages> prepare(const Plan& plan) {
    return resident_stages(plan, {kRows<T>, kWarps * kDiagonals, sizeof(T), shared()});
  }
  static void run(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
    const auto lists = prepare(plan);
    const int64 blocks = ceil_div(plan.rows, kRows<T>) * lists->count;
    launch_shared("matmul staged", kernel, dim3(static_cast<unsigned>(blocks)), dim3(32 * kWarps), shared(),
                  static_cast<Lists>(*lists), Source<T>(a), Source<T>(b), c.values.as<T>(), Update<T>(alpha, beta),
                  lists->count);
  }
};

template <class T>
bool fits(const Plan& plan) {
  using Staged = StagedMatmul<T, T>;
  return Staged::shared() >= kSums<T> && Staged::prepare(plan)->count > 0;
}

const char* fallback(const Plan& plan, DType a, DType b) {
  const bool staged = a == b && ((a == DType::f64 && fits<double>(plan)) || (a == DType::f32 && fits<float>(plan)));
  return staged ? nullptr : "block";
}

}  // namespace

MatmulRow staged() {
  MatmulRow row{.name = "staged", .fallback = fallback};
  fill_cell<StagedMatmul, float, float>(row.typed);
  fill_cell<StagedMatmul, double, double>(row.typed);
  return row;
}

}  // namespace diagsparse::cuda::matmul
