// Factors of tridiagonal matrices by partitions: the systems of the separators, level by level.
#include <limits>

#include "device/dense.cuh"
#include "kernels/tridiagonal/factors.hpp"
#include "kernels/tridiagonal/residual.cuh"
#include "kernels/tridiagonal/weights.cuh"

namespace diagsparse::cuda::tridiagonal {

namespace {

constexpr int kFewWeights = 64;  // from each end of a chunk; stored first, and enough for most dominant matrices

template <class T>
Chunks chunks_of(int64 n, int64 block) {
  constexpr int64 most = kChunk<T>;
  if (n > most && block > most) return {ceil_div(n, most), static_cast<int>(most), false};
  const int64 rows = n <= most ? n : most / block * block;
  return {ceil_div(n, rows), static_cast<int>(rows), true};
}

template <class T>
Diagonals<T> diagonals(const Matrix& a) {
  return {values_or_null<T>(a.lower), values_or_null<T>(a.main), values_or_null<T>(a.upper), a.n, a.block, a.stride};
}

Matrix empty_matrix(DType dtype, int64 n) {
  return {Array::empty(dtype, {n - 1}), Array::empty(dtype, {n}), Array::empty(dtype, {n - 1}), n, n};
}

dim3 grid(const Chunks& chunks, int64 columns = 1) {
  return dim3(static_cast<unsigned>(chunks.count), static_cast<unsigned>(std::min<int64>(columns, 65535)));
}

// The shared memory of a kernel, which gets permission to use as much.
template <class T, auto kernel>
int shared_bytes() {
  limits<kernel>();
  return static_cast<int>(sizeof(Shared<T>));
}

// Whether x is accurate for each block of the matrix.
template <class T>
bool is_accurate(const Matrix& a, const T* b, const T* x) {
  if (a.block < a.n) return first_inaccurate<T>(diagonals<T>(a), a.n / a.block, b, x) < 0;
  return backward_error<T>(diagonals<T>(a), b, x) <= kMostError<T>;
}

template <class T>
void reduce(const Diagonals<T>& a, const Chunks& chunks, const T* b, const Kept<T>& keep, Ends<T>* ends, int* weak) {
  launch_shared("tridiagonal_reduce_chunks", reduce_chunks<T>, grid(chunks), dim3(kThreads),
                shared_bytes<T, reduce_chunks<T>>(), a, chunks, b, keep, ends, weak);
}

template <class T>
void join(const Ends<T>* ends, const Chunks& chunks, const Matrix& next, T* rhs, int* weak) {
  launch("tridiagonal_join_chunks", join_chunks<T>, blocks(chunks.count), dim3(kBlock), ends, chunks.count,
         values_or_null<T>(next.lower), values_or_null<T>(next.main), values_or_null<T>(next.upper), rhs, weak);
}

}  // namespace

struct Factors::Level {
  Matrix a;
  Chunks chunks;
  Array pivots, above, separators, weights;
  int weight_count = 0;  // for each end of a chunk

  // Launches the elimination, and returns the system of the separators, if there is one.
  template <class T>
  std::optional<Matrix> eliminate(int* weak) {
    const int64 n = a.n;
    chunks = chunks_of<T>(n, a.block);
    pivots = Array::empty(a.main.dtype, {n});
    above = Array::empty(a.main.dtype, {n});
    separators = Array::empty(a.main.dtype, {3 * kThreads * chunks.count});
    const Kept<T> keep{values_or_null<T>(pivots), values_or_null<T>(above), values_or_null<T>(separators)};
    if (chunks.separate) {
      reduce<T>(diagonals<T>(a), chunks, nullptr, keep, nullptr, weak);
      return std::nullopt;
    }
    const Scratch<Ends<T>> ends(chunks.count);
    reduce<T>(diagonals<T>(a), chunks, nullptr, keep, ends.get(), weak);
    Matrix next = empty_matrix(a.main.dtype, chunks.count);
    join<T>(ends.get(), chunks, next, nullptr, weak);
    return next;
  }

  template <class T>
  void weigh(int count, int* needed) {
    constexpr Real<T> least = std::numeric_limits<Real<T>>::epsilon() / 256;
    weight_count = count;
    weights = Array::empty(a.main.dtype, {2 * count * chunks.count});
    launch_shared("tridiagonal_weigh_rows", weigh_rows<T>, grid(chunks), dim3(kThreads),
                  shared_bytes<T, weigh_rows<T>>(), diagonals<T>(a).transposed(), chunks, least, count,
                  values_or_null<T>(weights), needed);
  }

