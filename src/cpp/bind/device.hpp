// What the binding needs from its device: device_cpu.cpp for `_core`, src/cuda/bind for `_cuda`.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <span>

#include "bind/exports.hpp"
#include "bind/python_lock.hpp"
#include "core/interrupt.hpp"
#include "core/matrix.hpp"

namespace diagsparse {

// Between Python's arrays and ours, without a copy.
Dense dense_from(pybind11::handle object);       // a vector or block that a kernel reads or writes
Array array_from(pybind11::handle object);       // contiguous memory, kept alive by the result
pybind11::object to_python(const Array& array);  // a view that keeps the memory alive

// What Python passes as a name; the same in both modules.
DType dtype_from_name(const std::string& name);

// NumPy's dtype, and host memory as a NumPy array; the same in both modules.
pybind11::dtype numpy_dtype(DType t);
pybind11::object to_numpy(const Array& array);

// Lives while native code works: other Python threads run, a signal ends the work between blocks, and a GPU module
// works on this device and on the caller's stream. The arrays of `used` stay whole until that work is done.
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
  struct State;  // what only one module has

  std::unique_ptr<State> state_;
  Caller caller_;
  OnWatch on_watch_{&caller_};
};

void bind_device(pybind11::module_& module);  // what one module has and the other has not
void bind_module(pybind11::module_& module);  // all of it; the entry into each module calls it

}  // namespace diagsparse
