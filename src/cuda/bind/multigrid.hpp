// Multigrid on a GPU for Python.
#pragma once

#include <optional>

#include "bind/device.hpp"
#include "bind/exchange.hpp"
#include "bind/grid.hpp"
#include "kernels/multigrid/multigrid.hpp"

namespace diagsparse::cuda {

void bind_multigrid(pybind11::module_& m);
void bind_multigrid_setup(pybind11::module_& m, pybind11::class_<multigrid::Grid>& grid);

using Arrays = const DeviceArray&;

// The memory of an array of a known type.
template <class T>
T* memory_of(const DeviceArray& a) {
  const Array array = array_in_use(a);
  if (a.dtype != dtype_of<std::remove_const_t<T>>()) {
    throw pybind11::type_error("an array has another type than expected");
  }
  return static_cast<T*>(array.data);
}

// Calls f with a float or a double of the type of the array.
template <class F>
auto with_type(const DeviceArray& a, const F& f) {
  return a.dtype == DType::f32 ? f(float()) : f(double());
}

}  // namespace diagsparse::cuda
