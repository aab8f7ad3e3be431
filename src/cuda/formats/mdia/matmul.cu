// Kernel "block": C = alpha op(A) op(B) + beta C.
//
//   A, B, C: masked diagonals (formats/mdia/layout.hpp); formats/mdia/products.hpp describes their products.
//
// The plan lists the pairs of diagonals of A and B, grouped by the diagonal of C to which their product belongs. A warp
// processes a block of 32 rows of C and all pairs, or some of them if C has few rows. First, each lane processes a
// pair: if its masks have rows in common, it lists the positions of the values. Then each lane processes a row: it
// loops over the list with the sum of one diagonal of C in a register, and loads the values of three pairs at once.
// Each value of C is written once. Every run gives the same bits. Bytes at least: A, B and C.
//
// H200, float64, Heisenberg chain of 18 sites squared: 0.21 ms, six times the time that its bytes need. L1 is busy for
// 0.8 of this time, because the diagonals +-1 to +-16 have pairs in every block, in a few rows each. Sums of a block of
// C in shared memory, and a lane for each value of C instead of each row, were slower.
#include "formats/mdia/masks.cuh"

namespace diagsparse::cuda::mdia {

namespace {

constexpr int kWarps = 4;  // warps per thread block
constexpr int kList = 64;  // pairs that are listed before they are multiplied
constexpr int64 kEnoughWarps = 8192;
constexpr int kMostParts = 8;
constexpr std::uint32_t kNotStored = ~0u;  // no position

// Pairs of diagonals of A and B, and the diagonal of C of each, in separate arrays so that reads are coalesced.
struct alignas(16) Both {
  std::int64_t a, b;
};
struct alignas(8) Rest {
  std::int32_t to;
  std::uint8_t shift_a, shift_b, conjugated_a, conjugated_b;
};
struct Pairs {
  const Both *blocks, *masks;
  const Rest* rest;
};

// A pair with rows in common: the windows of A and B, laid out so that a lane reads them with three loads, and the
// position in C's diagonal.
template <class U, class V>
struct alignas(16) PairWindows {
  const U* values_a;
  const V* values_b;
  Mask rows_a, rows_b;
  std::uint32_t split_a, split_b, jump_a, jump_b;
  Mask rows_c;
  std::uint32_t position_c;  // position of C's first value in this block

  __device__ Window<U> a() const { return {values_a, rows_a, split_a, jump_a}; }
  __device__ Window<V> b() const { return {values_b, rows_b, split_b, jump_b}; }
};

template <class T>
constexpr int kPairsTogether = sizeof(T) <= 8 ? 3 : 2;  // pairs whose values are loaded together
template <class T>
constexpr int kMinMatmulBlocks = sizeof(T) <= 8 ? 8 : 4;  // 64 registers per thread, or 128

// part: where the parts begin in the list of pairs; a part has all pairs of a diagonal of C.
template <class U, class V>
__global__ void __launch_bounds__(32 * kWarps, kMinMatmulBlocks<Product<U, V>>)
    sum_pairs(const MaskedOperand<U> a, const MaskedOperand<V> b, const Pairs pairs, const std::int64_t* part,
              int parts, const MaskedOperand<Product<U, V>> c, bool real_first, Product<U, V>* out,
              const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  constexpr int Unroll = kPairsTogether<T>;
  __shared__ PairWindows<U, V> lists[kWarps][kList + Unroll];
  const int64 warp = thread_index() / 32, block = warp / parts;
  if (block >= c.a.blocks()) return;
  const int lane = threadIdx.x % 32, p = static_cast<int>(warp % parts);
  const Mask lower = below(lane), mine = Mask{1} << lane;
  const int64 first_a = block * a.a.diagonals, first_b = block * b.a.diagonals, first_c = block * c.a.diagonals;
  PairWindows<U, V>* const list = lists[threadIdx.x / 32];
  T* const to = out + c.a.begin[block];
  // Whether the first diagonal in the block is the main diagonal of a Hermitian C.
  const bool real = is_complex<T> && real_first && c.a.mask[first_c] != 0;

  T sum{};
  Mask rows = 0;  // rows of the current diagonal of C; below, the position of its first value
  std::uint32_t position = kNotStored;
  const auto write = [&] {
    if ((rows & mine) == 0) return;
    if constexpr (is_complex<T>) {
      if (real && position == 0) sum.im = 0;
    }
    T* const at = to + position + __popc(rows & lower);
    if (update.plain) store_once(at, sum);
    else update.one(at, sum);
  };

  std::int64_t next = part[p];
  const std::int64_t end = part[p + 1];
  for (int count = 0; next < end;) {
    // Each lane processes a pair.
    bool nonempty = false;
    PairWindows<U, V> found;
    if (next + lane < end) {
      const Both blocks = pairs.blocks[next + lane], masks = pairs.masks[next + lane];
      const Rest rest = pairs.rest[next + lane];
      const Reach reach_a{blocks.a, masks.a, rest.shift_a, rest.conjugated_a};
      const Reach reach_b{blocks.b, masks.b, rest.shift_b, rest.conjugated_b};
      const LoadedMasks left(a.a, reach_a, block, first_a), right(b.a, reach_b, block, first_b);
      nonempty = (left.rows & right.rows) != 0;
      if (nonempty) {
        const Window<U> l = window(a, left, reach_a);
        const Window<V> r = window(b, right, reach_b);
        found = {l.values,
                 r.values,
                 l.rows,
                 r.rows,
                 l.split,
                 r.split,
                 l.jump,
                 r.jump,
                 c.a.mask[first_c + rest.to],
                 c.positions[first_c + rest.to]};
      }
    }
    const unsigned some = __ballot_sync(~0u, nonempty);
    if (nonempty) list[count + __popc(some & lower)] = found;
    count += __popc(some);
    next += 32;
    if (count <= kList - 32 && next < end) continue;

    // Each lane processes a row and all pairs of the list.
    if (lane < Unroll) list[count + lane].rows_a = 0, list[count + lane].position_c = kNotStored;
    __syncwarp();
    for (int first = 0; first < count; first += Unroll) {
      decltype(arithmetic(U{})) left[Unroll];
      decltype(arithmetic(V{})) right[Unroll];
      bool has[Unroll];
      std::uint32_t into[Unroll];
#pragma unroll
      for (int k = 0; k < Unroll; ++k) {
        const PairWindows<U, V> pair = list[first + k];
        has[k] = (pair.rows_a & pair.rows_b & mine) != 0;
        into[k] = pair.position_c;
        const U* const in_a = pair.a().position(lower);
        const V* const in_b = pair.b().position(lower);
        if (has[k]) {
          left[k] = pair.a().arithmetic_value(load(in_a));
          right[k] = pair.b().arithmetic_value(load(in_b));
        }
      }
#pragma unroll
      for (int k = 0; k < Unroll; ++k) {
        if (into[k] != position && into[k] != kNotStored) {  // the next diagonal of C
          write();
          rows = list[first + k].rows_c;
          position = into[k];
          sum = T{};
        }
        if (has[k]) sum += multiply(left[k], right[k]);
      }
    }
    __syncwarp();
    count = 0;
  }
  write();
}

// The pairs, by diagonals of C and in the order of A's offsets, and their parts.
struct ResidentPairs {
  Array blocks, masks, rest, part;
  int parts;

