// Factors of bands: which kernels process which levels, and the verification of solutions.
#include <bit>
#include <limits>
#include <type_traits>

#include "core/diagonals.hpp"
#include "device/dense.cuh"
#include "kernels/banded/factors.hpp"
#include "kernels/banded/large_blocks.cuh"
#include "kernels/banded/residual.cuh"
#include "kernels/banded/small_blocks.cuh"
#include "kernels/banded/sweeps.cuh"

namespace diagsparse::cuda::banded {

namespace {

// Of a solution that is accepted, where solutions have to be verified: about that of elimination with pivoting.
template <class T>
constexpr double kMostError = 32 * std::numeric_limits<Real<T>>::epsilon();

constexpr int kMostSmall = 8;  // rows of a block whose rows are in the registers of lanes

// Calls f.operator()<B>() for the small blocks that have kernels, the first ones with at least so many rows.
template <class F>
auto with_small_block(int rows, const F& f) {
  if (rows <= 2) return f(std::integral_constant<int, 2>());
  if (rows <= 3) return f(std::integral_constant<int, 3>());
  if (rows <= 5) return f(std::integral_constant<int, 5>());
  return f(std::integral_constant<int, kMostSmall>());
}

// The rows of a block: an even number where pairs of elements are read.
int block_rows(int below, int above) {
  const int reach = std::max(below, above);
  if (reach > kMostSmall) return (reach + 1) / 2 * 2;
  return with_small_block(reach, [](auto rows) -> int { return rows; });
}

Groups groups_of(int b) {
  const int lanes = static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::min(b, 32))));
  return {b, lanes, b <= 8 ? 1 : b <= 16 ? 2 : b <= 32 ? 4 : 8};
}

unsigned grid_of(int64 items, int64 each) {
  return static_cast<unsigned>(std::min<int64>(ceil_div(items, each), 0x7fffffff));
}

template <class T, int B>
void eliminate_small_blocks(const Band<T>& a, const Levels<T>& levels, int count, int* weak) {
  constexpr int64 groups = kSmallThreads / SmallBlock<T, B>::kLanes;
  for (int l = 0; l < count; ++l) {
    const bool rest = levels.level[l].count <= groups;  // the remaining levels in one block of threads
    launch("banded_eliminate_small", eliminate_small<T, B>, dim3(grid_of(levels.level[l].count, groups)),
           dim3(kSmallThreads), a, levels, l, rest ? count : l + 1, weak);
    if (rest) break;
  }
}

// False if the device has too little shared memory.
template <class T, int Rows>
bool eliminate_large_blocks(const Band<T>& a, const Levels<T>& levels, int count, int b, int* weak) {
  const int elements = fetched_elements<T, Rows>(b);
  const int shared = static_cast<int>(sizeof(LargeShared<T>)) + elements * static_cast<int>(sizeof(T));
  const int threads = 32 * 3 * static_cast<int>(ceil_div(b, kColumns<T>));
  if (shared > limits<eliminate_large<T, Rows>>().shared) return false;
  for (int l = 0; l < count; ++l) {
    const Level<T>& level = levels.level[l];
    launch_shared("banded_eliminate_large", eliminate_large<T, Rows>,
                  dim3(grid_of(l == 0 ? level.eliminated() : level.count, 1)), dim3(threads), shared, a,
                  levels.level[std::max(0, l - 1)], level, l == 0, b, weak);
  }
  return true;
}

}  // namespace

Factors::Factors(const Matrix& a, Op op, int below, int above)
    : a_(a), op_(op), below_(below), above_(above), block_(block_rows(below, above)) {
  for (int64 count = ceil_div(a.rows, block_); count > 0; count = count == 1 ? 0 : (count + 1) / 2) {
    counts_.push_back(count);
  }
}

template <class T>
auto Factors::band() const {
  Band<T> band{a_.values.as<const T>(), a_.rows, below_, above_, op_.conjugated, {}};
  std::fill(std::begin(band.first), std::end(band.first), kAbsent);
  for (const Span& span : spans_of(a_.layout(), op_)) {
    if (-below_ <= span.offset && span.offset <= above_) band.first[span.offset + below_] = span.start - span.row;
  }
  return band;
}

template <class T>
auto Factors::levels(T* main) const {
  const int64 size = static_cast<int64>(block_) * block_;
  Levels<T> levels{};
  T *solved = solved_.as<T>(), *couplings = couplings_.as<T>();
  for (std::size_t l = 0; l < counts_.size(); ++l) {
    Level<T>& level = levels.level[l];
    level.count = counts_[l];
    level.solved = solved;
    solved += 3 * size * level.eliminated();
    const int64 left = level.count - level.eliminated();
    if (l == 0 || left == 0) continue;
    level.couplings = couplings;
    couplings += 2 * size * left;
    if (!main) continue;
    level.main = main;
    main += size * left;
  }
  return levels;
}

std::optional<Factors> Factors::of(const Matrix& a, Op op, int below, int above) {
  Factors result(a, op, below, above);
  if (a.rows == 0) return result;
  if (a.values.size() == 0) return std::nullopt;  // all elements are zero
  const bool good = with_value_type(a.dtype, [&](auto zero) { return result.compute<decltype(zero)>(); });
  return good ? std::optional<Factors>(std::move(result)) : std::nullopt;
}

