// Solving with narrow bands and with triangles on the GPU, for Python.
#include "bind/solving.hpp"

#include <pybind11/stl.h>

#include "bind/device.hpp"
#include "bind/exchange.hpp"
#include "kernels/cusparse/solve.hpp"
#include "kernels/triangles/triangle.hpp"

namespace py = pybind11;

namespace diagsparse::cuda {

namespace {

// A diagonal, whose memory stays valid until the work on this stream is done.
Array used(const DeviceArray& diagonal) {
  const Array array = diagonal.array();
  used_on_this_stream(array);
  return array;
}

void bind_triangles(py::module_& m) {
  using triangles::Triangle;
  py::class_<Triangle>(m, "Triangle", py::module_local())
      .def_property_readonly("order", &Triangle::order)
      .def_property_readonly("nbytes", &Triangle::nbytes)
      .def("solve", [](Triangle& t, const DeviceArray& x) {
        const Entry entry(x.device, {&t.matrix});
        used_on_this_stream(t.inverse);
        t.solve(x.dense());
      });
  m.def("triangle_of_rows", [](const Matrix& a, Op op, bool lower, bool unit) {
    const Entry entry(a.device(), {&a});
    return triangles::by_levels(a, op, lower, unit);
  });
  m.def("triangle_of_diagonals", [](const Matrix& a, Op op, bool lower, const std::optional<DeviceArray>& inverse,
                                    const std::vector<int64>& offsets) {
    const Entry entry(a.device(), {&a});
    const Array reciprocals = inverse ? used(*inverse) : Array();
    return triangles::of_diagonals(a, op, lower, reciprocals, offsets);
  });
}

}  // namespace

void bind_solving(py::module_& m) {
  bind_triangles(m);
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
