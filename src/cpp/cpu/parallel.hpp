// Threads over a fixed decomposition, so that the bits never depend on the thread count.
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

// Calls f(task) for 0 <= task < tasks, neighbours mostly on one thread, which takes them in order. f must not depend on
// the thread. What f throws is thrown here, once all tasks have ended. Between tasks the caller may be interrupted.
template <class F>
void parallel_for(int64 tasks, int64 work, const F& f, int threads) {
  run_tasks(
      threads, tasks, work, [](const void* g, int64 task) { (*static_cast<const F*>(g))(task); }, &f);
}
template <class F>
void parallel_for(int64 tasks, int64 work, const F& f) {
  parallel_for(tasks, work, f, thread_count_for(tasks, work));
}

// ---- Rows, slices and the like, of unequal work, as tasks ----------------------------------------------
// How many tasks: few, since each looks for its border in memory that no cache holds; but Ctrl-C waits for the end of
// one.
inline int64 tasks_for(int64 work) {
  return std::clamp<int64>(work / 8192, 1, std::max<int64>(16 * concurrent_tasks(), work >> 24));
}

// The first item of a task: tasks share out `work` evenly, of which before(i), rising, comes before item i of `items`.
template <class F>
int64 border(int64 items, int64 work, int64 tasks, int64 task, const F& before) {
  if (task == tasks) return items;
  const int64 share = work / tasks * task;
  int64 low = 0, high = items;
  while (low < high) {
    const int64 mid = (low + high) / 2;
    if (before(mid) < share) low = mid + 1;
    else high = mid;
  }
  return low;
}

}  // namespace diagsparse
