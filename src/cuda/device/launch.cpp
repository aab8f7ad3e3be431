// Starts kernels, and looks up the limits of devices.
#include "device/launch.hpp"

namespace diagsparse::cuda {

void start_kernel(const char* name, const void* kernel, dim3 grid, dim3 block, int shared, void** addresses) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  check(cudaLaunchKernel(kernel, grid, block, addresses, static_cast<std::size_t>(shared), stream()), name, __FILE__,
        __LINE__);
}

const Limits& LimitsOfKernel::here(const void* kernel) {
  const int device = current_device();
  std::call_once(initialized_[device], [&] {
    cudaFuncAttributes attributes;
    CUDA_CALL(cudaFuncGetAttributes(&attributes, kernel));
    Limits found;
    CUDA_CALL(cudaDeviceGetAttribute(&found.shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    CUDA_CALL(cudaDeviceGetAttribute(&found.multiprocessors, cudaDevAttrMultiProcessorCount, device));
    found.bulk_copies = attributes.ptxVersion >= 90;
    found.shared -= static_cast<int>(attributes.sharedSizeBytes);
    CUDA_CALL(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, found.shared));
    known_[device] = found;
  });
  return known_[device];
}

}  // namespace diagsparse::cuda
