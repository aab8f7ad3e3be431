// Asynchronous copies of runs of values to shared memory.
//
// From compute capability 9.0 on, one thread copies a complete run, in units of 16 bytes (a bulk copy). This requires
// that the run has the same misalignment to 16 bytes in shared memory as in global memory. It should also have the same
// misalignment to 32 bytes, because splitting sectors of global memory costs 7 % of a product of bands. Runs with gaps,
// and all runs on older devices, are copied by a warp, value by value.
#pragma once

#include "core/plan.hpp"
#include "device/launch.cuh"

namespace diagsparse::cuda {

#if __CUDA_ARCH__ >= 900
constexpr bool kBulkCopies = true;
#else
constexpr bool kBulkCopies = false;
#endif

inline __device__ std::uint32_t shared_address(const void* shared) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
}

// Bytes since the last multiple of `border`.
inline __device__ int since_border(const void* p, int border) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(p) % border);
}

// An array from which runs are copied.
template <class T>
struct Source {
  const T* values;
  int64 size;

  explicit Source(const Matrix& m) : values(m.values.as<const T>()), size(m.values.size()) {}
};

// A copy: to[x] = from[x] for first <= x < last, and zero for the others of 0 <= x < count. From x = wrap on, the
// values are n further back. x counts values of `item` bytes. Bytes from begin to end may be read.
struct Copy {
  const char *from, *begin, *end;
  char* to;
  int item, count, first, last, wrap;

  __device__ bool stored() const { return first < last; }
  __device__ bool complete() const { return first <= 0 && last >= count && wrap >= count; }
};

// The copies of a block to its shared memory; this object is in shared memory, too. In each round, every thread starts
// any number of copies, calls started(), and then wait(), which waits for the copies of all threads.
class Copies {
 public:
  // Called by one thread; a __syncthreads() must follow.
  __device__ void begin(int threads) {
#if __CUDA_ARCH__ >= 900  // each thread arrives twice: when its writes are done, and when its copies of values are
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(&state_)), "r"(2 * threads) : "memory");
#endif
  }

  // Called by one thread: to[x] = from[x] for 0 <= x < bytes, both with the same misalignment to 16 bytes. Units of 16
  // bytes are copied completely, including those at both ends.
  __device__ void start(char* to, const char* from, int bytes) {
    const int shift = since_border(to, 16), all = (shift + bytes + 15) / 16 * 16;
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared.b64 [%0], %1;" ::"r"(shared_address(&state_)), "r"(all)
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to) - shift),
                 "l"(from - shift), "r"(all), "r"(shared_address(&state_))
                 : "memory");
#endif
  }
  // Starts this copy if it can be a bulk copy; returns whether it is.
  __device__ bool start(const Copy& copy) {
    const int shift = since_border(copy.to, 16), all = (shift + copy.item * copy.count + 15) / 16 * 16;
    const char* from = copy.from - shift;
    if (!kBulkCopies || !copy.complete() || since_border(from, 16) != 0 || from < copy.begin || from + all > copy.end) {
      return false;
    }
    start(copy.to, copy.from, copy.item * copy.count);
    return true;
  }

  __device__ void started() {
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(&state_)) : "memory");
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared_address(&state_)) : "memory");
#endif
  }

  // Called by all threads: waits for the copies, and for what each thread wrote before it called started(). `round`
  // counts from 0. A __syncthreads() is required before the next round's first start().
  __device__ void wait(int round) {
#if __CUDA_ARCH__ >= 900
    for (int done = 0; !done;) {
      asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared.b64 p, [%1], %2;\nselp.s32 %0, 1, 0, p;\n}"
                   : "=r"(done)
                   : "r"(shared_address(&state_)), "r"(round & 1)
                   : "memory");
    }
#else
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
#endif
  }

 private:
  unsigned long long state_;
};

template <int Item>
inline __device__ void start_copy(char* to, const char* from, bool stored) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(to)), "l"(from), "n"(Item),
               "r"(stored ? Item : 0)
               : "memory");
}

inline __device__ Copy copy_of_lane(const Copy& copy, int lane) {
  const auto of = [&](auto value) { return __shfl_sync(~0u, value, lane); };
  const auto pointer = [&](auto* p) { return reinterpret_cast<decltype(p)>(of(reinterpret_cast<std::uintptr_t>(p))); };
  return {pointer(copy.from), nullptr,        nullptr,       pointer(copy.to), of(copy.item),
          of(copy.count),     of(copy.first), of(copy.last), of(copy.wrap)};
}

// Starts a copy of any kind; called by all threads of a warp.
inline __device__ void start_by_warp(const Copy& copy, int64 n) {
#pragma unroll 1
  for (int x = threadIdx.x % 32; x < copy.count; x += 32) {
    const char* from = copy.from + copy.item * (x - (x >= copy.wrap ? n : 0));
    char* to = copy.to + copy.item * x;
    const bool stored = x >= copy.first && x < copy.last;
    if (copy.item == 4) start_copy<4>(to, from, stored);
    else if (copy.item == 8) start_copy<8>(to, from, stored);
    else start_copy<16>(to, from, stored);
  }
}

// Starts to store to[x] = from[x], begin <= x < end; called by one thread. The part between 16-byte boundaries is a
// single bulk copy if both have the same misalignment.
template <class T>
inline __device__ void start_store(T* to, const T* from, int begin, int end) {
  if (begin >= end) return;
  const auto store_one = [&] { to[begin] = from[begin], ++begin; };
  while (begin < end && since_border(to + begin, 16) != 0) store_one();
#if __CUDA_ARCH__ >= 900
  if (const int bytes = (end - begin) * static_cast<int>(sizeof(T)) / 16 * 16;
      bytes > 0 && since_border(from + begin, 16) == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to + begin),
                 "r"(shared_address(from + begin)), "r"(bytes)
                 : "memory");
    begin += bytes / static_cast<int>(sizeof(T));
  }
#endif
  while (begin < end) store_one();
}

// Called by threads that started stores: waits until shared memory has been read.
inline __device__ void wait_for_stores() {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
}

// Orders previous accesses of threads to shared memory before the copies that they start from here on.
inline __device__ void before_copies() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

}  // namespace diagsparse::cuda
