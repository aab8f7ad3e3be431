// A run of neighbouring values, R for each thread of a warp, read and written 16 bytes at a time wherever it starts.
#pragma once

#include "memory.cuh"

namespace diagsparse::cuda {

// Values in 16 bytes.
template <class T>
constexpr int kVector = 16 / static_cast<int>(sizeof(T));

template <class T>
inline __device__ T from_next_lane(T v) {
  if constexpr (sizeof(T) == 4) {
    return __shfl_down_sync(0xffffffffu, v, 1);
  } else {
    const auto moved = __shfl_down_sync(0xffffffffu, reinterpret_cast<const long long&>(v), 1);
    return reinterpret_cast<const T&>(moved);
  }
}

// The thread's values when the run begins Shift values after a 16-byte border: the end of its own vector and the
// beginning of its neighbour's. The last thread reads the few that it lacks.
template <int Shift, class T, int R>
inline __device__ void shifted(const T* run, const T (&own)[R], T (&out)[R]) {
  T next[R];
#pragma unroll
  for (int k = 0; k < Shift; ++k) next[k] = from_next_lane(own[k]);
  if (threadIdx.x % 32 == 31) {
#pragma unroll
    for (int k = 0; k < Shift; ++k) next[k] = load(run + 32 * R - Shift + k);
  }
#pragma unroll
  for (int r = 0; r < R; ++r) out[r] = r + Shift < R ? own[(r + Shift) % R] : next[(r + Shift) % R];
}

// out[r] = run[lane R + r], for the whole warp at once. Once: the values are read by nobody else.
template <bool Once, class T, int R>
inline __device__ void read_run(const T* run, T (&out)[R]) {
  const int lane = threadIdx.x % 32;
  if constexpr (R * sizeof(T) != 16 || R == 1) {
#pragma unroll
    for (int r = 0; r < R; ++r) out[r] = Once ? load_once(run + lane * R + r) : load(run + lane * R + r);
  } else {
    const int shift = static_cast<int>(reinterpret_cast<std::uintptr_t>(run) / sizeof(T) % R);
    const auto* aligned = reinterpret_cast<const uint4*>(run - shift + lane * R);
    const uint4 bits = Once ? __ldcs(aligned) : __ldg(aligned);
    T own[R];
    memcpy(own, &bits, sizeof own);
    if (shift == 0) {
#pragma unroll
      for (int r = 0; r < R; ++r) out[r] = own[r];
    } else if (R == 2 || shift == 1) {
      shifted<1>(run, own, out);
    } else if (shift == 2) {
      shifted<2 % R>(run, own, out);
    } else {
      shifted<3 % R>(run, own, out);
    }
  }
}

// Puts the thread's `count` values (R at most) to out.
template <class T, int R>
inline __device__ void write_run(T* out, const T (&sums)[R], int count, const Update<T>& update) {
  if constexpr (R * sizeof(T) == 16) {
    if (update.plain && count == R && reinterpret_cast<std::uintptr_t>(out) % 16 == 0) {
      uint4 bits;
      memcpy(&bits, sums, sizeof bits);
      __stcs(reinterpret_cast<uint4*>(out), bits);
      return;
    }
  }
#pragma unroll
  for (int r = 0; r < R; ++r) {
    if (r < count) update.one(out + r, sums[r]);
  }
}

}  // namespace diagsparse::cuda
