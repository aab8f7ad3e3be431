// The part of the bindings that depends on the device: device_cpu.cpp for `_core`, src/cuda/bind for `_cuda`.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <functional>
#include <span>

#include "bind/exports.hpp"
#include "bind/python_lock.hpp"
#include "core/interrupt.hpp"
#include "core/matrix.hpp"
#include "core/validation.hpp"

namespace diagsparse {

// Conversions between Python's arrays and those of C++, without a copy.
Dense dense_from(pybind11::handle object);       // a vector or block that a kernel reads or writes
Array array_from(pybind11::handle object);       // contiguous memory, which the result keeps alive
pybind11::object to_python(const Array& array);  // a view that keeps the memory alive

// The dtype of a name that Python passes; the same in both modules.
DType dtype_from_name(const std::string& name);

// The NumPy dtype, and host memory as a NumPy array; the same in both modules.
pybind11::dtype numpy_dtype(DType t);
pybind11::object to_numpy(const Array& array);
pybind11::dict by_name(const std::vector<Part>& arrays);  // to_python of each

// Guards a call into native code. While it exists, other Python threads can run, and a signal interrupts the work
// between blocks. A GPU module works on this device and on the caller's stream, and the arrays of `used` stay allocated
// until that work is complete.
class Entry {
 public:
  explicit Entry(int device, std::initializer_list<const Matrix*> used = {})
      : Entry(device, std::span(used.begin(), used.size())) {}
  Entry(int device, std::span<const Matrix* const> used);
  ~Entry();
  Entry(const Entry&) = delete;

 private:
  class Caller : public Watch {
    bool interrupted() override { return on_main_thread() && unlocked_.interrupted(); }
    Unlocked unlocked_;
  };
  struct State;  // members that only one module has

  std::unique_ptr<State> state_;
  Caller caller_;
  WatchScope watch_scope_{&caller_};
};

// Does work for a caller other than Python, which does not hold its lock: on the current device, and in a GPU module on
// this stream.
void run_in_stream(void* stream, const std::function<void(int device)>& work);

// f as a function for Python, called with a guard for the matrix that is its first argument.
template <class Result, class... Arguments>
auto guarded(Result (*f)(const Matrix&, Arguments...)) {
  return [f](const Matrix& a, Arguments... arguments) {
    const Entry entry(a.device(), {&a});
    return f(a, arguments...);
  };
}

void bind_device(pybind11::module_& module);  // bindings that only one module has
void bind_module(pybind11::module_& module);  // all bindings; called by the entry point of each module

}  // namespace diagsparse

namespace pybind11::detail {

// Python passes op as bits.
template <>
class type_caster<diagsparse::Op> {
 public:
  PYBIND11_TYPE_CASTER(diagsparse::Op, const_name("int"));
  bool load(handle source, bool convert) {
    make_caster<int> bits;
    if (!bits.load(source, convert)) return false;
    value = diagsparse::op_from(cast_op<int>(bits));
    return true;
  }
};

}  // namespace pybind11::detail
