// Parallel loops over a decomposition that does not depend on the number of threads, nor do the results.
#pragma once

#include <algorithm>

#include "core/interrupt.hpp"
#include "core/types.hpp"

namespace diagsparse {

int thread_count();  // threads for the next kernel of the calling thread
void set_thread_count(int n);
int requested_thread_count();  // as requested; more threads than processors gain nothing

// Into how many chunks to divide work of which each chunk reads all the input: one for each thread that can run.
int concurrent_tasks();

constexpr int64 kSerialWork = 1 << 17;  // multiply-adds below which waking threads costs more than it gains

// Calls task(f, t) for 0 <= t < tasks. Serial and threaded runs execute the same instructions, so they round equally.
void run_tasks(int threads, int64 tasks, int64 work, void (*task)(const void* f, int64 t), const void* f);

// The default number of threads of parallel_for. Another thread may change it at any time.
inline int thread_count_for(int64 tasks, int64 work) {
  return work < kSerialWork ? 1 : static_cast<int>(std::min<int64>(thread_count(), tasks));
}

// Calls f(task) for 0 <= task < tasks. Consecutive tasks mostly run on one thread, in order. f must not depend on the
// thread. An exception of f is rethrown here after all tasks have ended. Between tasks, the caller may be interrupted.
template <class F>
void parallel_for(int64 tasks, int64 work, const F& f, int threads) {
  run_tasks(
      threads, tasks, work, [](const void* g, int64 task) { (*static_cast<const F*>(g))(task); }, &f);
}
template <class F>
void parallel_for(int64 tasks, int64 work, const F& f) {
  parallel_for(tasks, work, f, thread_count_for(tasks, work));
}

// ---- Rows, slices and the like, of unequal work, as tasks -------------------------------------------
// The number of tasks: few, because each searches for its first item in memory that is not cached; but enough that
// Ctrl-C does not wait long for the end of a task.
inline int64 tasks_for(int64 work) {
  return std::clamp<int64>(work / 8192, 1, std::max<int64>(16 * concurrent_tasks(), work >> 24));
}

// The first item of a task. Tasks divide `work` evenly; before(i), ascending, is the work before item i of `items`.
template <class F>
int64 border(int64 items, int64 work, int64 tasks, int64 task, const F& before) {
  if (task == tasks) return items;
  const int64 target = work / tasks * task;
  int64 low = 0, high = items;
  while (low < high) {
    const int64 mid = (low + high) / 2;
    if (before(mid) < target) low = mid + 1;
    else high = mid;
  }
  return low;
}

}  // namespace diagsparse
