// Kernel "block": C = alpha op(A) op(B) + beta C, and the masks of C.
//
//   A, B, C: hollow diagonals (formats/mdia.hpp); core/hollow_products.hpp says what meets.
//
// A block of threads takes 32 rows of C, its warps every eighth of C's diagonals, a lane a row. The lanes look at the
// masks of 32 pairs of diagonals at a time; of each pair that meets, a lane multiplies the elements of its row, and
// adds to a sum in a register. Each value of C is written once. A pair costs two reads of values in L1 or L2, which is
// what it waits for. The same bits on every run. Bytes at least: A, B and C.
#include "kernels/mdia/hollow.cuh"

namespace diagsparse::cuda::hollow {

namespace {

constexpr int kWarps = kBlock / 32;

// A warp takes a block of rows of C. For one diagonal of A the diagonals of C are all different ones.
__global__ void __launch_bounds__(kBlock)
    find_masks(const HollowOperand<char> a, const HollowDiagonal* of_a, int count_a, const HollowOperand<char> b,
               const HollowDiagonal* of_b, int count_b, const std::int32_t* to, int64 blocks, int64 diagonals,
               Mask* mask, unsigned long long* multiply_adds) {
  const int64 block = thread_index() / 32;
  if (block >= blocks) return;
  const int lane = threadIdx.x % 32;
  unsigned long long terms = 0;
  for (int i = 0; i < count_a; ++i) {
    const HollowDiagonal left = of_a[i];
    const Mask rows = a.mask(left, kMaskRows * block);
    if (rows == 0) continue;
    for (int j = lane; j < count_b; j += 32) {
      const std::int32_t target = to[static_cast<int64>(i) * count_b + j];
      if (target < 0) continue;
      const Mask both = rows & b.mask(of_b[j], kMaskRows * block + left.offset);
      if (both == 0) continue;
      mask[block * diagonals + target] |= both;
      terms += __popc(both);
    }
    __syncwarp();
  }
  for (int step = 16; step > 0; step /= 2) terms += __shfl_down_sync(~0u, terms, step);
  if (lane == 0 && terms > 0) atomicAdd(multiply_adds, terms);
}

// A thread takes a column of the masks, and every gridDim.y-th block.
__global__ void __launch_bounds__(kBlock) mark_columns(const Mask* mask, int64 blocks, int64 diagonals, int* used) {
  const int64 d = thread_index();
  if (d >= diagonals) return;
  Mask any = 0;
  for (int64 b = blockIdx.y; b < blocks; b += gridDim.y) any |= mask[b * diagonals + d];
  if (any != 0) used[d] = 1;  // stores race, all with the same value
}

__global__ void __launch_bounds__(kBlock)
    copy_columns(const Mask* from, int64 blocks, int64 diagonals, const std::int64_t* kept, int64 count, Mask* to) {
  const int64 at = thread_index();
  if (at < blocks * count) to[at] = from[at / count * diagonals + kept[at % count]];
}

// A pair of diagonals of A and B.
struct Pair {
  std::int32_t a, b;
};

template <class U, class V>
__global__ void __launch_bounds__(kBlock)
    sum_pairs(const HollowOperand<U> a, const HollowDiagonal* of_a, const HollowOperand<V> b,
              const HollowDiagonal* of_b, const std::int64_t* begin, const Pair* pairs,
              const HollowOperand<Product<U, V>> c, bool real_first, Product<U, V>* out,
              const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  const int64 block = blockIdx.x, row = kMaskRows * block;
  const int lane = threadIdx.x % 32;
  for (int64 d = threadIdx.x / 32; d < c.a.diagonals; d += kWarps) {
    const Mask rows = c.a.mask[block * c.a.diagonals + d];
    if (rows == 0) continue;
    T sum{};
    for (std::int64_t base = begin[d]; base < begin[d + 1]; base += 32) {
      Pair mine{};
      Mask both = 0;
      if (base + lane < begin[d + 1]) {
        mine = pairs[base + lane];
        both = a.mask(of_a[mine.a], row);
        if (both != 0) both &= b.mask(of_b[mine.b], row + of_a[mine.a].offset);
      }
      for (unsigned some = __ballot_sync(~0u, both != 0); some != 0; some &= some - 1) {
        const int from = __ffs(static_cast<int>(some)) - 1;
        const HollowDiagonal left = of_a[__shfl_sync(~0u, mine.a, from)], right = of_b[__shfl_sync(~0u, mine.b, from)];
        if (__shfl_sync(~0u, both, from) >> lane & 1) {
          sum += multiply(a.value(left, a.place(left, row + lane)),
                          b.value(right, b.place(right, row + lane + left.offset)));
        }
      }
    }
    if constexpr (is_complex<T>) {
      if (real_first && d == 0) sum.im = 0;
    }
    if (rows >> lane & 1) update.one(out + c.place({0, static_cast<std::int32_t>(d), false, false}, row + lane), sum);
  }
}

// The pairs of each diagonal of C, in the order of A's offsets.
struct ResidentPairs {
  Array begin, pairs, of_a, of_b;

