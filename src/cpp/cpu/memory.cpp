// Host memory: aligned to a cache line. Large blocks lie on huge pages. All but small blocks that were freed are kept
// for the next result of the same size: asking the system for fresh pages costs several times the writing of them.
#include <pthread.h>
#include <sys/mman.h>

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

constexpr int64 kSmall = 1 << 17;     // up to here freed blocks are left to the C library
constexpr int64 kStep = 1 << 14;      // between the sizes of those beyond
constexpr int64 kPage = 1 << 21;      // of huge pages
constexpr int64 kLarge = 2 * kPage;   // from here on a block has pages of its own
constexpr int64 kLine = 64;           // of the caches
constexpr int64 kKeep = 256ll << 20;  // bytes of freed blocks kept at most

int64 round_up(int64 bytes, int64 unit) { return (bytes + unit - 1) / unit * unit; }

// Fresh pages of the system's own, aligned to a huge page (what malloc returns may lie on old small pages).
void* map_pages(int64 bytes) {
  void* p = mmap(nullptr, bytes + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  char* start = static_cast<char*>(p);
  const int64 before = (kPage - reinterpret_cast<std::uintptr_t>(start) % kPage) % kPage;
  if (before > 0) munmap(start, before);
  if (before < kPage) munmap(start + before + bytes, kPage - before);
#ifdef MADV_HUGEPAGE
  madvise(start + before, bytes, MADV_HUGEPAGE);
#endif
  return start + before;
}

void* align(int64 bytes) {
  void* p = std::aligned_alloc(kLine, bytes);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

// Of malloc and aligned here: aligned_alloc searches longer where blocks come and go.
std::shared_ptr<void> small(int64 bytes) {
#ifdef __SANITIZE_ADDRESS__  // which knows where a block ends only if nothing lies behind it
  bytes = round_up(std::max<int64>(bytes, 1), kLine);
  return std::shared_ptr<void>(align(bytes), std::free);
#endif
  void* block = std::malloc(bytes + kLine);
  if (block == nullptr) throw std::bad_alloc();
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  return std::shared_ptr<void>(static_cast<char*>(block) + (kLine - address % kLine),
                               [block](void*) { std::free(block); });
}

void give_back(void* p, int64 bytes) {
  if (bytes < kLarge) std::free(p);
  else munmap(p, bytes);
}

// The blocks freed last, the oldest given back first.
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
  void keep(void* p, int64 bytes) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      blocks_.emplace_back(p, bytes);
      held_ += bytes;
    }
    give_back_beyond(kKeep);
  }
  // The oldest ones, until no more than so many bytes are held.
  void give_back_beyond(int64 bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    while (held_ > bytes) {
      const auto [oldest, size] = blocks_.front();
      blocks_.pop_front();
      held_ -= size;
      give_back(oldest, size);
    }
  }
  // Around a fork no other thread is in here, so that the child can go on.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
  std::deque<std::pair<void*, int64>> blocks_;
  int64 held_ = 0;
};

// Never destroyed: arrays may outlive every static object of this module.
FreedBlocks& freed() {
  static auto* blocks = new FreedBlocks;
  return *blocks;
}
[[maybe_unused]] const int at_fork =
    pthread_atfork([] { freed().lock(); }, [] { freed().unlock(); }, [] { freed().unlock(); });

}  // namespace

std::shared_ptr<void> allocate(int64 bytes) {
  if (bytes < kSmall) return small(bytes);
  const int64 size = round_up(bytes, bytes < kLarge ? kStep : kPage);
  const auto fresh = [size] { return size < kLarge ? align(size) : map_pages(size); };
  void* p = freed().find(size);
  try {
    if (p == nullptr) p = fresh();
  } catch (const std::bad_alloc&) {
    freed().give_back_beyond(0);
    p = fresh();
  }
  return std::shared_ptr<void>(p, [size](void* block) { freed().keep(block, size); });
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
