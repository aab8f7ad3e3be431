// Host memory: aligned to a cache line, released to the system when its last user is gone.
#include <cstdlib>
#include <cstring>
#include <new>

#include "core/array.hpp"

namespace diagsparse {

std::shared_ptr<void> allocate(int64 bytes) {
  constexpr int64 line = 64;
  const int64 rounded = (bytes + line - 1) / line * line;
  void* p = std::aligned_alloc(line, rounded > 0 ? rounded : line);
  if (p == nullptr) throw std::bad_alloc();
  return std::shared_ptr<void>(p, std::free);
}

void fill_zero(void* data, int64 bytes) {
  if (bytes > 0) std::memset(data, 0, bytes);
}

}  // namespace diagsparse
