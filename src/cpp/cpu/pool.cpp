// The threads of the process, which wait for loops to run.
#include "cpu/pool.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>
#if defined(__linux__)
#include <sched.h>
#endif

namespace diagsparse {

namespace {

using std::chrono::steady_clock;

// How long a thread looks for more work before it sleeps. Waking a thread takes 5 to 50 us, 100 us or more on a virtual
// machine, and Python needs 1 to 30 us between two products. If a thread wakes too late for its chunk and falls asleep
// again before the next product, it is always late: products of 120 us on one thread then took as long on two threads.
// While it looks for work it yields, since a linear algebra library may need the processor.
constexpr auto kPollTime = std::chrono::microseconds(300);

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Polls done() until it is true: first in a busy loop, then with yields so that other threads can run.
template <class F>
bool poll(const F& done, steady_clock::time_point until) {
  for (int round = 0;; ++round) {
    for (int n = 0; n < 64; ++n) {
      if (done()) return true;
      relax();
    }
    if (round > 8) std::this_thread::yield();
    if (steady_clock::now() > until) return false;
  }
}

// The processor of the calling thread, -1 if it is not known.
int this_processor() {
#if defined(__linux__)
  return sched_getcpu();
#else
  return -1;
#endif
}

// Moves the calling thread to another processor, if it is on this one and may use others. The scheduler often wakes a
// thread on the processor of the one that wakes it, although another one is idle: there it waits until its caller's
// time slice ends, and comes too late for the job, again and again if it sleeps in between.
void leave([[maybe_unused]] int processor) {
#if defined(__linux__)
  cpu_set_t allowed, others;
  if (processor != this_processor() || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  others = allowed;
  CPU_CLR(processor, &others);
  if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0) {
    sched_setaffinity(0, sizeof allowed, &allowed);  // it stays where it is now
  }
#endif
}

struct alignas(64) Chunk {
  std::atomic<int64> next;
  int64 end;
};

// The tasks of one call. Helper threads may hold a job longer than its caller, when no task is left.
class Job {
 public:
  Job(int threads, int64 tasks, void (*task)(const void*, int64), const void* f)
      : task_(task), f_(f), watch_(current_watch()), tasks_(tasks), threads_(threads), chunks_(new Chunk[threads]) {
    for (int k = 0; k < threads; ++k) {
      chunks_[k].next = tasks * k / threads;
      chunks_[k].end = tasks * (k + 1) / threads;
    }
  }

  // A number for another helper thread; 0 if there are enough.
  int join() { return joined_ < threads_ ? joined_++ : 0; }

  void work(int number) {
    const WatchScope scope(watch_);
    for (int k = 0; k < threads_; ++k) {
      Chunk& chunk = chunks_[(number + k) % threads_];
      int64 finished = 0;
      while (chunk.next.load(std::memory_order_relaxed) < chunk.end) {
        const int64 t = chunk.next.fetch_add(1, std::memory_order_relaxed);
        if (t >= chunk.end) break;
        task_(f_, t);
        ++finished;
      }
      if (finished > 0) done_.fetch_add(finished, std::memory_order_release);
    }
  }

  void wait() const {
    const auto all = [&] { return done_.load(std::memory_order_acquire) == tasks_; };
    poll(all, steady_clock::time_point::max());
  }

 private:
  void (*const task_)(const void*, int64);
  const void* const f_;
  Watch* const watch_;
  const int64 tasks_;
  const int threads_;
  const std::unique_ptr<Chunk[]> chunks_;
  int joined_ = 1;  // threads so far, with the caller as number 0; guarded by the pool's mutex
  std::atomic<int64> done_{0};
};

class Pool {
 public:
  void run(const std::shared_ptr<Job>& job, int threads) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      jobs_.push_back(job);
      start(threads - 1);
    }
    caller_.store(this_processor(), std::memory_order_relaxed);
    posted_.fetch_add(1);
    if (asleep_.load() > 0) posted_.notify_all();
    job->work(0);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      std::erase(jobs_, job);
    }
    job->wait();
  }

 private:
  void start(int helpers) {
    try {
      for (; started_ < helpers; ++started_) std::thread([this] { help(); }).detach();
    } catch (const std::system_error&) {  // the system provides no more threads; the existing ones do the work
    }
  }

  [[noreturn]] void help() {
    for (;;) {
      const int seen = posted_.load();
      if (const auto [job, number] = take(); job) {
        job->work(number);
        continue;
      }
      if (poll([&] { return posted_.load(std::memory_order_relaxed) != seen; }, steady_clock::now() + kPollTime))
        continue;
      ++asleep_;
      posted_.wait(seen);
      --asleep_;
      leave(caller_.load(std::memory_order_relaxed));
    }
  }

  std::pair<std::shared_ptr<Job>, int> take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const std::shared_ptr<Job>& job : jobs_) {
      if (const int number = job->join(); number > 0) return {job, number};
    }
    return {};
  }

  std::mutex mutex_;
  std::vector<std::shared_ptr<Job>> jobs_;
  int started_ = 0;
  std::atomic<int> posted_{0}, asleep_{0};  // jobs so far; threads that wait for a notification
  std::atomic<int> caller_{-1};             // the processor of the last caller
};

}  // namespace

void run_on_pool(int threads, int64 tasks, void (*task)(const void*, int64), const void* f) {
  static Pool& pool = *new Pool;  // never destroyed: its threads live as long as the process
  pool.run(std::make_shared<Job>(threads, tasks, task, f), threads);
}

}  // namespace diagsparse
