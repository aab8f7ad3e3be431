// Tridiagonal systems whose members are interleaved: element i of member m is element i * count + m of an array.
//
//   solve_members   two threads eliminate the rows of a member, from the first one down and from the last one up, and
//                   meet in the middle. A warp processes 32 members, so all arrays are read in order
//   pivot_members   elimination with pivoting by rows, a thread for each member
//
//   rows of a member:   0 1 2 3 | 4 5 6        warp 0:  0 1 2 3  down, then  3 2 1 0  up
//                                              warp 1:  6 5 4    up,   then  4 5 6    down
//
// Elimination brings a row to the form x[k] = g[k] - h[k] x[k + 1], where k counts the rows from an end of the member.
// g and h are stored in shared memory, or in global memory if the members are too long for it. The next rows are read
// into registers before the current ones are eliminated. Every run gives the same bits.
#pragma once

#include "kernels/tridiagonal/residual.cuh"

namespace diagsparse::cuda::tridiagonal {

constexpr int kLanes = 32;  // members of a block

// The diagonals of `count` members of n rows; (i + 1, i) and (i, i + 1) are lower[i * count + m] and
// upper[i * count + m]. nullptr: zeros.
template <class T>
struct Members {
  const T *lower, *main, *upper;
  int64 n, count;
};

// Rows of a member from one of its ends on: `before` connects a row to the one that was eliminated before it.
template <class T>
struct Sweep {
  static constexpr int M = sizeof(T) == 16 ? 4 : 8;  // rows that are read together
  const T *before, *main, *after, *rhs;              // of row 0
  int64 step;                                        // elements to the next row
  int rows;
  bool connected;  // whether the last one has a row after it

