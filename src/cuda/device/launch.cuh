// Launches kernels on the caller's stream, and what all of them use.
#pragma once

#include <algorithm>

#include "core/arithmetic.hpp"
#include "core/backend.hpp"
#include "device/launch.hpp"

namespace diagsparse::cuda {

constexpr int kBlock = 256;  // threads per block

inline int64 ceil_div(int64 a, int64 b) { return (a + b - 1) / b; }

// Launches `grid` blocks of `block` threads with `shared` bytes of shared memory, and checks that the launch succeeded.
template <class... Params, class... Args>
void launch_shared(const char* name, void (*kernel)(Params...), dim3 grid, dim3 block, int shared,
                   const Args&... args) {
  [&](Params... values) {
    void* addresses[] = {&values...};
    start_kernel(name, reinterpret_cast<const void*>(kernel), grid, block, shared, addresses);
  }(static_cast<Params>(args)...);
}
template <class... Params, class... Args>
void launch(const char* name, void (*kernel)(Params...), dim3 grid, dim3 block, const Args&... args) {
  launch_shared(name, kernel, grid, block, 0, args...);
}

// The limits of the current device for a kernel.
template <auto kernel>
const Limits& limits() {
  static LimitsOfKernel of_kernel;
  return of_kernel.here(reinterpret_cast<const void*>(kernel));
}

// Enough blocks for `count` items, with `each` items per thread.
inline dim3 blocks(int64 count, int64 each = 1) {
  return dim3(static_cast<unsigned>(std::min<int64>(ceil_div(count, kBlock * each), 0x7fffffff)));
}

inline __device__ int64 thread_index() { return static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x; }

// The thread's number when threads are counted across the warps of the block, which spreads few items evenly over
// warps.
inline __device__ int across_warps() {
  return static_cast<int>(threadIdx.x % 32 * (blockDim.x / 32) + threadIdx.x / 32);
}

// x += v, atomically.
template <class T>
inline __device__ void atomic_add(T* x, T v) {
  if constexpr (is_complex<T>) {
    atomicAdd(&x->re, v.re);
    atomicAdd(&x->im, v.im);
  } else {
    atomicAdd(x, v);
  }
}

// A copy of `items` on the device.
template <class T>
Array upload(const std::vector<T>& items) {
  const int64 bytes = static_cast<int64>(items.size() * sizeof(T));
  Array result;
  const std::shared_ptr<void> memory = allocate(bytes);
  result.data = memory.get();
  result.owner = memory;
  result.dtype = DType::i32;
  result.shape.rows = bytes / 4;
  result.device = current_device();
  if (bytes > 0) CUDA_CALL(cudaMemcpyAsync(result.data, items.data(), bytes, cudaMemcpyHostToDevice, stream()));
  return result;
}

template <class T>
std::vector<T> download(const T* data, int64 count) {
  std::vector<T> items(count);
  if (count > 0) {
    CUDA_CALL(cudaMemcpyAsync(items.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost, stream()));
    CUDA_CALL(cudaStreamSynchronize(stream()));
  }
  return items;
}

// Temporary memory for the scope of a function.
template <class T>
class Scratch {
 public:
  explicit Scratch(int64 count) : memory_(allocate(count * static_cast<int64>(sizeof(T)))) {}
  T* get() const { return static_cast<T*>(memory_.get()); }

 private:
  std::shared_ptr<void> memory_;
};

}  // namespace diagsparse::cuda
