// Zeros and comparisons of raw memory.
#include <algorithm>

#include "core/backend.hpp"
#include "launch.cuh"

namespace diagsparse {

namespace cuda {
namespace {

constexpr int kRanges = 64;  // of one launch; they travel as its argument
struct Ranges {
  Bytes at[kRanges];
};

// Thread t of row y of the grid clears words t, t + width, ... of range y. Values are 4-byte words.
__global__ void clear(char* data, const __grid_constant__ Ranges ranges) {
  const Bytes range = ranges.at[blockIdx.y];
  unsigned* words = reinterpret_cast<unsigned*>(data + range.first);
  const int64 count = (range.last - range.first) / 4, width = static_cast<int64>(gridDim.x) * blockDim.x;
  for (int64 i = thread_index(); i < count; i += width) words[i] = 0;
}

__global__ void compare(const unsigned* a, const unsigned* b, int64 count, int* differ) {
  const int64 width = static_cast<int64>(gridDim.x) * blockDim.x;
  for (int64 i = thread_index(); i < count; i += width) {
    if (a[i] != b[i]) *differ = 1;
  }
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
  for (std::size_t begin = 0; begin < ranges.size(); begin += kRanges) {
    const std::size_t end = std::min(ranges.size(), begin + kRanges);
    Ranges part;
    int64 longest = 0;
    for (std::size_t i = begin; i < end; ++i) {
      part.at[i - begin] = ranges[i];
      longest = std::max(longest, ranges[i].last - ranges[i].first);
    }
    const unsigned width = static_cast<unsigned>(std::clamp<int64>(ceil_div(longest / 4, kBlock), 1, 256));
    launch("clear", clear, dim3(width, static_cast<unsigned>(end - begin)), dim3(kBlock), static_cast<char*>(data),
           part);
  }
}

// Waits for the answer.
bool same_bytes(const void* a, const void* b, int64 count) {
  using namespace cuda;
  if (count == 0) return true;
  const Scratch<int> differ(1);
  CUDA_CALL(cudaMemsetAsync(differ.get(), 0, sizeof(int), stream()));
  launch("compare", compare, dim3(static_cast<unsigned>(std::min<int64>(ceil_div(count / 4, kBlock), 1024))),
         dim3(kBlock), static_cast<const unsigned*>(a), static_cast<const unsigned*>(b), count / 4, differ.get());
  return download(differ.get(), 1)[0] == 0;
}

}  // namespace diagsparse
