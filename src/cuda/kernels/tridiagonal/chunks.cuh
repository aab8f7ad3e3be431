// The kernels of tridiagonal solves: a thread block processes a chunk of the rows. parts.cuh explains how.
//
//   reduce_chunks   how the first and the last row of a chunk depend on its own separator and the one before it
//   join_chunks     the tridiagonal system of the separators of all chunks, from these
//   solve_chunks    x, given the separators; and what is needed to verify x, while all of it is on the chip
//   join_largest    the same for the whole matrix
//
// Nothing is added atomically, so that every run gives the same bits.
#pragma once

#include "kernels/tridiagonal/parts.cuh"
#include "kernels/tridiagonal/residual.cuh"

namespace diagsparse::cuda::tridiagonal {

// Blocks that a multiprocessor has registers for.
template <class T>
constexpr int kBlocksEach = sizeof(T) == 16 ? 8 : 10;

// How the matrix is divided into chunks of `rows` rows, at most kChunk; in `separate` ones no element of the matrix
// connects two chunks.
struct Chunks {
  int64 count;
  int rows;
  bool separate;
};

// What elimination in the parts leaves for later solves, for each row; and in `separators` three arrays with an element
// for each thread of each chunk: the diagonals of the system of separators in a chunk.
template <class T>
struct Kept {
  T *pivots, *above, *separators;
};

// A chunk as the other chunks see it.
template <class T>
struct Ends {
  Line<T> first, last;  // of the interior rows
  Row<T> separator;
};

// Shared memory of a block.
template <class T>
struct Shared {
  T below[kThreads * (kRows<T> + 1)], main[kThreads * (kRows<T> + 1)], above[kThreads * (kRows<T> + 1)];
  T rhs[kThreads * (kRows<T> + 1)];
  Line<T> first[kThreads + 1];
  Separators<T> separators;
};
template <class T>
__device__ Shared<T>& shared_memory() {
  extern __shared__ uint4 memory[];
  return *reinterpret_cast<Shared<T>*>(memory);
}

// Reads the rows of this thread of a chunk.
template <class T>
__device__ void read_part(Part<T>& p, const Diagonals<T>& a, const T* b, int64 base, int rows, Shared<T>& shared) {
  if (a.stride > 0) {
    fetch_blocks(shared.below, shared.main, shared.above, a, base, rows);
  } else {
    fetch(shared.below, a.lower, base - 1, rows, a.n - 1, T{});
    fetch(shared.main, a.main, base, rows, a.n, convert<T>(1));
    fetch(shared.above, a.upper, base, rows, a.n - 1, T{});
  }
  fetch(shared.rhs, b, base, rows, a.n, T{});
  wait_for_fetches();
  take(p.below, shared.below);
  take(p.main, shared.main);
  take(p.above, shared.above);
  take(p.rhs, shared.rhs);
}

// The line of this thread's separator; `row` becomes its row in the system of the separators of the chunk.
template <class T, bool factored>
__device__ Line<T> solve_part(Part<T>& p, bool separate, Shared<T>& shared, Row<T>& row, bool& strong) {
  strong = p.template eliminate<factored>();
  const Line<T> first = p.first_row();
  strong = strong && (factored || (small(first.left) && small(first.right)));
  shared.first[threadIdx.x] = first;
  __syncthreads();
  const Line<T> after = threadIdx.x + 1 < kThreads ? shared.first[threadIdx.x + 1] : Line<T>{};
  if constexpr (factored) row.rhs = condensed(p.separator(), p.last_row(), after).rhs;
  else row = condensed(p.separator(), p.last_row(), after);
  return solve_in_block(row, separate, shared.separators, strong);
}

// b: nullptr for zeros. `keep` has null pointers if nothing is kept.
template <class T>
__global__ void __launch_bounds__(kThreads, kBlocksEach<T>)
    reduce_chunks(const Diagonals<T> a, const Chunks chunks, const T* b, const Kept<T> keep, Ends<T>* ends, int* weak) {
  Shared<T>& shared = shared_memory<T>();
  __shared__ Line<T> outer[2];  // the lines of the first and of the last separator inside of the chunk
  const int64 chunk = blockIdx.x, base = chunk * chunks.rows;
  const int t = static_cast<int>(threadIdx.x);
  Part<T> p;
  read_part(p, a, b, base, chunks.rows, shared);
  bool strong = true;
  Row<T> row;
  const Line<T> line = solve_part<T, false>(p, chunks.separate, shared, row, strong);
  if (!strong) *weak = 1;
  if (keep.pivots) {
    const int64 all = chunks.count * kThreads, at = chunk * kThreads + t;
    keep.separators[at] = row.below;
    keep.separators[all + at] = row.main;
    keep.separators[2 * all + at] = row.above;
    write(p.main, shared.rhs, keep.pivots, base, chunks.rows, a.n);
    write(p.above, shared.rhs, keep.above, base, chunks.rows, a.n);
  }
  if (!ends) return;
  if (t == 0) outer[0] = line;
  if (t == kThreads - 2) outer[1] = line;
  __syncthreads();
  if (t == 0) {
    const Line<T> f = shared.first[0], s = outer[0];
    ends[chunk].first = {f.constant + f.right * s.constant, f.left + f.right * s.left, f.right * s.right};
  }
  if (t == kThreads - 1) {
    const Line<T> l = p.last_row(), s = outer[1];
    ends[chunk].last = {l.constant + l.left * s.constant, l.left * s.left, l.right + l.left * s.right};
    ends[chunk].separator = p.separator();
  }
}

// A thread computes one row. lower and upper have an element less than main. If both ends of a chunk are coupled, so
// that rounding errors pass through it, solutions have to be verified.
template <class T>
__global__ void __launch_bounds__(kBlock)
    join_chunks(const Ends<T>* ends, int64 count, T* lower, T* main, T* upper, T* rhs, int* weak) {
  const int64 i = thread_index();
  if (i >= count) return;
  const Line<T> after = i + 1 < count ? ends[i + 1].first : Line<T>{};
  const Row<T> row = condensed(ends[i].separator, ends[i].last, after);
  if (magnitude(ends[i].first.right) + magnitude(ends[i].last.left) > kLeastCoupling) *weak = 1;
  if (i > 0) lower[i - 1] = row.below;
  main[i] = row.main;
  if (i + 1 < count) upper[i] = row.above;
  if (rhs) rhs[i] = row.rhs;
}

// The largest residual and so on of the rows of a chunk, of which shared memory still has the matrix and b. `x` are the
// rows of this thread, `before` is the one before them. The last row of the chunk is left to `join_largest`.
template <class T>
__device__ void find_largest_in_chunk(const T (&x)[kRows<T>], T before, int rows, Shared<T>& shared, Largest* largest) {
  constexpr int M = kRows<T>;
  __shared__ Largest of_warp[kWarps];
  const int t = static_cast<int>(threadIdx.x);
  shared.first[t].left = x[0];
  __syncthreads();
  const T after = t + 1 < kThreads ? shared.first[t + 1].left : T{};
  int most[4] = {};  // upper halves of the numbers, which have their order
#pragma unroll
  for (int k = 0; k < M; ++k) {
    if (t * M + k >= rows) continue;
    const int at = t * (M + 1) + k;
    const T below = shared.below[at], main = shared.main[at], above = shared.above[at], b = shared.rhs[at];
    T rest = less_product(less_product(b, main, x[k]), below, k > 0 ? x[max(k, 1) - 1] : before);
    rest = less_product(rest, above, k + 1 < M ? x[min(k + 1, M - 1)] : after);
    const Real<T> sizes[] = {magnitude(rest), magnitude(x[k]), magnitude(b),
                             magnitude(below) + magnitude(main) + magnitude(above)};
#pragma unroll
    for (int m = 0; m < 4; ++m) most[m] = max(most[m], upper_half(sizes[m]));
  }
  using R = Real<T>;
  Largest own{from_upper_half(most[0], R{}), from_upper_half(most[1], R{}), from_upper_half(most[2], R{}),
              from_upper_half(most[3], R{})};
  own.join_lanes();
  if (t % 32 == 0) of_warp[t / 32] = own;
  __syncthreads();
  if (t > 0) return;
  for (int w = 1; w < kWarps; ++w) own.join(of_warp[w]);
  *largest = own;
}

// *most becomes the largest values of all chunks, if *weak is set. A thread processes a chunk.
template <class T>
__global__ void __launch_bounds__(kBlock)
    join_largest(const Diagonals<T> a, const Chunks chunks, const T* b, const T* x, const Largest* largest,
                 const int* weak, Largest* most) {
  if (*weak == 0) return;
  const int64 chunk = thread_index(), end = (chunk + 1) * chunks.rows - 1;
  Largest own{};
  if (chunk < chunks.count) own = largest[chunk];
  if (end < a.n) own.add(a, b, x, end);
  own.join_lanes();
  if (threadIdx.x % 32 == 0) own.join_atomically(most);
}

// x = A^-1 b for the columns of b; `separators` has an element for each chunk and column (nullptr: separate chunks).
// `factored`: a.main and a.upper are kept.pivots and kept.above. Each block reads all of b before it writes to x. If
// *weak was set before, `largest` has what is needed to verify x afterwards, for each chunk (nullptr: not needed).
template <class T, bool factored>
__global__ void __launch_bounds__(kThreads, kBlocksEach<T>)
    solve_chunks(const Diagonals<T> a, const Chunks chunks, const T* kept_separators, const T* b, int64 b_stride,
                 int64 columns, const T* separators, T* x, int64 x_stride, Largest* largest, int* weak) {
  Shared<T>& shared = shared_memory<T>();
  const int64 chunk = blockIdx.x, base = chunk * chunks.rows;
  const int t = static_cast<int>(threadIdx.x);
  for (int64 column = blockIdx.y; column < columns; column += gridDim.y) {
    Part<T> p;
    read_part(p, a, b + column * b_stride, base, chunks.rows, shared);
    bool strong = true;
    Row<T> row;
    if constexpr (factored) {
      const int64 all = chunks.count * kThreads, at = chunk * kThreads + t;
      row.below = load_once(kept_separators + at);
      row.main = load_once(kept_separators + all + at);
      row.above = load_once(kept_separators + 2 * all + at);
    }
    const Line<T> line = solve_part<T, factored>(p, chunks.separate, shared, row, strong);
    if constexpr (!factored)
      if (!strong) *weak = 1;
    const T* given = separators ? separators + column * chunks.count + chunk : nullptr;
    const T before_chunk = given && chunk > 0 ? given[-1] : T{}, end_of_chunk = given ? *given : T{};
    const T own = line.constant + line.left * before_chunk + line.right * end_of_chunk;
    shared.first[t].constant = own;
    __syncthreads();
    const T before = t > 0 ? shared.first[t - 1].constant : before_chunk;
    T values[kRows<T>];
    p.substitute(before, own, values);
    if constexpr (!factored) {
      const int rows = static_cast<int>(min(static_cast<int64>(chunks.rows - 1), a.n - base));
      if (largest && *weak != 0) find_largest_in_chunk(values, before, rows, shared, largest + chunk);
    }
    write(values, shared.rhs, x + column * x_stride, base, chunks.rows, a.n);
  }
}

}  // namespace diagsparse::cuda::tridiagonal
