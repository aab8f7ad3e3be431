// Python's lock, given back while native code works; and Python objects that native code keeps alive.
//
// A thread that outlives the interpreter (a daemon thread inside a product at exit) is ended by Python when it asks for
// the lock again: its stack is unwound, through destructors that may not throw, and the process would abort. Such a
// thread waits for the end of the process instead, as Python 3.14 lets it.
#pragma once

#include <cxxabi.h>
#include <pybind11/pybind11.h>
#include <unistd.h>

#include <memory>

namespace diagsparse {

// Runs f(), which asks for Python's lock, on a thread that Python may want to end there.
template <class F>
void unless_python_ends(const F& f) noexcept {
  try {
    f();
  } catch (abi::__forced_unwind&) {
    for (;;) pause();
  }
}

// Whether this is the thread to which Python brings signals.
inline bool on_main_thread() {
  static const auto main =
      pybind11::module_::import("threading").attr("main_thread")().attr("ident").cast<unsigned long>();
  return PyThread_get_thread_ident() == main;
}

// Other Python threads run while one lives.
class Unlocked {
 public:
  Unlocked() : thread_(PyEval_SaveThread()) {}
  ~Unlocked() {
    unless_python_ends([this] { PyEval_RestoreThread(thread_); });
  }
  Unlocked(const Unlocked&) = delete;

  // Whether a signal (Ctrl-C) wants the work to end; its Python exception is set then.
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

// A share in a Python object, given up on whatever thread its last owner ends; get() is `data`.
inline std::shared_ptr<void> keep_alive(pybind11::handle object, void* data) {
  object.inc_ref();
  return std::shared_ptr<void>(data, [kept = object.ptr()](void*) {
    if (!Py_IsInitialized()) return;
    unless_python_ends([kept] {
      const pybind11::gil_scoped_acquire locked;
      Py_DECREF(kept);
    });
  });
}

}  // namespace diagsparse
