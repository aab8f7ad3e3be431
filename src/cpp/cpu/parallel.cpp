// Parallel loops over tasks, with checks for interrupts.
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

constexpr int kMinThreadLimit = 8;  // upper limit for machines with fewer processors

std::atomic<int> threads{0};  // 0: OMP_NUM_THREADS or the number of processors
std::atomic<bool> forked{false};

// After fork(), the child has none of these threads.
const int on_fork = pthread_atfork(nullptr, nullptr, [] { forked = true; });

// The processors available to this process. The query takes longer than a small product.
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
    const int checked = text ? std::atoi(text) : 0;
    return checked > 0 ? checked : processors();
  }();
  return count;
}

}  // namespace

int requested_thread_count() {
  if (forked) return 1;
  const int n = threads;
  return n > 0 ? n : threads_by_default();
}

int thread_count() { return std::min(requested_thread_count(), std::max(processors(), kMinThreadLimit)); }

int concurrent_tasks() { return std::min(requested_thread_count(), processors()); }

void set_thread_count(int n) { threads = n; }

namespace {

constexpr int64 kPerCheckpoint = 1 << 22;  // approximate multiply-adds of a thread between two checks

// A bit mask of task numbers: the interrupt check runs only if all its bits are set, so that short tasks are cheap.
int64 checkpoint_mask(int64 tasks, int64 work) {
  const int64 each = std::max<int64>(1, work / std::max<int64>(1, tasks));
  return static_cast<int64>(std::bit_floor(static_cast<std::uint64_t>(std::max<int64>(1, kPerCheckpoint / each)))) - 1;
}

}  // namespace

void run_tasks(int threads, int64 tasks, int64 work, void (*task)(const void* f, int64 t), const void* f) {
  const int64 mask = checkpoint_mask(tasks, work);
  const auto checked = [=, check = work >= kSerialWork](int64 t) {
    if (check && (t & mask) == mask) checkpoint();
    task(f, t);
  };
  if (threads <= 1) {
    for (int64 t = 0; t < tasks; ++t) checked(t);
    return;
  }
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto guarded = [&](int64 t) {
    try {
      checked(t);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(failure_mutex);
      failure = std::current_exception();
    }
  };
  using Guarded = decltype(guarded);
  run_on_pool(
      threads, tasks, [](const void* g, int64 t) { (*static_cast<const Guarded*>(g))(t); }, &guarded);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace diagsparse
