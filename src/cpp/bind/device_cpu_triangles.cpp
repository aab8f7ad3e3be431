// The bindings of triangles and incomplete factors on the CPU. Python has checked the sizes of all arrays.
#include "bind/device.hpp"
#include "bind/subjects.hpp"
#include "cpu/incomplete.hpp"
#include "cpu/triangle.hpp"

namespace py = pybind11;

namespace diagsparse {

namespace {

using triangles::System;

const char* name_of(triangles::Order order) {
  constexpr const char* names[] = {"rows", "levels", "blocks", "lines"};
  return names[static_cast<int>(order)];
}

}  // namespace

void bind_triangles(py::module_& m) {
  py::class_<System>(m, "HostTriangle", py::module_local())
      .def_readonly("singular", &System::singular)
      .def_readonly("finite", &System::finite)
      .def_property_readonly("order", [](const System& t) { return name_of(t.order); })
      .def_property_readonly("nbytes", &System::nbytes)
      .def("solve", [](const System& t, py::array x) {
        const Array to = array_from(x);
        const int64 columns = to.shape.cols < 0 ? 1 : to.shape.cols;
        if (to.dtype != t.matrix.dtype || to.shape.rows != t.rows || !to.writeable) {
          throw std::invalid_argument("solve: the array does not fit the triangle");
        }
        const Entry entry(0);
        with_value_type(to.dtype, [&](auto zero) {
          using T = decltype(zero);
          ForEachSet<triangles::Solve<T>>::best()(t, to.as<T>(), columns);
        });
      });
  m.def("triangle", [](const Matrix& a, Op op, bool lower, bool unit) {
    const Entry entry(0, {&a});
    return triangles::analyzed(a, op, lower, unit);
  });
  m.def("incomplete_lu", [](Matrix& a) {
    const Entry entry(0, {&a});
    return incomplete::factor_lu(a);
  });
  m.def("incomplete_cholesky", [](Matrix& a) {
    const Entry entry(0, {&a});
    return incomplete::factor_cholesky(a);
  });
}

}  // namespace diagsparse
