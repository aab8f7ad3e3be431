// Threads: OpenMP over a fixed decomposition, so that the bits never depend on the thread count.
#pragma once

#include <algorithm>
#include <bit>
#include <exception>
#include <mutex>
#if defined(__SANITIZE_THREAD__)
#include <thread>
#include <vector>
#endif

#include "core/interrupt.hpp"
#include "core/types.hpp"

namespace diagsparse {

int thread_count();  // for the calling thread's next kernel
void set_thread_count(int n);
int requested_thread_count();  // what was asked for; threads beyond the processors gain nothing

// How many pieces to cut work into that every piece reads whole: one for each thread that runs at a time.
int concurrent_tasks();

constexpr int64 kSerialWork = 1 << 17;  // multiply-adds under which waking threads costs more than it gains

// Out of line, so that serial and threaded runs execute the very same instructions, and so round alike.
template <class F>
[[gnu::noinline]] void run_task(const F& f, int64 task) {
  f(task);
}

constexpr int64 kUnasked = 1 << 22;  // multiply-adds of a thread between two questions whether to go on, about

// Tasks are counted by this mask, so that short ones are not asked each time.
inline int64 unasked(int64 tasks, int64 work) {
  const int64 each = std::max<int64>(1, work / std::max<int64>(1, tasks));
  return static_cast<int64>(std::bit_floor(static_cast<std::uint64_t>(std::max<int64>(1, kUnasked / each)))) - 1;
}

// How many threads parallel_for takes.
inline int thread_count_for(int64 tasks, int64 work) {
  return work < kSerialWork ? 1 : static_cast<int>(std::min<int64>(thread_count(), tasks));
}

// Calls f(task) for 0 <= task < tasks, neighbours on one thread, which takes them in order. f must not depend on the
// thread. What f throws is thrown here, once all tasks have ended. Between tasks the caller may be interrupted.
template <class F>
void parallel_for(int64 tasks, int64 work, const F& f) {
  const int threads = thread_count_for(tasks, work);
  const int64 mask = unasked(tasks, work);
  const auto asked = [&f, mask, ask = work >= kSerialWork](int64 t) {
    if (ask && (t & mask) == mask) checkpoint();
    run_task(f, t);
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
