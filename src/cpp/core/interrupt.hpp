// Interruptible work: between blocks, long operations check a few times a second whether to continue.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

namespace diagsparse {

// Thrown by work that its caller interrupted.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

// One watch for each call into native code. Every thread that works for the call sets it as its current watch.
class Watch {
 public:
  virtual ~Watch() = default;

  // Throws Interrupted if the work should stop. Only the thread that created the watch calls interrupted(); the other
  // threads read its result.
  void check() {
    if (ended_.load(std::memory_order_relaxed)) throw Interrupted();
    if (std::this_thread::get_id() != owner_) return;
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
  std::thread::id owner_ = std::this_thread::get_id();
  std::chrono::steady_clock::time_point next_{};
};

Watch* current_watch();  // nullptr if this thread has none
void set_current_watch(Watch* watch);

// Sets the thread's watch for the current scope.
class WatchScope {
 public:
  explicit WatchScope(Watch* watch) : previous_(current_watch()) { set_current_watch(watch); }
  ~WatchScope() { set_current_watch(previous_); }
  WatchScope(const WatchScope&) = delete;

 private:
  Watch* previous_;
};

// For loops inside long tasks.
inline void checkpoint() {
  if (Watch* watch = current_watch()) watch->check();
}

}  // namespace diagsparse