  template <class F>
  void visit(const F& f) const {
    f(begin);
    f(pairs);
    f(of_a);
    f(of_b);
  }
};

std::shared_ptr<ResidentPairs> resident_pairs(const Plan& plan) {
  return keep<ResidentPairs>(plan.kept, "pairs", [&] {
    const HollowWork& work = hollow_work(plan);
    const int64 diagonals = static_cast<const Indices&>(*plan.c).at("offsets").size();
    std::vector<std::int64_t> begin(diagonals + 1);
    for (const std::int32_t to : work.to) {
      if (to >= 0) ++begin[to + 1];
    }
    for (int64 d = 0; d < diagonals; ++d) begin[d + 1] += begin[d];
    std::vector<Pair> pairs(begin[diagonals]);
    std::vector<std::int64_t> next = begin;
    for (std::size_t i = 0; i < work.a.size(); ++i) {
      for (std::size_t j = 0; j < work.b.size(); ++j) {
        const std::int32_t to = work.target(i, j);
        if (to >= 0) pairs[next[to]++] = {static_cast<std::int32_t>(i), static_cast<std::int32_t>(j)};
      }
    }
    return std::make_shared<ResidentPairs>(ResidentPairs{upload(begin), upload(pairs), upload(work.a), upload(work.b)});
  });
}

template <class U, class V>
struct PairsOfDiagonals {
  using T = Product<U, V>;

  static void run(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
    const auto resident = resident_pairs(plan);
    launch("mdia pairs", sum_pairs<U, V>, dim3(static_cast<unsigned>(masks_along(plan.rows))), dim3(kBlock),
           operand<U>(a), resident->of_a.as<const HollowDiagonal>(), operand<V>(b),
           resident->of_b.as<const HollowDiagonal>(), resident->begin.as<const std::int64_t>(),
           resident->pairs.as<const Pair>(), operand<T>(c), is_complex<T> && real_diagonal_first(plan),
           c.values.as<T>(), Update<T>(alpha, beta));
  }
};

void prepare(const Plan& plan) {
  resident_pairs(plan);
  real_diagonal_first(plan);
  for (const StructurePtr& m : {plan.a, plan.b, plan.c}) hollow_places(*m);
}

}  // namespace

MatmulRow products_by_blocks() { return {"block", every_pair<PairsOfDiagonals, MatmulKernel>(), prepare}; }

}  // namespace diagsparse::cuda::hollow

namespace diagsparse {

using namespace cuda;
using namespace cuda::hollow;

Array masks_of_product(const Structure& left, const Structure& right, HollowWork& work, int64 rows, int64 diagonals) {
  const int64 blocks = masks_along(rows);
  Array mask = Array::zeros(DType::u32, {blocks, diagonals});
  const Array of_a = upload(work.a), of_b = upload(work.b), to = upload(work.to);
  const Scratch<unsigned long long> terms(1);
  CUDA_CALL(cudaMemsetAsync(terms.get(), 0, sizeof(unsigned long long), stream()));
  launch("find masks", find_masks, cuda::blocks(32 * blocks), dim3(kBlock),
         HollowOperand<char>{Mdia<char>::over(left, nullptr), nullptr}, of_a.as<const HollowDiagonal>(),
         static_cast<int>(work.a.size()), HollowOperand<char>{Mdia<char>::over(right, nullptr), nullptr},
         of_b.as<const HollowDiagonal>(), static_cast<int>(work.b.size()), to.as<const std::int32_t>(), blocks,
         diagonals, mask.as<Mask>(), terms.get());
  work.multiply_adds = static_cast<int64>(download(static_cast<const unsigned long long*>(terms.get()), 1)[0]);
  return mask;
}

std::vector<bool> columns_in_use(const Array& mask) {
  const int64 blocks = mask.shape.rows, diagonals = mask.shape.cols;
  const Scratch<int> used(diagonals);
  CUDA_CALL(cudaMemsetAsync(used.get(), 0, diagonals * sizeof(int), stream()));
  dim3 grid = cuda::blocks(diagonals);
  grid.y = static_cast<unsigned>(std::min<int64>(blocks, 256));
  launch("mark columns", mark_columns, grid, dim3(kBlock), mask.as<const Mask>(), blocks, diagonals, used.get());
  const std::vector<int> found = download(static_cast<const int*>(used.get()), diagonals);
  return {found.begin(), found.end()};
}

Array some_columns(const Array& mask, const std::vector<bool>& use) {
  std::vector<std::int64_t> kept;
  for (std::size_t d = 0; d < use.size(); ++d) {
    if (use[d]) kept.push_back(static_cast<std::int64_t>(d));
  }
  const auto count = static_cast<int64>(kept.size());
  Array made = Array::empty(DType::u32, {mask.shape.rows, count});
  const Array resident = upload(kept);
  launch("copy columns", copy_columns, cuda::blocks(made.size()), dim3(kBlock), mask.as<const Mask>(), mask.shape.rows,
         mask.shape.cols, resident.as<const std::int64_t>(), count, made.as<Mask>());
  return made;
}

}  // namespace diagsparse
