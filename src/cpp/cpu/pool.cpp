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

namespace diagsparse {

namespace {

using std::chrono::steady_clock;

// How long a thread looks for more work before it sleeps. Waking it takes 5 to 50 us, on a virtual machine 100 and
// more, and Python takes 1 to 30 between two products. A thread that woke up too late for its share must not sleep
// again before the next product comes, or it is late for ever: products of 120 us on one thread took as long on two. It
// yields meanwhile: a library of linear algebra may have work for the processor.
constexpr auto kLooking = std::chrono::microseconds(300);

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Calls done() until it holds: at once, then between calls of the system that lets other threads run.
template <class F>
bool look(const F& done, steady_clock::time_point until) {
  for (int round = 0;; ++round) {
    for (int n = 0; n < 64; ++n) {
      if (done()) return true;
      relax();
    }
    if (round > 8) std::this_thread::yield();
    if (steady_clock::now() > until) return false;
  }
}

struct alignas(64) Share {
  std::atomic<int64> next;
  int64 end;
};

// What one caller has to do. The threads that help may outlive it, with nothing left to take.
class Job {
 public:
  Job(int threads, int64 tasks, void (*task)(const void*, int64), const void* f)
      : task_(task), f_(f), watch_(current_watch()), tasks_(tasks), shares_(threads), share_(new Share[threads]) {
    for (int k = 0; k < threads; ++k) {
      share_[k].next = tasks * k / threads;
      share_[k].end = tasks * (k + 1) / threads;
    }
  }

  // A number for a thread that helps, 0 where there are enough.
  int join() { return joined_ < shares_ ? joined_++ : 0; }

  void work(int number) {
    const WatchScope here(watch_);
    for (int k = 0; k < shares_; ++k) {
      Share& share = share_[(number + k) % shares_];
      int64 taken = 0;
      while (share.next.load(std::memory_order_relaxed) < share.end) {
        const int64 t = share.next.fetch_add(1, std::memory_order_relaxed);
        if (t >= share.end) break;
        task_(f_, t);
        ++taken;
      }
      if (taken > 0) done_.fetch_add(taken, std::memory_order_release);
    }
  }

  void wait() const {
    const auto all = [&] { return done_.load(std::memory_order_acquire) == tasks_; };
    look(all, steady_clock::time_point::max());
  }

 private:
  void (*const task_)(const void*, int64);
  const void* const f_;
  Watch* const watch_;
  const int64 tasks_;
  const int shares_;
  const std::unique_ptr<Share[]> share_;
  int joined_ = 1;  // of which the caller is number 0; the pool's mutex guards it
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
    } catch (const std::system_error&) {  // the system gives no more: those that there are do the work
    }
  }

  [[noreturn]] void help() {
    for (;;) {
      const int seen = posted_.load();
      if (const auto [job, number] = take(); job) {
        job->work(number);
        continue;
      }
      if (look([&] { return posted_.load(std::memory_order_relaxed) != seen; }, steady_clock::now() + kLooking))
        continue;
      ++asleep_;
      posted_.wait(seen);
      --asleep_;
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
  std::atomic<int> posted_{0}, asleep_{0};  // jobs so far; threads that wait to be told of the next one
};

}  // namespace

void share_out(int threads, int64 tasks, void (*task)(const void*, int64), const void* f) {
  static Pool& pool = *new Pool;  // never ends: its threads live as long as the process
  pool.run(std::make_shared<Job>(threads, tasks, task, f), threads);
}

}  // namespace diagsparse
