#include "cpu/parallel.hpp"

#include <omp.h>
#include <pthread.h>

#include <atomic>
#include <bit>
#include <exception>
#include <mutex>
#if defined(__SANITIZE_THREAD__)
#include <thread>
#include <vector>
#endif

#include "core/interrupt.hpp"

namespace diagsparse {

namespace {

constexpr int kMostThreads = 8;  // at once where there are fewer processors

std::atomic<int> threads{0};  // 0: what OpenMP says (OMP_NUM_THREADS, else the processors)
std::atomic<bool> forked{false};

// After fork() OpenMP's threads exist in the parent only, and waking them in the child would hang.
const int watch_fork = pthread_atfork(nullptr, nullptr, [] { forked = true; });

}  // namespace

int requested_thread_count() {
  if (forked) return 1;
  const int n = threads;
  return n > 0 ? n : omp_get_max_threads();
}

namespace {

int processors() {
  static const int count = omp_get_num_procs();  // asking takes longer than a small product
  return count;
}

}  // namespace

int thread_count() { return std::min(requested_thread_count(), std::max(processors(), kMostThreads)); }

int concurrent_tasks() { return std::min(requested_thread_count(), processors()); }

void set_thread_count(int n) { threads = n; }

namespace {

constexpr int64 kUnasked = 1 << 22;  // multiply-adds of a thread between two questions whether to go on, about

// Tasks are counted by this mask, so that short ones are not asked each time.
int64 unasked(int64 tasks, int64 work) {
  const int64 each = std::max<int64>(1, work / std::max<int64>(1, tasks));
  return static_cast<int64>(std::bit_floor(static_cast<std::uint64_t>(std::max<int64>(1, kUnasked / each)))) - 1;
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
  Watch* const watch = current_watch();
#if defined(__SANITIZE_THREAD__)  // which knows nothing of OpenMP's barriers
  std::vector<std::thread> team;
  for (int k = 0; k < threads; ++k) {
    team.emplace_back([&, k] {
      const OnWatch here(watch);
      for (int64 t = tasks * k / threads; t < tasks * (k + 1) / threads; ++t) guarded(t);
    });
  }
  for (std::thread& member : team) member.join();
#else
#pragma omp parallel num_threads(threads)
  {
    const OnWatch here(watch);
#pragma omp for schedule(static) nowait
    for (int64 t = 0; t < tasks; ++t) guarded(t);
  }
#endif
  if (failure) std::rethrow_exception(failure);
}

}  // namespace diagsparse
