// Loops over tasks on several threads, interrupts included.
#include "cpu/parallel.hpp"

#include <pthread.h>

#include <atomic>
#include <bit>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>
#if defined(__linux__)
#include <sched.h>
#endif

#include "core/interrupt.hpp"
#include "cpu/pool.hpp"

namespace diagsparse {

namespace {

constexpr int kMostThreads = 8;  // at once where there are fewer processors

std::atomic<int> threads{0};  // 0: OMP_NUM_THREADS, else the processors
std::atomic<bool> forked{false};

// After fork() the threads exist in the parent only.
const int watch_fork = pthread_atfork(nullptr, nullptr, [] { forked = true; });

// Those that this process may run on; asking takes longer than a small product.
int processors() {
  static const int count = [] {
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }();
  return count;
}

int threads_by_default() {
  static const int count = [] {
    const char* const text = std::getenv("OMP_NUM_THREADS");
    const int asked = text ? std::atoi(text) : 0;
    return asked > 0 ? asked : processors();
  }();
  return count;
}

}  // namespace

int requested_thread_count() {
  if (forked) return 1;
  const int n = threads;
  return n > 0 ? n : threads_by_default();
}

int thread_count() { return std::min(requested_thread_count(), std::max(processors(), kMostThreads)); }

int concurrent_tasks() { return std::min(requested_thread_count(), processors()); }

void set_thread_count(int n) { threads = n; }

namespace {

constexpr int64 kPerCheckpoint = 1 << 22;  // multiply-adds of a thread between two questions whether to go on, about

// Tasks are counted by this mask, so that short ones are not asked each time.
int64 unasked(int64 tasks, int64 work) {
  const int64 each = std::max<int64>(1, work / std::max<int64>(1, tasks));
  return static_cast<int64>(std::bit_floor(static_cast<std::uint64_t>(std::max<int64>(1, kPerCheckpoint / each)))) - 1;
}

}  // namespace

void run_tasks(int threads, int64 tasks, int64 work, void (*task)(const void* f, int64 t), const void* f) {
  const int64 mask = unasked(tasks, work);
  const auto asked = [=, ask = work >= kSerialWork](int64 t) {
    if (ask && (t & mask) == mask) checkpoint();
    task(f, t);
  };
  if (threads <= 1) {
    for (int64 t = 0; t < tasks; ++t) asked(t);
    return;
  }
  std::exception_ptr failure;
  std::mutex failing;
  const auto guarded = [&](int64 t) {
    try {
      asked(t);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(failing);
      failure = std::current_exception();
    }
  };
  using Guarded = decltype(guarded);
  share_out(
      threads, tasks, [](const void* g, int64 t) { (*static_cast<const Guarded*>(g))(t); }, &guarded);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace diagsparse
