// Long work that its caller may end: between blocks it asks, a few times a second, whether to go on.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

namespace diagsparse {

// Thrown by work that its caller has ended.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

// One for each call into native code; every thread that works for the call has it as its own.
class Watch {
 public:
  virtual ~Watch() = default;

  // Throws Interrupted where the work is to end. Only the thread that made the watch asks; the others hear of it.
  void check() {
    if (ended_.load(std::memory_order_relaxed)) throw Interrupted();
    if (std::this_thread::get_id() != asks_) return;
    const auto now = std::chrono::steady_clock::now();
    const bool fresh = next_ == std::chrono::steady_clock::time_point();
    if (!fresh && now < next_) return;
    next_ = now + std::chrono::milliseconds(100);
    if (fresh || !interrupted()) return;
    ended_.store(true, std::memory_order_relaxed);
    throw Interrupted();
  }

 private:
  virtual bool interrupted() = 0;

  std::atomic<bool> ended_{false};
  std::thread::id asks_ = std::this_thread::get_id();
  std::chrono::steady_clock::time_point next_{};
};

Watch* current_watch();  // this thread's, nullptr where it has none
void set_current_watch(Watch* watch);

// The thread's watch, from here to the end of the scope.
class OnWatch {
 public:
  explicit OnWatch(Watch* watch) : before_(current_watch()) { set_current_watch(watch); }
  ~OnWatch() { set_current_watch(before_); }
  OnWatch(const OnWatch&) = delete;

 private:
  Watch* before_;
};

// For loops inside of a long task.
inline void checkpoint() {
  if (Watch* watch = current_watch()) watch->check();
}

}  // namespace diagsparse
