// Fills memory with zeros, copies it, and compares it.
#include "core/backend.hpp"
#include "device/runs.cuh"

namespace diagsparse {

namespace cuda {
namespace {

struct Words {
  int64 first, length;
};

// Lengths and positions are in 4-byte words.
__global__ void __launch_bounds__(kBlock) clear(unsigned* data, const __grid_constant__ Runs<Words> runs) {
  const Words run = runs.at[blockIdx.y];
  const int64 width = static_cast<int64>(gridDim.x) * blockDim.x;
  for (int64 i = thread_index(); i < run.length; i += width) data[run.first + i] = 0;
}

// Words, and up to three bytes after them.
__global__ void compare(const unsigned* a, const unsigned* b, int64 count, int* differ) {
  const int64 width = static_cast<int64>(gridDim.x) * blockDim.x, words = count / 4;
  for (int64 i = thread_index(); i < words; i += width) {
    if (a[i] != b[i]) *differ = 1;
  }
  if (thread_index() >= count % 4) return;
  const int64 last = 4 * words + thread_index();
  if (reinterpret_cast<const char*>(a)[last] != reinterpret_cast<const char*>(b)[last]) *differ = 1;
}

}  // namespace
}  // namespace cuda

void fill_zero(void* data, const std::vector<Bytes>& ranges) {
  using namespace cuda;
  if (ranges.size() == 1) {
    const Bytes& r = ranges.front();
    if (r.first < r.last) CUDA_CALL(cudaMemsetAsync(static_cast<char*>(data) + r.first, 0, r.last - r.first, stream()));
    return;
  }
  std::vector<Words> all;
  for (const Bytes& r : ranges) all.push_back({r.first / 4, (r.last - r.first) / 4});
  in_launches(all, [&](dim3 grid, const Runs<Words>& part, std::size_t) {
    launch("clear", clear, grid, dim3(kBlock), static_cast<unsigned*>(data), part);
  });
}

void copy_bytes(void* to, const void* from, int64 count) {
  if (count > 0) CUDA_CALL(cudaMemcpyAsync(to, from, count, cudaMemcpyDeviceToDevice, cuda::stream()));
}

void copy_to_host(void* to, const void* from, int64 count) {
  if (count == 0) return;
  CUDA_CALL(cudaMemcpyAsync(to, from, count, cudaMemcpyDeviceToHost, cuda::stream()));
  CUDA_CALL(cudaStreamSynchronize(cuda::stream()));
}

void copy_from_host(void* to, const void* from, int64 count) {
  if (count == 0) return;
  CUDA_CALL(cudaMemcpyAsync(to, from, count, cudaMemcpyHostToDevice, cuda::stream()));
  CUDA_CALL(cudaStreamSynchronize(cuda::stream()));
}

// Waits for the result.
bool same_bytes(const void* a, const void* b, int64 count) {
  using namespace cuda;
  if (count == 0) return true;
  const Scratch<int> differ(1);
  CUDA_CALL(cudaMemsetAsync(differ.get(), 0, sizeof(int), stream()));
  launch("compare", compare, dim3(static_cast<unsigned>(std::min<int64>(ceil_div(count, 4 * kBlock), 1024))),
         dim3(kBlock), static_cast<const unsigned*>(a), static_cast<const unsigned*>(b), count, differ.get());
  return download(differ.get(), 1)[0] == 0;
}

}  // namespace diagsparse