  // Right-hand sides of the separators.
  template <class T>
  Array condensed(const Dense& b) const {
    Array rhs = Array::empty(b.dtype, {chunks.count * b.cols});
    const dim3 block(weight_count > kFewWeights ? kBlock : kFewWeights);
    launch("tridiagonal_condense", condense<T>, grid(chunks, b.cols), block, values_or_null<T>(weights), weight_count,
           chunks, b.rows, b.as<const T>(), b.col_stride, b.cols, values_or_null<T>(rhs));
    return rhs;
  }

  template <class T>
  void solve(const Dense& b, const T* given, const Dense& x) const {
    const Diagonals<T> factors{values_or_null<T>(a.lower), values_or_null<T>(pivots), values_or_null<T>(above), b.rows};
    launch_shared("tridiagonal_solve_chunks", solve_chunks<T, true>, grid(chunks, b.cols), dim3(kThreads),
                  shared_bytes<T, solve_chunks<T, true>>(), factors, chunks, values_or_null<T>(separators),
                  b.as<const T>(), b.col_stride, b.cols, given, x.as<T>(), x.col_stride, static_cast<Largest*>(nullptr),
                  static_cast<int*>(nullptr));
  }

  std::vector<const Array*> arrays() const { return {&pivots, &above, &separators, &weights}; }
};

std::optional<Factors> Factors::of(const Matrix& a) {
  Factors result;
  if (a.n == 0) return result;
  return with_value_type(a.main.dtype, [&](auto zero) -> std::optional<Factors> {
    using T = decltype(zero);
    constexpr int kMostLevels = 16;
    const Scratch<int> counters(kMostLevels + 1);  // the weights that each level needs; whether solutions are verified
    int *const needed = counters.get(), *const weak = needed + kMostLevels;
    CUDA_CALL(cudaMemsetAsync(needed, 0, (kMostLevels + 1) * sizeof(int), stream()));
    std::vector<std::shared_ptr<Level>> levels;
    for (std::optional<Matrix> next = a; next;) {
      levels.push_back(std::make_shared<Level>());
      levels.back()->a = *next;
      next = levels.back()->eliminate<T>(weak);
      if (next) levels.back()->weigh<T>(kFewWeights, needed + levels.size() - 1);
    }
    const std::vector<int> counts = download(static_cast<const int*>(needed), kMostLevels + 1);
    for (std::size_t l = 0; l < levels.size(); ++l) {
      constexpr int64 all = kChunk<T> - 1;
      const int64 count = std::min(all, ceil_div(counts[l], 32) * 32);
      if (count > 0) levels[l]->weigh<T>(static_cast<int>(count), needed);
      if (l > 0) levels[l]->a.main = levels[l]->a.upper = Array();  // not needed any more
    }
    result.levels_.assign(levels.begin(), levels.end());
    if (counts.back() != 0 && !result.verify<T>()) return std::nullopt;
    CUDA_CALL(cudaStreamSynchronize(stream()));  // other streams may use the factors
    return result;
  });
}

// Solves a random system, and again with a step of refinement if the first solution is not accurate.
template <class T>
bool Factors::verify() {
  const Matrix& a = levels_.front()->a;
  const Array b = Array::empty(a.main.dtype, {a.n}), x = Array::empty(a.main.dtype, {a.n});
  launch("tridiagonal_write_random", write_random<T>, blocks(a.n), dim3(kBlock), values_or_null<T>(b), a.n);
  for (const bool refined : {false, true}) {
    refined_ = refined;
    solve_as<T>(flat(b), flat(x));
    if (is_accurate<T>(a, values_or_null<T>(b), values_or_null<T>(x))) return true;
  }
  return false;
}

int64 Factors::nbytes() const {
  int64 bytes = 0;
  for (const auto& level : levels_) {
    for (const Array* array : level->arrays()) bytes += array->nbytes();
    if (level != levels_.front()) bytes += level->a.lower.nbytes();
  }
  return bytes;
}

void Factors::solve(const Dense& b, const Dense& x) const {
  if (b.rows == 0 || b.cols == 0) return;
  for (const auto& level : levels_) {
    for (const Array* array : level->arrays()) used_on_this_stream(*array);
    for (const Array* array : {&level->a.lower, &level->a.main, &level->a.upper}) used_on_this_stream(*array);
  }
  with_value_type(x.dtype, [&](auto zero) { solve_as<decltype(zero)>(b, x); });
}

template <class T>
void Factors::solve_as(const Dense& b, const Dense& x) const {
  const auto unrefined = [&](const Dense& given, const Dense& result) {
    std::vector<Array> separators;  // of each level but the last one: first their right-hand sides, then their values
    const auto dense = [&](std::size_t l) {
      const int64 rows = levels_[l - 1]->chunks.count;
      return Dense{separators[l - 1].data, given.dtype, rows, given.cols, 1, rows};
    };
    for (std::size_t l = 0; l + 1 < levels_.size(); ++l) {
      separators.push_back(levels_[l]->condensed<T>(l == 0 ? given : dense(l)));
    }
    for (std::size_t l = levels_.size(); l-- > 0;) {
      const T* values = l + 1 < levels_.size() ? separators[l].template as<T>() : nullptr;
      levels_[l]->solve<T>(l == 0 ? given : dense(l), values, l == 0 ? result : dense(l));
    }
  };
  if (!refined_) return unrefined(b, x);
  const int64 n = b.rows;
  const Array first = Array::empty(b.dtype, {n * b.cols}), rest = Array::empty(b.dtype, {n * b.cols});
  const Dense solution{first.data, b.dtype, n, b.cols, 1, n}, correction{rest.data, b.dtype, n, b.cols, 1, n};
  const dim3 grid = blocks_by_columns(n, b.cols);
  unrefined(b, solution);
  launch("tridiagonal_subtract_product", subtract_product<T>, grid, dim3(kBlock), diagonals<T>(levels_.front()->a),
         b.as<const T>(), b.col_stride, values_or_null<T>(first), n, b.cols, values_or_null<T>(rest));
  unrefined(correction, x);
  launch("tridiagonal_add_columns", add_columns<T>, grid, dim3(kBlock), values_or_null<T>(first), n, b.cols, x.as<T>(),
         x.col_stride);
}

namespace {

// Solves on one level and on those above it. b and x have one column; the elements of b are contiguous. `largest`: as
// in solve_chunks.
template <class T>
void solve_level(const Matrix& a, const Chunks& chunks, const T* b, T* x, Largest* largest, int* weak) {
  const Diagonals<T> matrix = diagonals<T>(a);
  Array separators;
  if (!chunks.separate) {
    separators = Array::empty(a.main.dtype, {chunks.count});
    const Scratch<Ends<T>> ends(chunks.count);
    reduce<T>(matrix, chunks, b, {}, ends.get(), weak);
    const Matrix next = empty_matrix(a.main.dtype, chunks.count);
    T* const values = values_or_null<T>(separators);
    join<T>(ends.get(), chunks, next, values, weak);
    solve_level<T>(next, chunks_of<T>(next.n, next.block), values, values, nullptr, weak);
  }
  launch_shared("tridiagonal_solve_chunks", solve_chunks<T, false>, grid(chunks), dim3(kThreads),
                shared_bytes<T, solve_chunks<T, false>>(), matrix, chunks, static_cast<const T*>(nullptr), b, int64{0},
                int64{1}, static_cast<const T*>(values_or_null<T>(separators)), x, int64{0}, largest, weak);
}

struct Verification {
  Largest most;
  int weak;
};

}  // namespace

bool solve_once(const Matrix& a, const Dense& b, const Dense& x) {
  if (b.rows == 0) return true;
  const Scratch<Verification> verification(1);
  CUDA_CALL(cudaMemsetAsync(verification.get(), 0, sizeof(Verification), stream()));
  Largest* const most = &verification.get()->most;
  int* const weak = &verification.get()->weak;
  return with_value_type(x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* const rhs = b.as<const T>();
    T* const solution = x.as<T>();
    const Chunks chunks = chunks_of<T>(a.n, a.block);
    const Scratch<Largest> largest(chunks.separate ? 0 : chunks.count);
    solve_level<T>(a, chunks, rhs, solution, chunks.separate ? nullptr : largest.get(), weak);
    if (!chunks.separate) {
      launch("tridiagonal_join_largest", join_largest<T>, blocks(chunks.count), dim3(kBlock), diagonals<T>(a), chunks,
             rhs, static_cast<const T*>(solution), static_cast<const Largest*>(largest.get()),
             static_cast<const int*>(weak), most);
    }
    const Verification found = download(static_cast<const Verification*>(verification.get()), 1).front();
    if (found.weak == 0) return true;
    if (!chunks.separate && a.block == a.n) return found.most.backward_error() <= kMostError<T>;
    return is_accurate<T>(a, rhs, static_cast<const T*>(solution));
  });
}

}  // namespace diagsparse::cuda::tridiagonal
