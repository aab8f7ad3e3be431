// Elimination in a tridiagonal matrix by a thread block, on which all kernels of this folder are based.
//
//   rows of a chunk, in parts of four:      thread 0   o o o s         o: interior rows, eliminated by the thread
//                                           thread 1   o o o s         s: separators, of which the threads of a warp
//                                           ...                           eliminate 31, and the first warp the others
//                                           last one   o o o S         S: the separator of the chunk
//
// A thread processes a part of kRows neighbouring rows. The interior ones depend only on the separators before and
// after them. What remains is a tridiagonal system of the separators, which the threads solve by parallel cyclic
// reduction with shuffles. There is no pivoting: `strong` becomes false where a pivot is small.
//
// All rows of a chunk are copied to shared memory at once, by asynchronous copies, which need no registers. There is
// one element of padding for each part, which avoids bank conflicts.
#pragma once

#include "device/launch.cuh"
#include "device/values.cuh"
#include "kernels/tridiagonal/arithmetic.cuh"

namespace diagsparse::cuda::tridiagonal {

constexpr int kWarps = 2, kThreads = 32 * kWarps;  // many small blocks compute while others wait for memory
template <class T>
constexpr int kRows = sizeof(T) == 16 ? 4 : 8;  // more would need more registers than there are
template <class T>
constexpr int kChunk = kThreads * kRows<T>;  // rows of a chunk

// A matrix of n rows; the elements (i + 1, i) and (i, i + 1) are lower[i] and upper[i]. nullptr: a diagonal of zeros.
// If `stride` is not 0, the matrix has diagonal blocks of `block` rows: element i of a diagonal of block m is element
// m * stride + i of the array. A row depends on the ones `step` rows before and after it, which is not 1 where members
// of a batch are interleaved; lower[i] and upper[i] then are the elements (i + step, i) and (i, i + step).
template <class T>
struct Diagonals {
  const T *lower, *main, *upper;
  int64 n, block = 0, stride = 0, step = 1;

  Diagonals transposed() const { return {upper, main, lower, n, block, stride, step}; }
};

// The elements of an array, nullptr if it has none.
template <class T>
T* values_or_null(const Array& a) {
  return a.size() > 0 ? a.as<T>() : nullptr;
}

// x = constant + left * (the unknown before) + right * (the unknown after).
template <class T>
struct Line {
  T constant, left, right;
};

// A row of a tridiagonal system.
template <class T>
struct Row {
  T below, main, above, rhs;
};

// The row of a separator in the system of the separators: `before` and `after` are the rows on both sides of it, which
// have been eliminated.
template <class T>
__device__ Row<T> condensed(const Row<T>& own, const Line<T>& before, const Line<T>& after) {
  const T main = less_product(own.main, own.below, minus(before.right));
  const T rhs = less_product(own.rhs, own.below, before.constant);
  return {own.below * before.left, less_product(main, own.above, minus(after.left)), own.above * after.right,
          less_product(rhs, own.above, after.constant)};
}

// ---- Parts ------------------------------------------------------------------------------------------------------
// *to = *from, without waiting.
template <class T>
__device__ void copy_later(T* to, const T* from) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(address), "l"(from), "n"(static_cast<int>(sizeof(T))));
}
// Calls f(k, i) for the rows i = thread + k * kThreads of a chunk, where k counts the rows of a thread.
template <class T, class F>
__device__ void for_each_row(const F& f) {
#pragma unroll
  for (int k = 0; k < kRows<T>; ++k) f(k, k * kThreads + static_cast<int>(threadIdx.x));
}
// The position of row threadIdx.x + k * kThreads in shared memory.
template <class T>
__device__ int padded(int k) {
  const int t = static_cast<int>(threadIdx.x);
  return t + t / kRows<T> + k * (kThreads + kThreads / kRows<T>);
}