template <class T>
bool Factors::compute() {
  const int64 size = static_cast<int64>(block_) * block_;
  int64 left = 0;
  for (std::size_t l = 1; l < counts_.size(); ++l) left += counts_[l] == 1 ? 0 : (counts_[l] + 1) / 2;
  constexpr int64 kPadding = kMostReach * 16;  // which kernels read behind a block
  solved_ = Array::empty(a_.dtype, {3 * size * counts_.front() + (block_ > kMostSmall ? kPadding : 0)});
  couplings_ = Array::empty(a_.dtype, {2 * size * left});
  const Scratch<T> main(size * left);
  const Scratch<int> weak(1);
  CUDA_CALL(cudaMemsetAsync(weak.get(), 0, sizeof(int), stream()));
  const Band<T> a = band<T>();
  const Levels<T> all = levels<T>(main.get());
  const int count = static_cast<int>(counts_.size());
  if (block_ <= kMostSmall) {
    with_small_block(block_,
                     [&](auto rows) { eliminate_small_blocks<T, decltype(rows)::value>(a, all, count, weak.get()); });
  } else if (block_ <= 32) {
    if (!eliminate_large_blocks<T, 1>(a, all, count, block_, weak.get())) return false;
  } else if (!eliminate_large_blocks<T, 2>(a, all, count, block_, weak.get())) {
    return false;
  }
  return download(static_cast<const int*>(weak.get()), 1).front() == 0 || verify<T>();
}

// Solves a random system, and again with a step of refinement if the first solution is not accurate.
template <class T>
bool Factors::verify() {
  const int64 n = a_.rows;
  const Array b = Array::empty(a_.dtype, {n}), x = Array::empty(a_.dtype, {n});
  launch("banded_write_random", tridiagonal::write_random<T>, blocks(n), dim3(kBlock), b.as<T>(), n);
  for (const bool refined : {false, true}) {
    refined_ = refined;
    solve_as<T>(flat(b), flat(x));
    const Scratch<tridiagonal::Largest> most(1);
    CUDA_CALL(cudaMemsetAsync(most.get(), 0, sizeof(tridiagonal::Largest), stream()));
    launch("banded_find_largest", find_largest<T>, dim3(grid_of(std::min<int64>(n, 4096 * kBlock), kBlock)),
           dim3(kBlock), band<T>(), b.as<const T>(), x.as<const T>(), most.get());
    const tridiagonal::Largest found = download(static_cast<const tridiagonal::Largest*>(most.get()), 1).front();
    if (found.backward_error() <= kMostError<T>) return true;
  }
  return false;
}

void Factors::solve(const Dense& b, const Dense& x) const {
  if (b.rows == 0 || b.cols == 0) return;
  for (const Array* array : {&solved_, &couplings_, &a_.values}) used_on_this_stream(*array);
  with_value_type(x.dtype, [&](auto zero) { solve_as<decltype(zero)>(b, x); });
}

template <class T>
void Factors::solve_as(const Dense& b, const Dense& x) const {
  if (!refined_) return solve_unrefined<T>(b, x);
  const int64 n = b.rows;
  const Array first = Array::empty(b.dtype, {n * b.cols}), rest = Array::empty(b.dtype, {n * b.cols});
  const Dense solution{first.data, b.dtype, n, b.cols, 1, n}, correction{rest.data, b.dtype, n, b.cols, 1, n};
  const dim3 grid = blocks_by_columns(n, b.cols);
  solve_unrefined<T>(b, solution);
  launch("banded_subtract_product", subtract_product<T>, grid, dim3(kBlock), band<T>(), b.as<const T>(), b.col_stride,
         first.as<const T>(), n, b.cols, rest.as<T>());
  solve_unrefined<T>(correction, x);
  launch("banded_add_columns", tridiagonal::add_columns<T>, grid, dim3(kBlock), first.as<const T>(), n, b.cols,
         x.as<T>(), x.col_stride);
}

template <class T>
void Factors::solve_unrefined(const Dense& b, const Dense& x) const {
  const bool one = b.cols == 1;
  const auto run = [&]<int B, int Rows>() {
    return one ? sweep_all<T, B, Rows, 1>(b, x) : sweep_all<T, B, Rows, 4>(b, x);
  };
  if (block_ <= kMostSmall)
    with_small_block(block_, [&](auto rows) { run.template operator()<decltype(rows)::value, 1>(); });
  else if (block_ <= 32) run.template operator()<0, 1>();
  else run.template operator()<0, 2>();
}

template <class T, int B, int Rows, int K>
void Factors::sweep_all(const Dense& b, const Dense& x) const {
  const Band<T> a = band<T>();
  const Levels<T> all = levels<T>(nullptr);
  const Groups groups = groups_of(block_);
  const Columns<T> columns{b.as<const T>(), x.as<T>(), b.col_stride, x.col_stride, b.cols};
  const unsigned grid_y = static_cast<unsigned>(std::min<int64>(ceil_div(b.cols, K), 65535));
  const auto run = [&](int64 count, int first, int last, int top, int bottom) {
    launch("banded_sweep", sweep<T, B, Rows, K>, dim3(grid_of(count, groups.count()), grid_y), dim3(kSweepThreads), a,
           all, groups, columns, first, last, top, bottom);
  };
  const int count = static_cast<int>(counts_.size());
  int parallel = 0;  // levels with more than one block of threads
  while (counts_[parallel] > std::max(1, groups.count())) ++parallel;
  for (int l = 0; l < parallel; ++l) run(l == 0 ? counts_[l] / 2 : counts_[l], l, l + 1, 0, 0);
  run(1, parallel, count, count, parallel);
  for (int l = parallel; l-- > 0;) run(counts_[l] / 2, 0, 0, l + 1, l);
}

}  // namespace diagsparse::cuda::banded
