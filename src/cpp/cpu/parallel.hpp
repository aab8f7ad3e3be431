// Threads: OpenMP over a fixed decomposition, so that the bits never depend on the thread count.
#pragma once

#include <algorithm>
#include <exception>

#include "core/types.hpp"

namespace diagsparse {

int thread_count();  // for the calling thread's next kernel
void set_thread_count(int n);

constexpr int64 kMostThreads = 1024;    // at once, whatever was asked for
constexpr int64 kSerialWork = 1 << 17;  // multiply-adds under which waking threads costs more than it gains

// Out of line, so that serial and threaded runs execute the very same instructions, and so round alike.
template <class F>
[[gnu::noinline]] void run_task(const F& f, int64 task) {
  f(task);
}

// Calls f(task) for 0 <= task < tasks, neighbours on one thread. f must not depend on the thread. What f throws
// is thrown here, once all tasks have ended.
template <class F>
void parallel_for(int64 tasks, int64 work, const F& f) {
  const int threads = work < kSerialWork ? 1 : static_cast<int>(std::min<int64>({thread_count(), tasks, kMostThreads}));
  if (threads <= 1) {
    for (int64 t = 0; t < tasks; ++t) run_task(f, t);
    return;
  }
  std::exception_ptr failure;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64 t = 0; t < tasks; ++t) {
    try {
      run_task(f, t);
    } catch (...) {
#pragma omp critical
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace diagsparse