// Copies the rows of a chunk, from `base` on, to shared memory without waiting; `other` from row `rows` of the chunk or
// row n of the array on, and before row 0. `data` may be nullptr.
template <class T>
__device__ void fetch(T* shared, const T* data, int64 base, int rows, int64 n, T other) {
  const int end = static_cast<int>(max(int64{0}, min(static_cast<int64>(rows), data ? n - base : 0)));
  const int begin = base < 0 ? static_cast<int>(-base) : 0;
  const T* from = data + base + threadIdx.x;
  for_each_row<T>([&](int k, int i) {
    T* const to = shared + padded<T>(k);
    if (i >= begin && i < end) copy_later(to, from + k * kThreads);
    else *to = other;
  });
}
// The same for the three diagonals of a matrix of blocks with a stride. Chunks of several blocks start with a block.
template <class T>
__device__ void fetch_blocks(T* below, T* main, T* above, const Diagonals<T>& a, int64 base, int rows) {
  const int64 member = base / a.block;
  const int first = static_cast<int>(base - member * a.block), block = static_cast<int>(a.block);
  const int end = static_cast<int>(min(static_cast<int64>(rows), a.n - base));
  const bool several = block < kChunk<T>;
  const float inverse = 1.0f / static_cast<float>(block);  // exact enough for rows of a chunk
  const int64 start = member * a.stride + first;
  for_each_row<T>([&](int k, int i) {
    const int to = padded<T>(k);
    const int passed = several ? static_cast<int>((static_cast<float>(i) + 0.5f) * inverse) : first + i >= block;
    const int row = first + i - passed * block;
    const int64 from = start + i + passed * (a.stride - block);
    const bool inside = i < end;
    if (inside) copy_later(main + to, a.main + from);
    else main[to] = convert<T>(1);
    if (inside && a.lower && row > 0) copy_later(below + to, a.lower + from - 1);
    else below[to] = T{};
    if (inside && a.upper && row + 1 < block) copy_later(above + to, a.upper + from);
    else above[to] = T{};
  });
}
inline __device__ void wait_for_fetches() {
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
}
// The rows of this thread's part.
template <class T>
__device__ void take(T (&v)[kRows<T>], const T* shared) {
#pragma unroll
  for (int k = 0; k < kRows<T>; ++k) v[k] = shared[threadIdx.x * (kRows<T> + 1) + k];
}
// Writes the rows of all parts from row `begin` of the chunk on to the rows of an array from `base` on.
template <class T>
__device__ void write(const T (&v)[kRows<T>], T* shared, T* data, int64 base, int rows, int64 n, int begin = 0) {
  constexpr int M = kRows<T>;
#pragma unroll
  for (int k = 0; k < M; ++k) shared[threadIdx.x * (M + 1) + k] = v[k];
  __syncthreads();
  const int end = static_cast<int>(min(static_cast<int64>(rows), n - base));
  T* own = data + base + threadIdx.x;
#pragma unroll
  for (int k = 0; k < M; ++k) {
    const int i = k * kThreads + static_cast<int>(threadIdx.x);
    if (i >= begin && i < end) store_once(own + k * kThreads, shared[i + i / M]);
  }
  __syncthreads();
}

// The rows of a thread. `eliminate` brings the interior rows to the form
//   x[k] = rhs[k] + left[k] * (the unknown before the part) - above[k] x[k + 1].
template <class T>
struct Part {
  static constexpr int M = kRows<T>, last = M - 2;  // the last interior row; M - 1 is the separator
  T below[M], main[M], above[M], rhs[M], left[M];

