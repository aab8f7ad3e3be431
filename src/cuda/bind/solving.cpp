// Tridiagonal and pentadiagonal solves on the GPU for Python.
#include "bind/solving.hpp"

#include <pybind11/complex.h>
#include <pybind11/stl.h>

#include "bind/device.hpp"
#include "bind/exchange.hpp"
#include "kernels/cusparse/solve.hpp"
#include "kernels/tridiagonal/corners.hpp"
#include "kernels/tridiagonal/factors.hpp"

namespace py = pybind11;

namespace diagsparse::cuda {

namespace {

// A diagonal, whose memory stays valid until the work on this stream is done.
Array used(const DeviceArray& diagonal) {
  const Array array = diagonal.array();
  used_on_this_stream(array);
  return array;
}

tridiagonal::Matrix matrix(const DeviceArray& lower, const DeviceArray& main, const DeviceArray& upper, int64 n,
                           int64 block, int64 stride = 0) {
  return {used(lower), used(main), used(upper), n, block, stride};
}

void bind_partitions(py::module_& m) {
  using tridiagonal::Factors;
  py::class_<Factors>(m, "TridiagonalFactors")
      .def_property_readonly("nbytes", &Factors::nbytes)
      .def("solve", [](const Factors& factors, const DeviceArray& b, const DeviceArray& x) {
        const Entry entry(x.device);
        factors.solve(b.dense(), x.dense());
      });
  m.def("factor_tridiagonal",
        [](const DeviceArray& lower, const DeviceArray& main, const DeviceArray& upper, int64 block) {
          const Entry entry(main.device);
          return Factors::of(matrix(lower, main, upper, main.size(), block));
        });
  m.def("solve_tridiagonal_once", [](const DeviceArray& lower, const DeviceArray& main, const DeviceArray& upper,
                                     int64 block, int64 stride, const DeviceArray& b, const DeviceArray& x) {
    const Entry entry(x.device);
    const Dense rhs = b.dense();
    return tridiagonal::solve_once(matrix(lower, main, upper, rhs.rows, block, stride), rhs, x.dense());
  });
  m.def("correct_for_corners", [](const DeviceArray& y, const std::array<Scalar, 4>& m, const DeviceArray& x) {
    const Entry entry(x.device);
    tridiagonal::correct_for_corners(y.dense(), m, x.dense());
  });
}

}  // namespace

void bind_solving(py::module_& m) {
  bind_partitions(m);
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
