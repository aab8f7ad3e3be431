// Bringing runs of values into shared memory asynchronously.
//
// From compute capability 9.0 on one thread copies a whole run, in pieces of 16 bytes: a run lies as many bytes behind
// a 16-byte border in shared memory as it does in global memory. Runs with gaps, and all runs on older devices, are
// left to warps, which copy them value by value.
#pragma once

#include "core/matrix.hpp"
#include "launch.cuh"

namespace diagsparse::cuda {

inline __device__ std::uint32_t shared_address(const void* shared) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
}

// Bytes since the last 16-byte border.
inline __device__ int since_border(const void* p) { return static_cast<int>(reinterpret_cast<std::uintptr_t>(p) % 16); }

// An array that runs are taken from.
template <class T>
struct Source {
  const T* values;
  int64 size;

  explicit Source(const Matrix& m) : values(m.values.as<const T>()), size(m.values.size()) {}
};

// to[x] = from[x] for first <= x < last, and zero for the others of 0 <= x < count. From x = wrap on the values lie n
// further in front. x counts values of `item` bytes.
struct Run {
  const char* from;
  char* to;
  int item, count, first, last, wrap;

  __device__ bool whole() const { return first <= 0 && last >= count && wrap >= count; }
};

// The copies of a block into its shared memory, where this object lies too. In each round every thread starts as many
// as it likes, says started(), and wait()s for those of all.
class Copies {
 public:
  // By one thread; a __syncthreads() follows.
  __device__ void begin(int threads) {
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(&state_)), "r"(threads) : "memory");
#endif
    left_ = 0;
  }

  // `list` has room for all runs of a round. A run with nothing stored is left out: no zeros are written for it.
  template <class T>
  __device__ void start(const Run& run, const T* values, int64 size, Run* list) {
    if (run.first >= run.last) return;
#if __CUDA_ARCH__ >= 900
    const int shift = since_border(run.to), bytes = (shift + run.item * run.count + 15) / 16 * 16;
    const char* from = run.from - shift;
    if (run.whole() && since_border(from) == 0 && from >= reinterpret_cast<const char*>(values) &&
        from + bytes <= reinterpret_cast<const char*>(values + size)) {
      asm volatile("mbarrier.expect_tx.relaxed.cta.shared.b64 [%0], %1;" ::"r"(shared_address(&state_)), "r"(bytes)
                   : "memory");
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                       shared_address(run.to - shift)),
                   "l"(from), "r"(bytes), "r"(shared_address(&state_))
                   : "memory");
      return;
    }
#endif
    list[atomicAdd(&left_, 1)] = run;
  }

  __device__ void started() {
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared_address(&state_)) : "memory");
#endif
  }

  // By all threads; `round` counts from 0. A __syncthreads() comes before the next round's first start().
  __device__ void wait(const Run* list, int64 n, int round) {
    __syncthreads();
    if (left_ > 0) {
      for (const Run* run = list + threadIdx.x / 32; run < list + left_; run += blockDim.x / 32) {
        if (run->item == 4) fetch<4>(*run, n);
        else if (run->item == 8) fetch<8>(*run, n);
        else fetch<16>(*run, n);
      }
      asm volatile("cp.async.wait_all;" ::: "memory");
      __syncthreads();
      left_ = 0;
    }
#if __CUDA_ARCH__ >= 900
    for (int done = 0; !done;) {
      asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared.b64 p, [%1], %2;\nselp.s32 %0, 1, 0, p;\n}"
                   : "=r"(done)
                   : "r"(shared_address(&state_)), "r"(round & 1)
                   : "memory");
    }
#endif
  }

 private:
  template <int Item>
  static __device__ void fetch(const Run& run, int64 n) {
#pragma unroll 1
    for (int x = threadIdx.x % 32; x < run.count; x += 32) {
      const bool stored = x >= run.first && x < run.last;
      asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(run.to) + Item * x),
                   "l"(run.from + Item * (x - (x >= run.wrap ? n : 0))), "n"(Item), "r"(stored ? Item : 0)
                   : "memory");
    }
  }

  unsigned long long state_;
  int left_;
};

// What threads have done in shared memory comes before the copies that they start from here on.
inline __device__ void before_copies() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

}  // namespace diagsparse::cuda