  Pairs pairs() const { return {blocks.as<const Both>(), masks.as<const Both>(), rest.as<const Rest>()}; }
  auto arrays() const { return std::tie(blocks, masks, rest, part); }
};

// `begin`: where the pairs of each diagonal of C begin.
std::vector<std::int64_t> parts_of(const std::vector<std::int64_t>& begin, int64 blocks) {
  const int64 most = std::clamp<int64>(ceil_div(kEnoughWarps, std::max<int64>(blocks, 1)), 1, kMostParts);
  std::vector<std::int64_t> part{0};
  for (int64 p = 1; p <= most; ++p) {
    const std::int64_t to = *std::ranges::lower_bound(begin, begin.back() * p / most);
    if (to > part.back()) part.push_back(to);
  }
  if (part.size() == 1) part.push_back(0);
  return part;
}

std::shared_ptr<ResidentPairs> resident_pairs(const Plan& plan) {
  return cached<ResidentPairs>(plan.cache, "pairs", [&] {
    const MaskedWork& work = masked_work(plan);
    const auto diagonals = [](const StructurePtr& m) { return static_cast<const Indices&>(*m).at("offsets").size(); };
    const int64 of_a = diagonals(plan.a), of_b = diagonals(plan.b), of_c = diagonals(plan.c);
    std::vector<std::int64_t> begin(of_c + 1);
    for (const std::int32_t to : work.to) {
      if (to >= 0) ++begin[to + 1];
    }
    for (int64 d = 0; d < of_c; ++d) begin[d + 1] += begin[d];
    std::vector<Both> blocks(begin[of_c]), masks(begin[of_c]);
    std::vector<Rest> rest(begin[of_c]);
    std::vector<std::int64_t> next = begin;
    for (std::size_t i = 0; i < work.a.size(); ++i) {
      const Reach a = reach(work.a[i], of_a);
      for (std::size_t j = 0; j < work.b.size(); ++j) {
        const std::int32_t to = work.target(i, j);
        if (to < 0) continue;
        const Reach b = reach(work.b[j], of_b, work.a[i].offset);
        const std::int64_t at = next[to]++;
        blocks[at] = {a.blocks, b.blocks};
        masks[at] = {a.masks, b.masks};
        rest[at] = {to, a.shift, b.shift, a.conjugated, b.conjugated};
      }
    }
    const std::vector<std::int64_t> part = parts_of(begin, masks_along(plan.rows));
    return std::make_shared<ResidentPairs>(
        ResidentPairs{upload(blocks), upload(masks), upload(rest), upload(part), static_cast<int>(part.size()) - 1});
  });
}

template <class U, class V>
struct PairsOfDiagonals {
  using T = Product<U, V>;

  static void run(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
    const auto resident = resident_pairs(plan);
    const int64 warps = masks_along(plan.rows) * resident->parts;
    launch("mdia pairs", sum_pairs<U, V>, dim3(static_cast<unsigned>(ceil_div(warps, kWarps))), dim3(32 * kWarps),
           operand<U>(a), operand<V>(b), resident->pairs(), resident->part.as<const std::int64_t>(), resident->parts,
           operand<T>(c), is_complex<T> && real_diagonal_first(plan), c.values.as<T>(), Update<T>(alpha, beta));
  }
};

void prepare(const Plan& plan) {
  resident_pairs(plan);
  real_diagonal_first(plan);
  for (const StructurePtr& m : {plan.a, plan.b, plan.c}) value_starts(*m);
}

}  // namespace

MatmulRow products_by_blocks() { return {"block", every_pair<PairsOfDiagonals, MatmulKernel>(), prepare}; }

}  // namespace diagsparse::cuda::mdia
