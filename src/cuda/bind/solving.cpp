// Solving with narrow bands and with triangles on the GPU, for Python.
#include "bind/solving.hpp"

#include <pybind11/complex.h>
#include <pybind11/stl.h>

#include "bind/device.hpp"
#include "bind/exchange.hpp"
#include "kernels/banded/corrections.hpp"
#include "kernels/banded/factors.hpp"
#include "kernels/cusparse/solve.hpp"
#include "kernels/triangles/triangle.hpp"
#include "kernels/tridiagonal/corners.hpp"
#include "kernels/tridiagonal/factors.hpp"
#include "kernels/tridiagonal/members.hpp"

namespace py = pybind11;

namespace diagsparse::cuda {

namespace {

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
    const Array reciprocals = inverse ? array_in_use(*inverse) : Array();
    return triangles::of_diagonals(a, op, lower, reciprocals, offsets);
  });
  m.def("incomplete_lu", [](Matrix& a) {
    const Entry entry(a.device(), {&a});
    return triangles::factor_lu(a);
  });
  m.def("incomplete_cholesky", [](const Matrix& a, double shift, Matrix& factors) {
    const Entry entry(a.device(), {&a, &factors});
    return triangles::factor_cholesky(a, shift, factors);
  });
}

tridiagonal::Matrix matrix(const DeviceArray& lower, const DeviceArray& main, const DeviceArray& upper, int64 n,
                           int64 block, int64 stride = 0) {
  return {array_in_use(lower), array_in_use(main), array_in_use(upper), n, block, stride};
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
  // Without b and x: a verification for random numbers. Returns (singular member, row, inaccurate member), or -1.
  m.def("solve_members",
        [](const DeviceArray& lower, const DeviceArray& main, const DeviceArray& upper, int64 count,
           const std::optional<DeviceArray>& b, const std::optional<DeviceArray>& x, bool pivoting, bool verify) {
          const Entry entry(main.device);
          const int64 n = count > 0 ? main.size() / count : 0;
          const tridiagonal::Batch batch{array_in_use(lower), array_in_use(main), array_in_use(upper), n, count};
          const auto verdict = b && x ? tridiagonal::solve(batch, array_in_use(*b), array_in_use(*x), pivoting, verify)
                                      : tridiagonal::solve_random(batch, pivoting);
          return std::array{verdict.singular_member, verdict.singular_row, verdict.inaccurate};
        });
}

void bind_corners(py::module_& m) {
  using tridiagonal::Placement;
  // n: rows of a member; `interleaved`: whether the members are interleaved.
  const auto placement = [](const Dense& y, int64 n, bool interleaved) {
    return Placement{n, n > 0 ? y.rows / n : 0, interleaved};
  };
  m.def("write_ends", [=](const DeviceArray& y, int64 n, bool interleaved) {
    const Entry entry(y.device);
    const Dense columns = y.dense();
    tridiagonal::write_ends(placement(columns, n, interleaved), columns);
  });
  m.def("corner_weights", [=](const DeviceArray& y, int64 n, bool interleaved, const DeviceArray& first,
                              const DeviceArray& last) {
    const Entry entry(y.device);
    const Dense columns = y.dense();
    const Array of_first = array_in_use(first), of_last = array_in_use(last);
    return DeviceArray::of(tridiagonal::corner_weights(placement(columns, n, interleaved), of_first, of_last, columns));
  });
  m.def("correct_for_corners", [=](const DeviceArray& y, int64 n, bool interleaved, const DeviceArray& weights,
                                   const DeviceArray& x) {
    const Entry entry(x.device);
    const Dense columns = y.dense();
    tridiagonal::correct_for_corners(placement(columns, n, interleaved), columns, array_in_use(weights), x.dense());
  });
}

void bind_bands(py::module_& m) {
  using banded::Factors;
  py::class_<Factors>(m, "BandFactors", py::module_local())
      .def_property_readonly("nbytes", &Factors::nbytes)
      .def("solve", [](const Factors& factors, const DeviceArray& b, const DeviceArray& x) {
        const Entry entry(x.device);
        factors.solve(b.dense(), x.dense());
      });
  m.def("factor_band", [](const Matrix& a, Op op, int below, int above) {
    const Entry entry(a.device(), {&a});
    return Factors::of(a, op, below, above);
  });
  m.def("multiply_selected",
        [](const DeviceArray& factors, const DeviceArray& positions, const DeviceArray& x, const DeviceArray& result) {
          const Entry entry(x.device);
          banded::multiply_selected(array_in_use(factors), array_in_use(positions), x.dense(), result.dense());
        });
  m.def("subtract_combined", [](const DeviceArray& y, const DeviceArray& w, const DeviceArray& x) {
    const Entry entry(x.device);
    banded::subtract_combined(y.dense(), w.dense(), x.dense());
  });
}

}  // namespace

void bind_solving(py::module_& m) {
  bind_triangles(m);
  bind_partitions(m);
  bind_bands(m);
  bind_corners(m);
  m.def("solve_tridiagonal",
        [](const DeviceArray& lower, const DeviceArray& main, const DeviceArray& upper, const DeviceArray& x) {
          const Entry entry(x.device);
          cusparse::solve_tridiagonal(array_in_use(lower), array_in_use(main), array_in_use(upper), x.dense());
        });
  m.def("solve_pentadiagonal", [](const DeviceArray& a, const DeviceArray& b, const DeviceArray& c,
                                  const DeviceArray& d, const DeviceArray& e, const DeviceArray& x) {
    const Entry entry(x.device);
    cusparse::solve_pentadiagonal({array_in_use(a), array_in_use(b), array_in_use(c), array_in_use(d), array_in_use(e)},
                                  x.dense());
  });
}

}  // namespace diagsparse::cuda