  struct Rows {
    T before[M], main[M], after[M], rhs[M];
  };
  __device__ Rows read(int first) const {
    Rows r;
#pragma unroll
    for (int j = 0; j < M; ++j) {
      const int k = first + j;
      const int64 at = k * step;
      const bool inside = k < rows;
      r.main[j] = inside ? load_once(main + at) : convert<T>(1);
      r.rhs[j] = inside ? load_once(rhs + at) : T{};
      r.before[j] = inside && k > 0 && before ? load_once(before + at) : T{};
      r.after[j] = inside && (k + 1 < rows || connected) && after ? load_once(after + at) : T{};
    }
    return r;
  }
};
template <class T>
__device__ Sweep<T> sweep(const Members<T>& a, const T* b, int64 member, bool up) {
  const int64 step = up ? -a.count : a.count, first = member + (up ? (a.n - 1) * a.count : 0);
  const T* const towards_first = a.lower ? a.lower + first - a.count : nullptr;
  const T* const towards_last = a.upper ? a.upper + first : nullptr;
  const int below = static_cast<int>(a.n / 2), rows = up ? below : static_cast<int>(a.n) - below;
  return {up ? towards_last : towards_first,
          a.main + first,
          up ? towards_first : towards_last,
          b + first,
          step,
          rows,
          below > 0};
}

// x = A^-1 b; x may be b. `on_chip`: g and h are in shared memory; else g is in x, and h in `scratch`, like x.
template <class T, bool on_chip>
__global__ void __launch_bounds__(2 * kLanes)
    solve_members(const Members<T> a, const T* b, T* x, T* scratch, int* weak) {
  constexpr int M = Sweep<T>::M;
  extern __shared__ uint4 memory[];
  __shared__ T ends[2][2][kLanes];
  const int lane = static_cast<int>(threadIdx.x % kLanes), half = static_cast<int>(threadIdx.x / kLanes);
  const int64 member = static_cast<int64>(blockIdx.x) * kLanes + lane;
  const bool exists = member < a.count;
  const Sweep<T> s = sweep(a, b, exists ? member : a.count - 1, half == 1);
  T* const own = x + (s.rhs - b);
  T* const on_chip_g = reinterpret_cast<T*>(memory) + half * (a.n - a.n / 2) * kLanes + lane;
  T* const g_of = on_chip ? on_chip_g : own;
  T* const h_of = on_chip ? on_chip_g + a.n * kLanes : scratch + (s.rhs - b);
  const int64 step = on_chip ? kLanes : s.step;

  bool strong = true;
  T g{}, h{};
  typename Sweep<T>::Rows next = s.read(0);
  for (int first = 0; first < s.rows; first += M) {
    const typename Sweep<T>::Rows r = next;
    next = s.read(first + M);
#pragma unroll
    for (int j = 0; j < M; ++j) {
      if (first + j >= s.rows) break;
      const T inverse = unchecked_reciprocal(less_product(r.main[j], r.before[j], h));
      g = less_product(r.rhs[j], r.before[j], g) * inverse;
      h = r.after[j] * inverse;
      strong = strong && nonzero(inverse) && small(h) && small(r.before[j] * inverse);
      if (on_chip || exists) {
        g_of[(first + j) * step] = g;
        h_of[(first + j) * step] = h;
      }
    }
  }
  ends[half][0][lane] = g;
  ends[half][1][lane] = h;
  __syncthreads();
  const T main = less_product(convert<T>(1), h, ends[1 - half][1][lane]);
  strong = strong && magnitude(main) >= kLeastPivot;
  if (!strong && exists) *weak = 1;
  if (!exists) return;
  T value = less_product(g, h, ends[1 - half][0][lane]) * unchecked_reciprocal(main);
  if (s.rows > 0) store_once(own + (s.rows - 1) * s.step, value);
  for (int last = s.rows - 2; last >= 0; last -= M) {
    T gs[M], hs[M];
#pragma unroll
    for (int j = 0; j < M; ++j) {
      if (last - j < 0) break;
      gs[j] = g_of[(last - j) * step];
      hs[j] = h_of[(last - j) * step];
    }
#pragma unroll
    for (int j = 0; j < M; ++j) {
      if (last - j < 0) break;
      value = less_product(gs[j], hs[j], value);
      store_once(own + (last - j) * s.step, value);
    }
  }
}

// The same with pivoting. first, second: scratch like x, for the elements of the upper triangle next to its main
// diagonal, which is 1. *singular becomes the smallest member * n + row with a pivot of zero.
template <class T>
__global__ void __launch_bounds__(kBlock)
    pivot_members(const Members<T> a, const T* b, T* x, T* first, T* second, unsigned long long* singular) {
  const int64 member = thread_index(), count = a.count;
  if (member >= count) return;
  const auto element = [&](const T* of, int64 row) {
    return of && row + 1 < a.n ? load(of + row * count + member) : T{};
  };
  T main = load(a.main + member), above = element(a.upper, 0), far{}, rhs = b[member];
  for (int64 i = 0; i < a.n; ++i) {
    const int64 at = i * count + member;
    const bool more = i + 1 < a.n;
    const T below = element(a.lower, i), next_main = more ? load(a.main + at + count) : T{};
    const T next_above = element(a.upper, i + 1), next_rhs = more ? b[at + count] : T{};
    const bool exchange = magnitude(below) > magnitude(main);
    const T pivot = exchange ? below : main, other = exchange ? main : below;
    if (is_zero(pivot)) atomicMin(singular, static_cast<unsigned long long>(member * a.n + i));
    const T inverse = unchecked_reciprocal(pivot), factor = other * inverse;
    const T q = exchange ? next_main : above, r = exchange ? next_above : far, y = exchange ? next_rhs : rhs;
    first[at] = q * inverse;
    second[at] = r * inverse;
    x[at] = y * inverse;
    main = less_product(exchange ? above : next_main, factor, q);
    above = less_product(exchange ? far : next_above, factor, r);
    rhs = less_product(exchange ? rhs : next_rhs, factor, y);
    far = T{};
  }
  T one{}, two{};  // the values of the two rows below
  for (int64 i = a.n - 1; i >= 0; --i) {
    const int64 at = i * count + member;
    const T value = less_product(less_product(x[at], first[at], one), second[at], two);
    x[at] = value;
    two = one;
    one = value;
  }
}

}  // namespace diagsparse::cuda::tridiagonal
