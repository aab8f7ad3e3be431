#include "cpu/parallel.hpp"

#include <omp.h>
#include <pthread.h>

#include <atomic>

namespace diagsparse {

namespace {

std::atomic<int> threads{0};  // 0: what OpenMP says (OMP_NUM_THREADS, else the processors)
std::atomic<bool> forked{false};

// After fork() OpenMP's threads exist in the parent only, and waking them in the child would hang.
const int watch_fork = pthread_atfork(nullptr, nullptr, [] { forked = true; });

}  // namespace

int thread_count() {
  if (forked) return 1;
  const int n = threads;
  return n > 0 ? n : omp_get_max_threads();
}

void set_thread_count(int n) { threads = n; }

}  // namespace diagsparse
