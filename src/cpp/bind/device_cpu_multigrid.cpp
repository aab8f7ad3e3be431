// The bindings of multigrid on the CPU. Python has checked the sizes of all arrays.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "bind/device.hpp"
#include "bind/grid.hpp"
#include "bind/subjects.hpp"
#include "cpu/multigrid.hpp"

namespace py = pybind11;

namespace diagsparse {

namespace {

using namespace py::literals;
using multigrid::Cycle;
using multigrid::Grid;
using multigrid::LineSmoother;
using multigrid::Smoother;
template <class T>
using Values = py::array_t<T, py::array::c_style>;

template <class T>
void bind_cycle(py::class_<Grid>& grid) {
  grid.def(
      "rounded",
      [](const Grid& g, const Values<double>& a, Values<T> result) {
        T* to = result.mutable_data();
        const Entry entry(0);
        multigrid::rounded(g, a.data(), to);
      },
      "a"_a.noconvert(), "result"_a.noconvert());
  grid.def(
      "descend",
      [](const Grid& g, const Values<T>& a, const Values<T>& w, T a1, T a2, const Values<T>& b, Values<T> x,
         Values<T> coarse) {
        T *to = x.mutable_data(), *next = coarse.mutable_data();
        const Entry entry(0);
        ForEachSet<Cycle<T>>::best().descend(g, a.data(), w.data(), {a1, a2}, b.data(), to, next);
      },
      "a"_a.noconvert(), "w"_a.noconvert(), "a1"_a, "a2"_a, "b"_a.noconvert(), "x"_a.noconvert(),
      "coarse"_a.noconvert());
  grid.def(
      "ascend",
      [](const Grid& g, const Values<T>& a, const Values<T>& w, T a1, T a2, const Values<T>& b, const Values<T>& x,
         const Values<T>& e, Values<T> out) {
        T* to = out.mutable_data();
        const Entry entry(0);
        ForEachSet<Cycle<T>>::best().ascend(g, a.data(), w.data(), {a1, a2}, b.data(), x.data(), e.data(), to);
      },
      "a"_a.noconvert(), "w"_a.noconvert(), "a1"_a, "a2"_a, "b"_a.noconvert(), "x"_a.noconvert(), "e"_a.noconvert(),
      "out"_a.noconvert());
  grid.def(
      "residual",
      [](const Grid& g, const Values<T>& a, const Values<T>& b, const Values<T>& x, Values<T> r) {
        T* to = r.mutable_data();
        const Entry entry(0);
        ForEachSet<Cycle<T>>::best().residual(g, a.data(), b.data(), x.data(), to);
      },
      "a"_a.noconvert(), "b"_a.noconvert(), "x"_a.noconvert(), "r"_a.noconvert());
}

template <class T>
void bind_lines(py::class_<Grid>& grid) {
  grid.def(
      "pivots",
      [](const Grid& g, int axis, const Values<double>& a, Values<T> inverse) {
        T* to = inverse.mutable_data();
        const Entry entry(0);
        multigrid::pivots(g, axis, a.data(), to);
      },
      "axis"_a, "a"_a.noconvert(), "inverse"_a.noconvert());
  grid.def(
      "smooth_lines",
      [](const Grid& g, int axis, const Values<T>& a, const Values<T>& inverse, T omega, const Values<T>& r,
         Values<T> x) {
        T* to = x.mutable_data();
        const Entry entry(0);
        ForEachSet<LineSmoother<T>>::best().smooth(g, axis, a.data(), inverse.data(), omega, r.data(), to);
      },
      "axis"_a, "a"_a.noconvert(), "inverse"_a.noconvert(), "omega"_a, "r"_a.noconvert(), "x"_a.noconvert());
  grid.def(
      "restricted",
      [](const Grid& g, const Values<T>& w, const Values<T>& r, Values<T> coarse) {
        T* to = coarse.mutable_data();
        const Entry entry(0);
        ForEachSet<LineSmoother<T>>::best().restricted(g, w.data(), r.data(), to);
      },
      "w"_a.noconvert(), "r"_a.noconvert(), "coarse"_a.noconvert());
  grid.def(
      "corrected",
      [](const Grid& g, const Values<T>& w, const Values<T>& x, const Values<T>& e, Values<T> out) {
        T* to = out.mutable_data();
        const Entry entry(0);
        ForEachSet<LineSmoother<T>>::best().corrected(g, w.data(), x.data(), e.data(), to);
      },
      "w"_a.noconvert(), "x"_a.noconvert(), "e"_a.noconvert(), "out"_a.noconvert());
}

}  // namespace

void bind_multigrid(py::module_& m) {
  py::class_<Grid> grid(m, "Grid", py::module_local());
  bind_grid(grid);
  grid.def(
      "place",
      [](const Grid& g, int64 offset, const Values<double>& diagonal, Values<double> a) {
        double* to = a.mutable_data();
        multigrid::Placed placed;
        {
          const Entry entry(0);
          placed = multigrid::place(g, offset, diagonal.data(), to);
        }
        return to_python(placed);
      },
      "offset"_a, "diagonal"_a.noconvert(), "a"_a.noconvert());
  grid.def(
      "definite",
      [](const Grid& g, const Values<double>& a, double tolerance) {
        multigrid::Definite found;
        {
          const Entry entry(0);
          found = multigrid::definite(g, a.data(), tolerance);
        }
        return to_python(found);
      },
      "a"_a.noconvert(), "tolerance"_a);
  grid.def(
      "interpolation",
      [](const Grid& g, const Values<double>& a, Values<double> weights) {
        double* to = weights.mutable_data();
        const Entry entry(0);
        multigrid::interpolation(g, a.data(), to);
      },
      "a"_a.noconvert(), "weights"_a.noconvert());
  grid.def(
      "galerkin",
      [](const Grid& g, const Values<double>& a, const Values<double>& w, Values<double> coarse) {
        double* to = coarse.mutable_data();
        const Entry entry(0);
        multigrid::galerkin(g, a.data(), w.data(), to);
      },
      "a"_a.noconvert(), "w"_a.noconvert(), "coarse"_a.noconvert());
  grid.def(
      "statistics",
      [](const Grid& g, const Values<double>& a) {
        multigrid::Statistics found;
        {
          const Entry entry(0);
          found = multigrid::statistics(g, a.data());
        }
        return to_python(found);
      },
      "a"_a.noconvert());
  bind_cycle<float>(grid);
  bind_cycle<double>(grid);
  bind_lines<float>(grid);
  bind_lines<double>(grid);
}

}  // namespace diagsparse
