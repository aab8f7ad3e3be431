// Host memory, aligned to cache lines. Large blocks use huge pages. Freed blocks, except small ones, are cached for the
// next result of the same size: getting new pages from the system takes several times as long as writing them.
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iterator>
#include <mutex>
#include <new>
#include <utility>

#include "core/backend.hpp"

namespace diagsparse {

namespace {

constexpr int64 kSmall = 1 << 17;          // smaller blocks are freed by the C library
constexpr int64 kStep = 1 << 14;           // granularity of larger blocks
constexpr int64 kPage = 1 << 21;           // size of a huge page
constexpr int64 kLine = 64;                // size of a cache line
constexpr int64 kMaxCached = 256ll << 20;  // maximum size of cached blocks in bytes

int64 round_up(int64 bytes, int64 unit) { return (bytes + unit - 1) / unit * unit; }

// The size of a block: whole huge pages if it fills at least two thirds of them, since getting a small page from the
// system takes as long as writing several.
int64 size_for(int64 bytes) {
  const int64 in_pages = round_up(bytes, kPage);
  return in_pages - bytes <= bytes / 2 ? in_pages : round_up(bytes, kStep);
}

// New pages from the system, aligned to a huge page (memory from malloc may be on old small pages).
void* map_pages(int64 bytes) {
  void* p = mmap(nullptr, bytes + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  char* start = static_cast<char*>(p);
  const int64 before = (kPage - reinterpret_cast<std::uintptr_t>(start) % kPage) % kPage;
  if (before > 0) munmap(start, before);
  if (before < kPage) munmap(start + before + bytes, kPage - before);
  use_huge_pages(start + before, bytes);
  return start + before;
}

void* align(int64 bytes) {
  void* p = std::aligned_alloc(kLine, bytes);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

// Uses malloc and aligns here: aligned_alloc has to search longer when blocks are allocated and freed frequently.
std::shared_ptr<void> small(int64 bytes) {
#ifdef __SANITIZE_ADDRESS__  // detects overruns only if the block is not padded
  bytes = round_up(std::max<int64>(bytes, 1), kLine);
  return std::shared_ptr<void>(align(bytes), std::free);
#endif
  void* block = std::malloc(bytes + kLine);
  if (block == nullptr) throw std::bad_alloc();
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  return std::shared_ptr<void>(static_cast<char*>(block) + (kLine - address % kLine),
                               [block](void*) { std::free(block); });
}

void release(void* p, int64 bytes) {
  if (bytes % kPage != 0) std::free(p);
  else munmap(p, bytes);
}

// The most recently freed blocks; the oldest is released first.
class FreedBlocks {
 public:
  void* find(int64 bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
      if (block->second != bytes) continue;
      void* p = block->first;
      blocks_.erase(std::next(block).base());
      held_ -= bytes;
      return p;
    }
    return nullptr;
  }
  void store(void* p, int64 bytes) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      blocks_.emplace_back(p, bytes);
      held_ += bytes;
    }
    shrink_to(kMaxCached);
  }
  // Releases the oldest blocks until at most `bytes` bytes are held.
  void shrink_to(int64 bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    while (held_ > bytes) {
      const auto [oldest, size] = blocks_.front();
      blocks_.pop_front();
      held_ -= size;
      release(oldest, size);
    }
  }
  // Held during a fork, so that the child never inherits a locked mutex.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
  std::deque<std::pair<void*, int64>> blocks_;
  int64 held_ = 0;
};

// Never destroyed, because arrays may outlive every static object of this module.
FreedBlocks& freed() {
  static auto* blocks = new FreedBlocks;
  return *blocks;
}
[[maybe_unused]] const int at_fork =
    pthread_atfork([] { freed().lock(); }, [] { freed().unlock(); }, [] { freed().unlock(); });

}  // namespace

std::shared_ptr<void> allocate(int64 bytes) {
  if (bytes < kSmall) return small(bytes);
  const int64 size = size_for(bytes);
  const auto allocate_block = [size] { return size % kPage != 0 ? align(size) : map_pages(size); };
  void* p = freed().find(size);
  try {
    if (p == nullptr) p = allocate_block();
  } catch (const std::bad_alloc&) {
    freed().shrink_to(0);
    p = allocate_block();
  }
  return std::shared_ptr<void>(p, [size](void* block) { freed().store(block, size); });
}

void use_huge_pages([[maybe_unused]] void* data, [[maybe_unused]] int64 bytes) {
#ifdef MADV_HUGEPAGE
  if (bytes < kPage) return;
  static const auto small_page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(data), first = (address + small_page - 1) & -small_page;
  madvise(reinterpret_cast<void*>(first), bytes - (first - address), MADV_HUGEPAGE);
#endif
}

int current_device() { return 0; }

void fill_zero(void* data, const std::vector<Bytes>& ranges) {
  for (const Bytes& r : ranges) {
    if (r.first < r.last) std::memset(static_cast<char*>(data) + r.first, 0, r.last - r.first);
  }
}

bool same_bytes(const void* a, const void* b, int64 count) { return count == 0 || std::memcmp(a, b, count) == 0; }
void copy_bytes(void* to, const void* from, int64 count) {
  if (count > 0) std::memcpy(to, from, count);
}
void copy_to_host(void* to, const void* from, int64 count) { copy_bytes(to, from, count); }
void copy_from_host(void* to, const void* from, int64 count) { copy_bytes(to, from, count); }

}  // namespace diagsparse
