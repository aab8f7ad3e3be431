// The kernel "shared_x" of ellcsr: x in shared memory.
//
// y = alpha A x + beta y.
//   A: m x n, ellcsr.  x: n, y: m, both contiguous.
//
// Long rows read elements from all over x, many times more than x has, and caches deliver them one by one. Therefore x
// is divided into as few parts as fit into shared memory, one or two. A block loads a part of x and processes the
// entries of its columns in many rows:
//
//                 part 0          part 1
//     row 0    a a a a a a a  |  . . a . .       blocks of part 0     a warp per row
//     row 1    a a a a a a .  |  a . . . .       blocks of part 1     a warp per row
//
// The number of blocks of each part is proportional to its work. With narrow columns, a lane processes four
// neighbouring leading entries, or two of the rest, at once. If there are two parts, each has a sum for every row, and
// another kernel adds these. The order of a sum depends only on the matrix, so every run gives the same bits.
#pragma once

#include "device/bisection.cuh"
#include "device/dense.cuh"
#include "device/lanes.cuh"
#include "device/resident.cuh"
#include "device/values.cuh"
#include "formats/ellcsr/layout.hpp"

namespace diagsparse::cuda::ellcsr {

constexpr int kThreads = 1024;  // threads per block

// Neighbouring positions that a lane processes at once: more than one for narrow columns, for which widths are
// multiples of 4.
template <class I>
constexpr int kLeading = sizeof(I) < 4 ? 4 : 1;
template <class I>
constexpr int kFollowing = sizeof(I) < 4 ? 2 : 1;

// Where the second half of the columns begins in each row.
struct ResidentHalves {
  Array head, rest;           // int32 (m): leading positions before it; int64 (m): positions of the rest before it
  double leading, following;  // totals over all rows

