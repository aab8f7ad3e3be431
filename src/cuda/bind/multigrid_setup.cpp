// The set-up of multigrid on a GPU for Python, which has checked the sizes of all arrays.
#include "bind/multigrid.hpp"
#include "core/diagonals.hpp"

namespace py = pybind11;

namespace diagsparse::cuda {

namespace {

using multigrid::Grid;

// The diagonals of the steps of a grid, if the matrix has one for each step and no other.
std::optional<multigrid::StepDiagonals> step_diagonals(const Grid& grid, const Matrix& matrix, Op op) {
  const auto* layout = dynamic_cast<const Layout*>(matrix.structure.get());
  const DType dtype = matrix.values.dtype;
  if (layout == nullptr || layout->packing.period > 0 || (dtype != DType::f32 && dtype != DType::f64)) return {};
  const std::vector<Span> spans = packed_spans_of(*layout, op);
  multigrid::StepDiagonals found;
  found.dtype = dtype;
  if (!multigrid::is_common(grid) || static_cast<int>(spans.size()) != grid.steps.size()) return {};
  for (int s = 0; s < grid.steps.size(); ++s) {
    const multigrid::Step& o = grid.steps[s];
    const int64 offset = (o[0] * grid.size[1] + o[1]) * grid.size[2] + o[2];
    // Both are in ascending order, if no two steps have the same offset.
    if (spans[s].offset != offset || (s > 0 && offset <= found.offsets[s - 1])) return {};
    found.offsets[s] = offset;
    found.at[s] = static_cast<const char*>(matrix.values.data) +
                  (spans[s].start - std::max<int64>(0, -offset)) * item_size(dtype);
  }
  return found;
}

}  // namespace

void bind_multigrid_setup(py::module_& m, py::class_<Grid>& grid) {
  m.def("gather_coefficients",
        [](const Grid& g, const Matrix& matrix, Op op, double tolerance, Arrays a) -> py::object {
          std::optional<multigrid::Gathered> found;
          {
            const Entry entry(a.device, {&matrix});
            if (const auto diagonals = step_diagonals(g, matrix, op)) {
              found = multigrid::gather(g, *diagonals, tolerance, memory_of<double>(a));
            }
          }
          if (!found) return py::none();
          return py::make_tuple(found->fits, to_python(found->definite), to_python(found->statistics));
        });
  grid.def("place", [](const Grid& g, int64 offset, Arrays diagonal, Arrays a) {
    multigrid::Placed placed;
    {
      const Entry entry(a.device);
      placed = multigrid::place(g, offset, memory_of<const double>(diagonal), memory_of<double>(a));
    }
    return to_python(placed);
  });
  grid.def("definite", [](const Grid& g, Arrays a, double tolerance) {
    multigrid::Definite found;
    {
      const Entry entry(a.device);
      found = multigrid::definite(g, memory_of<const double>(a), tolerance);
    }
    return to_python(found);
  });
  grid.def("statistics", [](const Grid& g, Arrays a) {
    multigrid::Statistics found;
    {
      const Entry entry(a.device);
      found = multigrid::statistics(g, memory_of<const double>(a));
    }
    return to_python(found);
  });
  grid.def("rounded", [](const Grid& g, Arrays a, Arrays result) {
    const Entry entry(a.device);
    with_type(result,
              [&](auto type) { multigrid::rounded(g, memory_of<const double>(a), memory_of<decltype(type)>(result)); });
  });
  grid.def("pivots", [](const Grid& g, int axis, Arrays a, Arrays inverse) {
    const Entry entry(a.device);
    with_type(inverse, [&](auto type) {
      multigrid::pivots(g, axis, memory_of<const double>(a), memory_of<decltype(type)>(inverse));
    });
  });
  grid.def("interpolation", [](const Grid& g, Arrays a, Arrays weights) {
    const Entry entry(a.device);
    multigrid::interpolation(g, memory_of<const double>(a), memory_of<double>(weights));
  });
  grid.def("galerkin", [](const Grid& g, Arrays a, Arrays w, Arrays coarse) {
    const Entry entry(a.device);
    multigrid::galerkin(g, memory_of<const double>(a), memory_of<const double>(w), memory_of<double>(coarse));
  });
}

}  // namespace diagsparse::cuda
