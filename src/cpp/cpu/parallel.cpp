#include "cpu/parallel.hpp"

#include <omp.h>
#include <pthread.h>

#include <atomic>

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

}  // namespace diagsparse
