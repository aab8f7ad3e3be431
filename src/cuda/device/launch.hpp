// What every launch of a kernel does, compiled once for all kernels, because they are many.
#pragma once

#include <mutex>

#include "device/cuda.hpp"

namespace diagsparse::cuda {

constexpr int kMostDevices = 64;

// Starts a kernel with the arguments at these addresses, unless the grid is empty.
void start_kernel(const char* name, const void* kernel, dim3 grid, dim3 block, int shared, void** addresses);

// The limits of a device for a kernel.
struct Limits {
  int shared = 0;  // bytes of dynamic shared memory per block, which `kernel` may use from here on
  int multiprocessors = 0;
  bool bulk_copies = false;  // see fetch.cuh
};
class LimitsOfKernel {
 public:
  const Limits& here(const void* kernel);

 private:
  Limits known_[kMostDevices];
  std::once_flag initialized_[kMostDevices];
};

}  // namespace diagsparse::cuda
