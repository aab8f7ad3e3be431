// Kernel "lines": substitution with diagonals of a grid. A lane computes a line, and a warp 32 of them side by side,
// each `skew` positions behind the one before. Other warps bring what it reads to shared memory, where neighbouring
// threads read neighbouring positions of a line. The rows are computed in the same way on every run.
#pragma once

#include <cuda_pipeline_primitives.h>

#include "kernels/triangles/rows.cuh"
#include "kernels/triangles/triangle.hpp"

namespace diagsparse::cuda::triangles {

constexpr int kMostInLines = 4;  // diagonals
constexpr int kHistory = 4;      // steps for which a warp keeps its results in registers

template <class T>
struct Lines {
  const T* values;
  const T* inverse;
  Rows rows;
  bool conjugated;
  int64 line, skew, all;  // rows in a line, and the number of lines
  Term terms[kMostInLines];
};

template <class T>
__device__ T from_lane_before(T v, int lanes) {
  if constexpr (is_complex<T>) {
    return {__shfl_up_sync(~0u, v.re, lanes), __shfl_up_sync(~0u, v.im, lanes)};
  } else {
    return __shfl_up_sync(~0u, v, lanes);
  }
}

// Steps whose operands are in shared memory at once, for a number of diagonals.
constexpr int steps_at_once(int count) { return count > 2 ? 8 : 16; }
constexpr int kPitch = 33;     // of a step in shared memory: without conflicts in both directions
constexpr int kLoaders = 128;  // threads that load, in addition to the warp that computes

// Elements of the two buffers.
constexpr int shared_elements(int count) { return 2 * (count + 2) * steps_at_once(count) * kPitch; }

// In step s, lane l of a group of lines is at position s - l skew. The first warp computes; the others load what the
// next steps need of the diagonals, the right-hand side and the reciprocals. `state` has the number of groups that were
// started, and for each group the number of steps that it has completed. Groups start in order, so the one before is
// running.
template <class T, int Count>
__global__ void __launch_bounds__(32 + kLoaders)
    substitute_lines(const __grid_constant__ Lines<T> t, T* x, int64 lead, unsigned* state, int64 groups) {
  constexpr int kSteps = steps_at_once(Count), kTile = kSteps * kPitch, kStreams = Count + 2;
  extern __shared__ __align__(16) unsigned char shared[];
  T* const buffers = reinterpret_cast<T*>(shared);  // [2][kStreams][kSteps][kPitch]
  __shared__ unsigned ticket;
  x += blockIdx.y * lead;
  state += blockIdx.y * (groups + 1);
  unsigned* const done = state + 1;
  if (threadIdx.x == 0) ticket = atomicAdd(state, 1u);
  __syncthreads();
  const int64 group = ticket, total = t.line + 31 * t.skew;

  // The loaders' part: a thread loads some positions of lines, neighbouring threads neighbouring positions.
  const auto load = [&](int64 base, T* to) {
    for (int e = static_cast<int>(threadIdx.x) - 32; e < 32 * kSteps; e += kLoaders) {
      const int u = e % kSteps, l = e / kSteps;
      const int64 j = 32 * group + l, p = base + u - l * t.skew, q = j * t.line + p;
      const bool inside = j < t.all && p >= 0 && p < t.line && q < t.rows.count;
      const int64 i = inside ? t.rows.row(q) : 0;
      T* const at = to + u * kPitch + l;
#pragma unroll
      for (int k = 0; k < Count; ++k) {
        const bool has = inside && t.terms[k].distance <= q && t.terms[k].ahead <= p;
        __pipeline_memcpy_async(at + k * kTile, has ? t.values + t.terms[k].first + i : x, sizeof(T),
                                has ? 0 : sizeof(T));
      }
      if (t.inverse) {
        __pipeline_memcpy_async(at + Count * kTile, t.inverse + i, sizeof(T), inside ? 0 : sizeof(T));
      }
      __pipeline_memcpy_async(at + (Count + 1) * kTile, x + i, sizeof(T), inside ? 0 : sizeof(T));
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
  };
  if (threadIdx.x >= 32) {
    load(0, buffers);
    __syncthreads();
    for (int64 base = 0, n = 1; base < total; base += kSteps, ++n) {
      if (base > 0 && threadIdx.x == 32) release(done + group, static_cast<unsigned>(base));
      if (base + kSteps < total) load(base + kSteps, buffers + n % 2 * kStreams * kTile);
      __syncthreads();
    }
    if (threadIdx.x == 32) release(done + group, static_cast<unsigned>(total));
    return;
  }

  const int lane = threadIdx.x;
  const int64 sign = t.rows.sign(), j = 32 * group + lane, first = j * t.line;
  const int64 length = j < t.all ? min(t.line, t.rows.count - first) : 0;
  int delay[Count];       // steps since the other row was computed
  int64 ahead = -t.line;  // by how many steps the group before this one has to be further
  for (int k = 0; k < Count; ++k) {
    const Term& term = t.terms[k];
    delay[k] = static_cast<int>(term.ahead + term.lines * t.skew);
    if (term.lines > 0) ahead = max(ahead, t.skew * (32 - term.lines) - term.ahead);
  }
  int64 seen = 0;
  const auto clamped = [](int64 v) { return static_cast<int>(max(int64{0}, min(v, int64{kSteps}))); };

  T history[kHistory] = {};
  __syncthreads();
  for (int64 base = 0, n = 0; base < total; base += kSteps, ++n) {
    const T* const tile = buffers + n % 2 * kStreams * kTile + lane;
    const int64 p = base - lane * t.skew, q = first + p;
    const int begin = clamped(-p), end = clamped(length - p);       // the steps in which the lane is inside of its line
    T* const here = x + (t.rows.lower ? q : t.rows.count - 1 - q);  // of the first step; in a line, rows go on by -sign
    T other[Count][kSteps];
    if (group > 0 && ahead >= 0) {
      while (seen < min(total, base + kSteps + ahead)) seen = acquire(done + group - 1);
    }
#pragma unroll
    for (int k = 0; k < Count; ++k) {  // rows of the group before
      const Term& term = t.terms[k];
      const int low = lane < term.lines ? max(begin, clamped(max(term.ahead - p, term.distance - q))) : kSteps;
#pragma unroll
      for (int u = 0; u < kSteps; ++u) {
        other[k][u] = u >= low && u < end ? from_l2(here + sign * (term.distance - u)) : T{};
      }
    }
#pragma unroll
    for (int u = 0; u < kSteps; ++u) {
      T sum = tile[(Count + 1) * kTile + u * kPitch];
#pragma unroll
      for (int k = 0; k < Count; ++k) {
        T own = history[0];
#pragma unroll
        for (int h = 1; h < kHistory; ++h) own = delay[k] == h + 1 ? history[h] : own;
        T v = from_lane_before(own, static_cast<int>(t.terms[k].lines));
        if (lane < t.terms[k].lines) v = other[k][u];
        sum = minus_product(sum, conjugate_if(t.conjugated, tile[k * kTile + u * kPitch]), v);
      }
      if (t.inverse) sum = multiply(conjugate_if(t.conjugated, tile[Count * kTile + u * kPitch]), sum);
      const bool inside = u >= begin && u < end;
#pragma unroll
      for (int h = kHistory - 1; h > 0; --h) history[h] = history[h - 1];
      history[0] = inside ? sum : T{};
      if (inside) here[-sign * u] = sum;
    }
    __syncthreads();
  }
}

// Counts the nonzeros of a diagonal at `count` positions of each line, from `first` on.
template <class T>
__global__ void __launch_bounds__(kBlock)
    count_positions(const T* values, Rows rows, int64 line, int64 first, int64 count, int64 distance, unsigned* found) {
  const int64 item = thread_index(), q = item / count * line + first + item % count;
  if (q < rows.count && q >= distance && !is_zero(values[rows.row(q)])) atomicAdd(found, 1u);
}

}  // namespace diagsparse::cuda::triangles