  // `factored`: main has the inverse pivots, and `above` is already divided by the pivots.
  template <bool factored>
  __device__ bool eliminate() {
    bool strong = true;
#pragma unroll
    for (int k = 0; k <= last; ++k) {
      if constexpr (!factored) {
        main[k] = unchecked_reciprocal(k > 0 ? less_product(main[k], below[k], above[k - 1]) : main[k]);
        above[k] = above[k] * main[k];
      }
      rhs[k] = (k > 0 ? less_product(rhs[k], below[k], rhs[k - 1]) : rhs[k]) * main[k];
      left[k] = minus((k > 0 ? below[k] * left[k - 1] : below[k]) * main[k]);
      if constexpr (!factored) strong = strong && nonzero(main[k]) && small(above[k]) && small(left[k]);
    }
    return strong;
  }
  __device__ Line<T> last_row() const { return {rhs[last], left[last], minus(above[last])}; }
  __device__ Line<T> first_row() const {
    Line<T> x = last_row();
#pragma unroll
    for (int k = last - 1; k >= 0; --k) {
      x = {less_product(rhs[k], above[k], x.constant), less_product(left[k], above[k], x.left),
           minus(above[k] * x.right)};
    }
    return x;
  }
  __device__ Row<T> separator() const { return {below[M - 1], main[M - 1], above[M - 1], rhs[M - 1]}; }
  // x, for the values of the separators before and at the end of the part.
  __device__ void substitute(T before, T own, T (&x)[M]) const {
    x[M - 1] = own;
#pragma unroll
    for (int k = last; k >= 0; --k)
      x[k] = less_product(less_product(rhs[k], left[k], minus(before)), above[k], x[k + 1]);
  }
};

// ---- Separators --------------------------------------------------------------------------------------------------
// Solves `count` rows, one for each lane, by parallel cyclic reduction; the unknowns before and after them remain.
template <class T>
__device__ Line<T> solve_in_warp(Row<T> row, int count, bool& strong) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  T inverse = unchecked_reciprocal(row.main), a = row.below * inverse, c = row.above * inverse, d = row.rhs * inverse;
  strong = strong && (lane >= count || (nonzero(inverse) && small(a) && small(c)));
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    if (step >= count) break;
    const T a_up = shuffled_up(a, step), c_up = shuffled_up(c, step), d_up = shuffled_up(d, step);
    const T a_down = shuffled_down(a, step), c_down = shuffled_down(c, step), d_down = shuffled_down(d, step);
    T main = convert<T>(1), next_a = a, next_c = c;
    if (lane >= step) {
      main = less_product(main, a, c_up);
      d = less_product(d, a, d_up);
      next_a = minus(a * a_up);
    }
    if (lane + step < count) {
      main = less_product(main, c, a_down);
      d = less_product(d, c, d_down);
      next_c = minus(c * c_down);
    }
    inverse = unchecked_reciprocal(main);
    a = next_a * inverse;
    c = next_c * inverse;
    d = d * inverse;
    strong = strong && (lane >= count || (magnitude(main) >= kLeastPivot && small(a) && small(c)));
  }
  return {d, minus(a), minus(c)};
}

template <class T>
struct Separators {  // in shared memory
  Line<T> first[kWarps], last[kWarps], solved[kWarps];
  Row<T> rows[kWarps];
};

// The separator of this thread, given the separators before and at the end of the chunk. `closed`: the last separator
// is not given, but solved for, too.
template <class T>
__device__ Line<T> solve_in_block(const Row<T>& row, bool closed, Separators<T>& shared, bool& strong) {
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int count = closed ? kWarps : kWarps - 1;
  const Line<T> line = solve_in_warp(row, 31, strong);
  if (lane == 0) shared.first[warp] = line;
  if (lane == 30) shared.last[warp] = line;
  if (lane == 31) shared.rows[warp] = row;
  __syncthreads();
  if (warp == 0) {
    const int w = min(lane, kWarps - 1);
    const Line<T> after = w + 1 < kWarps ? shared.first[w + 1] : Line<T>{};
    const Row<T> outer = condensed(shared.rows[w], shared.last[w], after);
    const Line<T> solved = solve_in_warp(outer, count, strong);
    if (lane < count) shared.solved[lane] = solved;
  }
  __syncthreads();
  const T zero{}, one = convert<T>(1);
  const Line<T> before = warp > 0 ? shared.solved[warp - 1] : Line<T>{zero, one, zero};
  const Line<T> own = warp < count ? shared.solved[warp] : Line<T>{zero, zero, one};
  if (lane == 31) return own;
  return {line.constant + line.left * before.constant + line.right * own.constant,
          line.left * before.left + line.right * own.left, line.left * before.right + line.right * own.right};
}

}  // namespace diagsparse::cuda::tridiagonal
