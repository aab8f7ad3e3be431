// The Python class of a level of multigrid, as far as it does not depend on the device.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "core/grid.hpp"

namespace diagsparse {

inline std::vector<multigrid::Step> listed(const multigrid::Steps& steps) { return {steps.begin(), steps.end()}; }

// The constructor, from the size, two sets of axes, and steps in the order of their numbers; and the attributes.
inline void bind_grid(pybind11::class_<multigrid::Grid>& grid) {
  using multigrid::Grid, multigrid::Step, multigrid::Steps;
  grid.def(pybind11::init([](std::array<int64, 3> size, std::array<bool, 3> periodic, std::array<bool, 3> coarsened,
                             const std::vector<Step>& steps) {
    unsigned set = 0;
    for (const Step& s : steps) set |= 1u << multigrid::code(s);
    const Grid built{size, periodic, coarsened, Steps(set)};
    if (listed(built.steps) != steps) throw pybind11::value_error("Grid: the steps are not in order");
    return built;
  }));
  grid.def_readonly("size", &Grid::size);
  grid.def_readonly("periodic", &Grid::periodic);
  grid.def_readonly("coarsened", &Grid::coarsened);
  grid.def_property_readonly("steps", [](const Grid& g) { return listed(g.steps); });
  grid.def_property_readonly("coarse_size", &Grid::coarse_size);
  grid.def_property_readonly("coarse_steps", [](const Grid& g) { return listed(g.coarse_steps()); });
  grid.def_property_readonly("targets", [](const Grid& g) { return listed(g.targets()); });
}

inline pybind11::tuple to_python(const multigrid::Placed& p) { return pybind11::make_tuple(p.fits, p.around); }
inline pybind11::tuple to_python(const multigrid::Definite& d) { return pybind11::make_tuple(d.positive, d.symmetric); }
inline pybind11::dict to_python(const multigrid::Statistics& s) {
  using namespace pybind11::literals;
  return pybind11::dict("row_sum"_a = s.row_sum, "norm"_a = s.norm, "bound"_a = s.bound, "coupling"_a = s.coupling);
}

}  // namespace diagsparse
