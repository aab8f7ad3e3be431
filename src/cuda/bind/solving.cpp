// Tridiagonal and pentadiagonal solves on the GPU for Python.
#include "bind/solving.hpp"

#include "bind/device.hpp"
#include "bind/exchange.hpp"
#include "kernels/cusparse/solve.hpp"

namespace py = pybind11;

namespace diagsparse::cuda {

namespace {

// A diagonal, whose memory stays valid until the work on this stream is done.
Array used(const DeviceArray& diagonal) {
  const Array array = diagonal.array();
  used_on_this_stream(array);
  return array;
}

}  // namespace

void bind_solving(py::module_& m) {
  m.def("solve_tridiagonal",
        [](const DeviceArray& lower, const DeviceArray& main, const DeviceArray& upper, const DeviceArray& x) {
          const Entry entry(x.device);
          cusparse::solve_tridiagonal(used(lower), used(main), used(upper), x.dense());
        });
  m.def("solve_pentadiagonal", [](const DeviceArray& a, const DeviceArray& b, const DeviceArray& c,
                                  const DeviceArray& d, const DeviceArray& e, const DeviceArray& x) {
    const Entry entry(x.device);
    cusparse::solve_pentadiagonal({used(a), used(b), used(c), used(d), used(e)}, x.dense());
  });
}

}  // namespace diagsparse::cuda
