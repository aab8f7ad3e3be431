// Releasing the GIL while native code runs, and Python objects that native code keeps alive.
//
// If a thread outlives the interpreter (a daemon thread inside a product at exit), Python terminates it when it
// requests the GIL again: its stack is unwound through destructors that must not throw, and the process would abort.
// Such a thread waits for the end of the process instead, as it does in Python 3.14.
#pragma once

#include <cxxabi.h>
#include <pybind11/pybind11.h>
#include <unistd.h>

#include <memory>

namespace diagsparse {

// Runs f(), which acquires the GIL and may therefore be terminated by Python.
template <class F>
void unless_python_ends(const F& f) noexcept {
  try {
    f();
  } catch (abi::__forced_unwind&) {
    for (;;) pause();
  }
}

// Whether this is the thread in which Python handles signals.
inline bool on_main_thread() {
  static const auto main =
      pybind11::module_::import("threading").attr("main_thread")().attr("ident").cast<unsigned long>();
  return PyThread_get_thread_ident() == main;
}

// Releases the GIL for the lifetime of the object.
class Unlocked {
 public:
  Unlocked() : thread_(PyEval_SaveThread()) {}
  ~Unlocked() {
    unless_python_ends([this] { PyEval_RestoreThread(thread_); });
  }
  Unlocked(const Unlocked&) = delete;

  // Whether a signal (Ctrl-C) requests an interrupt; its Python exception is then set.
  bool interrupted() {
    bool raised = false;
    unless_python_ends([&] {
      PyEval_RestoreThread(thread_);
      raised = PyErr_CheckSignals() != 0;
      thread_ = PyEval_SaveThread();
    });
    return raised;
  }

 private:
  PyThreadState* thread_;
};

// A reference to a Python object with get() == data. It may be released on any thread.
inline std::shared_ptr<void> keep_alive(pybind11::handle object, void* data) {
  object.inc_ref();
  return std::shared_ptr<void>(data, [held = object.ptr()](void*) {
    if (!Py_IsInitialized()) return;
    unless_python_ends([held] {
      const pybind11::gil_scoped_acquire locked;
      Py_DECREF(held);
    });
  });
}

}  // namespace diagsparse
