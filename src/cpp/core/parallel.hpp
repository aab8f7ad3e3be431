// Threads: OpenMP over a fixed decomposition, so that the bits never depend on the thread count.
#pragma once

#include "core/types.hpp"

namespace diagsparse {

int thread_count();  // for the calling thread's next kernel
void set_thread_count(int n);

constexpr int64 kSerialWork = 1 << 15;  // multiply-adds under which waking threads costs more than it gains

// Calls f(task) for 0 <= task < tasks, neighbours on one thread. f must not depend on the thread.
template <class F>
void parallel_for(int64 tasks, int64 work, const F& f) {
  const int threads = work < kSerialWork || tasks < 2 ? 1 : thread_count();
  if (threads == 1) {
    for (int64 t = 0; t < tasks; ++t) f(t);
    return;
  }
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64 t = 0; t < tasks; ++t) f(t);
}

}  // namespace diagsparse
