// Threads: OpenMP over a fixed decomposition, so that the bits never depend on the thread count.
#pragma once

#include <algorithm>

#include "core/interrupt.hpp"
#include "core/types.hpp"

namespace diagsparse {

int thread_count();  // for the calling thread's next kernel
void set_thread_count(int n);
int requested_thread_count();  // what was asked for; threads beyond the processors gain nothing

// How many pieces to cut work into that every piece reads whole: one for each thread that runs at a time.
int concurrent_tasks();

constexpr int64 kSerialWork = 1 << 17;  // multiply-adds under which waking threads costs more than it gains

// Calls task(f, t) for 0 <= t < tasks. Serial and threaded runs execute the very same instructions, and so round alike.
void run_tasks(int threads, int64 tasks, int64 work, void (*task)(const void* f, int64 t), const void* f);

// How many threads parallel_for takes by default; another thread may change that at any time.
inline int thread_count_for(int64 tasks, int64 work) {
  return work < kSerialWork ? 1 : static_cast<int>(std::min<int64>(thread_count(), tasks));
}

// Calls f(task) for 0 <= task < tasks, neighbours on one thread, which takes them in order. f must not depend on the
// thread. What f throws is thrown here, once all tasks have ended. Between tasks the caller may be interrupted.
template <class F>
void parallel_for(int64 tasks, int64 work, const F& f, int threads) {
  run_tasks(threads, tasks, work, [](const void* g, int64 task) { (*static_cast<const F*>(g))(task); }, &f);
}
template <class F>
void parallel_for(int64 tasks, int64 work, const F& f) {
  parallel_for(tasks, work, f, thread_count_for(tasks, work));
}

}  // namespace diagsparse
