// What each of the two modules implements for its device: the CPU module in cpu/, the GPU module in ../cuda.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/types.hpp"

namespace diagsparse {

extern const char* const device_kind;  // "cpu" or "cuda", as in error messages
int kernel_set();                      // the set of registered kernels that is in use
int current_device();                  // index of the device on which allocate() allocates; 0 on the CPU

// Uninitialised memory on the device.
std::shared_ptr<void> allocate(int64 bytes);
// Before host memory of another library is written, perhaps for the first time: requests huge pages, which take less
// time to get than many small ones. Has no effect on a GPU.
void use_huge_pages(void* data, int64 bytes);

// Bytes [first, last) of an array.
struct Bytes {
  int64 first, last;
};
void fill_zero(void* data, const std::vector<Bytes>& ranges);
bool same_bytes(const void* a, const void* b, int64 count);
void copy_bytes(void* to, const void* from, int64 count);
void copy_to_host(void* to, const void* from, int64 count);    // complete when it returns
void copy_from_host(void* to, const void* from, int64 count);  // `from` may be reused when it returns

}  // namespace diagsparse