  auto arrays() const { return std::tie(head, rest); }
};

template <class A>
__global__ void __launch_bounds__(kBlock)
    find_halves(const A a, int64 half, std::int32_t* head, std::int64_t* rest, unsigned long long* before) {
  const int64 i = thread_index();
  unsigned long long leading = 0, following = 0;
  if (i < a.rows) {
    const auto is_before = [&](std::int32_t j) { return j >= 0 && j < half; };
    const int64 w = bisect(0, a.width, [&](int64 w) { return is_before(a.leading_column(i, w)); });
    const bool all = w == a.width || a.leading_column(i, w) < 0;  // including the padding
    const int64 begin = a.indptr[i], end = a.indptr[i + 1];
    const int64 e = all ? bisect(begin, end, [&](int64 e) { return a.rest_column(e) < half; }) : begin;
    head[i] = static_cast<std::int32_t>(all ? a.width : w);
    rest[i] = e;
    leading = head[i], following = e - begin;
  }
  leading = sum_of_lanes<32>(leading), following = sum_of_lanes<32>(following);
  if (threadIdx.x % 32 == 0) atomicAdd(before, leading), atomicAdd(before + 1, following);
}

template <class A>
std::shared_ptr<ResidentHalves> halves_of(const Matrix& m, const A& a) {
  return cached<ResidentHalves>(m.cache(), "halves of its columns", [&] {
    auto result = std::make_shared<ResidentHalves>();
    const Shape of_rows{m.rows};
    result->head = Array::empty(DType::i32, of_rows);
    result->rest = Array::empty(DType::i64, of_rows);
    const Scratch<unsigned long long> before(2);
    CUDA_CALL(cudaMemsetAsync(before.get(), 0, 2 * sizeof(unsigned long long), stream()));
    launch("find halves", find_halves<A>, blocks(a.rows), dim3(kBlock), a, ceil_div(a.cols, 2),
           result->head.template as<std::int32_t>(), result->rest.template as<std::int64_t>(), before.get());
    const auto totals = download(static_cast<const unsigned long long*>(before.get()), 2);
    result->leading = static_cast<double>(totals[0]), result->following = static_cast<double>(totals[1]);
    return result;
  });
}

// Positions from `begin` to `end` of a line that starts at position `first`, `into` positions after the start of
// `chunk`.
struct Segment {
  int64 first, chunk;
  int into, begin, end;
};

// A lane's sum over them: `Each` neighbouring ones at once, with `Ahead` times as many loads in flight. part[j - from]
// is the element of x in column j.
template <int Each, int Ahead, class T, class U, class I, class V>
__device__ T sum_segment(const Segment s, const Columns<I>& columns, const U* values, bool conj, const V* part,
                         int from) {
  T sum{};
  const U* const value = values + s.first;
  const I* const index = columns.indices + s.first;
  for (int at = s.begin / Each * Each + threadIdx.x % 32 * Each; at < s.end; at += 32 * Each * Ahead) {
    U v[Ahead][Each];
    I j[Ahead][Each];
    int base[Ahead];
#pragma unroll
    for (int k = 0; k < Ahead; ++k) {
      const int e = at + 32 * Each * k;
      base[k] = -from;
      if (e < s.end) load_once(value + e, v[k]), load_once(index + e, j[k]);
    }
    if (sizeof(I) < 4 && columns.bases) {  // all at once, so that no load waits for another
#pragma unroll
      for (int k = 0; k < Ahead; ++k) {
        const int e = at + 32 * Each * k;
        if (e < s.end) base[k] += load(columns.bases + s.chunk + (s.into + e) / kChunk);
      }
    }
#pragma unroll
    for (int k = 0; k < Ahead; ++k) {
#pragma unroll
      for (int q = 0; q < Each; ++q) {
        const int e = at + 32 * Each * k + q;
        if (e >= s.begin && e < s.end && !Columns<I>::padding(j[k][q])) {
          sum += multiply(conjugate_if(conj, v[k][q]), part[base[k] + j[k][q]]);
        }
      }
    }
  }
  return sum;
}

// The first `first_blocks` blocks process the columns below `half`, the others the rest; then both write their sums of
// rows to `others`, which is null if there is one part. `odd` is the number of entries of the rest if that is odd: then
// the last one has no neighbour with which it could be read. Otherwise -1.
template <class I, class U, class V>
__global__ void __launch_bounds__(kThreads, 1)
    sum_parts(const EllCsr<U, I> a, bool conj, const V* x, int64 half, const std::int32_t* head,
              const std::int64_t* rest, int64 odd, int first_blocks, Product<U, V>* y, Product<U, V>* others,
              const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  constexpr int ahead = is_complex<T> ? 1 : sizeof(I) < 4 ? 3 : 4;  // as many as fit into registers
  extern __shared__ double2 shared[];
  V* const part = reinterpret_cast<V*>(shared);
  const bool second = static_cast<int>(blockIdx.x) >= first_blocks;
  const int from = second ? static_cast<int>(half) : 0, to = static_cast<int>(second ? a.cols : half);
  for (int j = from + threadIdx.x; j < to; j += kThreads) part[j - from] = load(x + j);
  __syncthreads();

  const int64 warps = (second ? gridDim.x - first_blocks : first_blocks) * (kThreads / 32);
  int64 i = (second ? blockIdx.x - first_blocks : blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  for (; i < a.rows; i += warps) {
    const int middle = head ? load(head + i) : static_cast<int>(a.width);
    const int64 first = load(second ? rest + i : a.indptr + i);
    const int64 stop = load(second || !rest ? a.indptr + i + 1 : rest + i);
    T sum = sum_segment < kLeading<I>, sizeof(I) < 4 ? 1 : ahead,
      T > ({i * a.width, i * a.chunks, 0, second ? middle : 0, second ? static_cast<int>(a.width) : middle}, a.head,
           a.head_values, conj, part, from);
    const int64 line = first / kFollowing<I> * kFollowing<I>;
    const bool lacks_last = stop == odd && stop > first;
    sum += sum_segment<kFollowing<I>, ahead, T>(
        {line, line / kChunk, static_cast<int>(line % kChunk), static_cast<int>(first - line),
         static_cast<int>(stop - line) - lacks_last},
        a.rest, a.rest_values, conj, part, from);
    if (lacks_last && threadIdx.x % 32 == 0) {
      sum += multiply(conjugate_if(conj, load(a.rest_values + odd - 1)), part[a.rest_column(odd - 1) - from]);
    }
    sum = sum_of_lanes<32>(sum);
    if (threadIdx.x % 32 == 0) {
      if (others) (second ? others + a.rows : others)[i] = sum;
      else update.one(y + i, sum);
    }
  }
}

template <class T>
__global__ void __launch_bounds__(kBlock)
    add_parts(const T* sums, int64 rows, T* y, const __grid_constant__ Update<T> update) {
  const int64 i = thread_index();
  if (i < rows) update.one(y + i, sums[i] + sums[rows + i]);
}

// Whether rows are long enough, and aligned for wide loads.
template <class I, class U>
bool worth_sharing(const EllCsr<U, I>& a, int64 positions, const void* values) {
  constexpr int64 few = 1 << 20;  // positions that a GPU reads in the time of a launch
  const bool aligned =
      kLeading<I> == 1 || (a.width % kLeading<I> == 0 && reinterpret_cast<std::uintptr_t>(values) % 16 == 0);
  return aligned && positions > few && positions > 64 * a.rows && positions > 16 * a.cols;
}

// Builds what is cached with A.
inline void prepare_shared_x(const Matrix& m) {
  constexpr int64 most = 1 << 17;  // columns for which x may fit into shared memory
  with_index_type(m.index("ell_indices").dtype, [&](auto zero) {
    const auto a = EllCsr<float, decltype(zero)>::over(*m.structure, nullptr);
    if (a.cols <= most && worth_sharing(a, m.values.size(), m.values.data)) halves_of(m, a);
  });
}

// In units of leading entries. H200: an entry of the rest costs 1.8 times as much for values of 4 bytes, and 1.4 times
// as much for 8.
template <class U>
double work(double leading, double following) {
  return leading + (1 + 3.2 / sizeof(U)) * following;
}

// Runs the kernel if it is worthwhile and x fits into shared memory; returns whether it did.
template <class U, class V, class I>
bool multiply_shared_x(const Matrix& m, const EllCsr<U, I>& a, Op op, Scalar alpha, const Dense& x, Scalar beta,
                       const Dense& y) {
  using T = Product<U, V>;
  if (x.cols != 1 || x.row_stride != 1 || y.row_stride != 1 || !worth_sharing(a, m.values.size(), a.head_values)) {
    return false;
  }
  const Limits& device = limits<sum_parts<I, U, V>>();
  const int64 capacity = device.shared / static_cast<int64>(sizeof(V));
  if (a.cols > 2 * capacity) return false;
  const bool cut = a.cols > capacity;
  const int64 half = cut ? ceil_div(a.cols, 2) : a.cols;
  const int shared = static_cast<int>(half * sizeof(V));
  const int count = device.multiprocessors;
  const Update<T> update(alpha, beta);
  const int64 follow = m.values.size() - a.rows * a.width, odd = follow % kFollowing<I> ? follow : -1;
  if (!cut) {
    launch_shared("ellcsr matvec", sum_parts<I, U, V>, dim3(count), dim3(kThreads), shared, a, op.conjugated,
                  x.as<const V>(), half, nullptr, nullptr, odd, count, y.as<T>(), nullptr, update);
    return true;
  }
  const std::shared_ptr<ResidentHalves> halves = halves_of(m, a);
  const double leading = static_cast<double>(a.rows) * a.width;
  const double fraction = work<U>(halves->leading, halves->following) / work<U>(leading, m.values.size() - leading);
  const int first = std::clamp(static_cast<int>(count * fraction + 0.5), 1, count - 1);
  const Scratch<T> sums(2 * a.rows);
  launch_shared("ellcsr matvec", sum_parts<I, U, V>, dim3(count), dim3(kThreads), shared, a, op.conjugated,
                x.as<const V>(), half, halves->head.template as<const std::int32_t>(),
                halves->rest.template as<const std::int64_t>(), odd, first, y.as<T>(), sums.get(), update);
  launch("add parts", add_parts<T>, blocks(a.rows), dim3(kBlock), static_cast<const T*>(sums.get()), a.rows, y.as<T>(),
         update);
  return true;
}

}  // namespace diagsparse::cuda::ellcsr
