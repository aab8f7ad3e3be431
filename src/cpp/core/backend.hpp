// What each of the two modules defines for its device: the CPU's in cpu/, the GPU's in ../cuda.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/types.hpp"

namespace diagsparse {

extern const char* const device_kind;  // "cpu" or "cuda", as messages name it
int kernel_set();                      // which of the registered sets of kernels is in use
int current_device();                  // index of the device that allocate() takes memory of; 0 on the CPU

// Memory of the device, not initialised.
std::shared_ptr<void> allocate(int64 bytes);

// Bytes [first, last) of an array.
struct Bytes {
  int64 first, last;
};
void fill_zero(void* data, const std::vector<Bytes>& ranges);
bool same_bytes(const void* a, const void* b, int64 count);
void copy_bytes(void* to, const void* from, int64 count);
void copy_to_host(void* to, const void* from, int64 count);    // whole when it returns
void copy_from_host(void* to, const void* from, int64 count);  // `from` is free when it returns

}  // namespace diagsparse
