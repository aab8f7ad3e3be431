// Multigrid on a GPU for Python, which has checked the sizes of all arrays. Values are float32 or float64, and the
// vectors of solutions float64.
#include "bind/multigrid.hpp"

#include "core/diagonals.hpp"
#include "core/recurrence.hpp"
#include "kernels/multigrid/plane.hpp"

namespace py = pybind11;

namespace diagsparse::cuda {

namespace {

using namespace py::literals;
using multigrid::ConjugateGradients;
using multigrid::Grid;
using multigrid::Lines;
using multigrid::Plane;

void bind_cycle(py::class_<Grid>& grid) {
  grid.def("descend", [](const Grid& g, Arrays a, Arrays w, double a1, double a2, Arrays b, Arrays x, Arrays coarse,
                         Arrays work) {
    const Entry entry(a.device);
    with_type(a, [&](auto type) {
      using T = decltype(type);
      multigrid::descend<T>(g, memory_of<const T>(a), memory_of<const T>(w), {static_cast<T>(a1), static_cast<T>(a2)},
                            memory_of<const T>(b), memory_of<T>(x), memory_of<T>(coarse), memory_of<T>(work));
    });
  });
  grid.def("ascend", [](const Grid& g, Arrays a, Arrays w, double a1, double a2, Arrays b, Arrays x, Arrays e,
                        Arrays out, Arrays work) {
    const Entry entry(a.device);
    with_type(a, [&](auto type) {
      using T = decltype(type);
      multigrid::ascend<T>(g, memory_of<const T>(a), memory_of<const T>(w), {static_cast<T>(a1), static_cast<T>(a2)},
                           memory_of<const T>(b), memory_of<const T>(x), memory_of<const T>(e), memory_of<T>(out),
                           memory_of<T>(work));
    });
  });
  grid.def("restricted", [](const Grid& g, Arrays w, Arrays r, Arrays coarse) {
    const Entry entry(r.device);
    with_type(r, [&](auto type) {
      using T = decltype(type);
      multigrid::restricted<T>(g, memory_of<const T>(w), memory_of<const T>(r), memory_of<T>(coarse));
    });
  });
  grid.def("corrected", [](const Grid& g, Arrays w, Arrays x, Arrays e, Arrays out) {
    const Entry entry(x.device);
    with_type(x, [&](auto type) {
      using T = decltype(type);
      multigrid::corrected<T>(g, memory_of<const T>(w), memory_of<const T>(x), memory_of<const T>(e),
                              memory_of<T>(out));
    });
  });
  grid.def("smooth_lines", [](const Grid& g, int axis, Arrays a, Arrays inverse, double omega, Arrays r, Arrays x,
                              Arrays work) {
    const Entry entry(x.device);
    with_type(x, [&](auto type) {
      using T = decltype(type);
      multigrid::smooth_lines<T>(g, axis, memory_of<const T>(a), memory_of<const T>(inverse), static_cast<T>(omega),
                                 memory_of<const T>(r), memory_of<T>(x), memory_of<T>(work));
    });
  });
  grid.def("residual", [](const Grid& g, Arrays a, Arrays b, Arrays x, Arrays r) {
    const Entry entry(a.device);
    with_type(a, [&](auto type) {
      using T = decltype(type);
      multigrid::residual<T>(g, memory_of<const T>(a), memory_of<const T>(b), memory_of<const T>(x), memory_of<T>(r));
    });
  });
}

void bind_vectors(py::module_& m) {
  m.def("multiply_dense", [](Arrays a, Arrays x, Arrays out) {
    const Entry entry(a.device);
    with_type(a, [&](auto type) {
      using T = decltype(type);
      multigrid::multiply_dense<T>(x.size(), memory_of<const T>(a), memory_of<const T>(x), memory_of<T>(out));
    });
  });
  m.def("sums", [](Arrays x) {
    multigrid::Sums found;
    {
      const Entry entry(x.device);
      found = with_type(x, [&](auto type) { return multigrid::sums(x.size(), memory_of<const decltype(type)>(x)); });
    }
    return py::make_tuple(found.largest, found.sum, found.squares);
  });
  m.def("inner_product", [](Arrays x, Arrays y) {
    const Entry entry(x.device);
    return with_value_type(x.dtype, [&](auto type) {
      return multigrid::inner_product(x.size(), memory_of<const decltype(type)>(x), memory_of<const decltype(type)>(y));
    });
  });
  m.def("axpby", [](Scalar alpha, Arrays x, Scalar beta, Arrays y) {
    const Entry entry(x.device);
    axpby(alpha, x.dense(), beta, y.dense());
  });
  m.def("scaled_sum", [](double alpha, Arrays x, double beta, Arrays y, Arrays out) {
    const Entry entry(x.device);
    with_type(x, [&](auto type) {
      with_type(out, [&](auto to) {
        multigrid::combine(x.size(), alpha, memory_of<const decltype(type)>(x), beta,
                           memory_of<const decltype(type)>(y), memory_of<decltype(to)>(out));
      });
    });
  });
  m.def("shift", [](Arrays x, double by, Arrays out) {
    const Entry entry(x.device);
    multigrid::shift(x.size(), memory_of<const double>(x), by, memory_of<double>(out));
  });
  m.def("add_clipped_products", [](Arrays a, Arrays x, Arrays y) {
    const Entry entry(y.device);
    multigrid::add_clipped_products(y.size(), memory_of<const double>(a), memory_of<const double>(x),
                                    memory_of<double>(y));
  });
  m.def("fill_random", [](Arrays x) {
    const Entry entry(x.device);
    with_value_type(x.dtype, [&](auto type) {
      using T = decltype(type);
      const int64 parts = is_complex<T> ? 2 : 1;
      multigrid::fill_random(parts * x.size(), reinterpret_cast<Real<T>*>(memory_of<T>(x)));
    });
  });
}

// The diagonals on and above the main one, if the matrix consists of contiguous diagonals, not too many.
std::optional<multigrid::UpperDiagonals> upper_diagonals(const Matrix& matrix, Op op) {
  const auto* layout = dynamic_cast<const Layout*>(matrix.structure.get());
  const DType dtype = matrix.values.dtype;
  if (layout == nullptr || layout->packing.period > 0 || (dtype != DType::f32 && dtype != DType::f64)) return {};
  multigrid::UpperDiagonals found;
  found.dtype = dtype;
  for (const Span& span : packed_spans_of(*layout, op)) {
    if (span.offset < 0) continue;
    if (found.count == multigrid::UpperDiagonals::kMost) return {};
    found.offsets[found.count] = span.offset;
    found.at[found.count++] = static_cast<const char*>(matrix.values.data) + span.start * item_size(dtype);
  }
  if (found.count == 0 || found.offsets[0] != 0) return {};
  return found;
}

void bind_conjugate_gradients(py::module_& m) {
  py::class_<ConjugateGradients>(m, "ConjugateGradients", py::module_local())
      .def(py::init([](int device) {
        const Entry entry(device);
        return ConjugateGradients();
      }))
      .def("direction",
           [](ConjugateGradients& self, Arrays r, Arrays z, const Lines& lines, Arrays p, Arrays x,
              const DeviceArray* products) {
             const Entry entry(r.device);
             with_type(z, [&](auto type) {
               self.direction(r.size(), memory_of<const double>(r), memory_of<const decltype(type)>(z), lines,
                              memory_of<double>(p), memory_of<double>(x),
                              products ? memory_of<const double>(*products) : nullptr, products ? products->size() : 0);
             });
           })
      .def("multiply",
           [](ConjugateGradients& self, const Matrix& matrix, Op op, Arrays p, Arrays q) {
             const Entry entry(p.device, {&matrix});
             const auto upper = upper_diagonals(matrix, op);
             if (!upper) return false;
             self.multiply(p.size(), *upper, memory_of<const double>(p), memory_of<double>(q));
             return true;
           })
      .def("step",
           [](ConjugateGradients& self, Arrays p, Arrays q, Arrays r, Arrays small, const Lines& lines) {
             const Entry entry(r.device);
             return with_type(small, [&](auto type) {
               return self.step(r.size(), memory_of<const double>(p), memory_of<const double>(q), memory_of<double>(r),
                                memory_of<decltype(type)>(small), lines);
             });
           })
      .def("finish", [](ConjugateGradients& self, Arrays p, Arrays x) {
        const Entry entry(p.device);
        self.finish(p.size(), memory_of<const double>(p), memory_of<double>(x));
      });
}

// Guards a call of a plane, whose memory stays valid until the work on this stream is done.
class PlaneEntry {
 public:
  explicit PlaneEntry(const Plane& plane) : entry_(plane.b().device) { plane.used_here(); }

 private:
  Entry entry_;
};

void bind_plane(py::module_& m) {
  py::class_<Lines>(m, "Lines", py::module_local()).def(py::init<>());
  m.def("is_plane", &Plane::supports);
  py::class_<Plane>(m, "Plane", py::module_local())
      .def(py::init([](const Grid& g, Arrays a, Arrays w, double a1, double a2, const std::string& dtype) {
        const Entry entry(a.device);
        return Plane(g, memory_of<const double>(a), memory_of<const double>(w), a1, a2, dtype_of_name(dtype));
      }))
      .def_property_readonly("b", [](const Plane& p) { return DeviceArray::of(p.b()); })
      .def_property_readonly("e", [](const Plane& p) { return DeviceArray::of(p.e()); })
      .def("products",
           [](Plane& p) {
             const PlaneEntry entry(p);
             return DeviceArray::of(p.products());
           })
      .def_property_readonly("lines", &Plane::lines)
      .def_property_readonly("nbytes", &Plane::nbytes)
      .def("load",
           [](const Plane& p, Arrays flat) {
             const PlaneEntry entry(p);
             p.load(array_in_use(flat));
           })
      .def("unload",
           [](const Plane& p, Arrays flat) {
             const PlaneEntry entry(p);
             p.unload(array_in_use(flat));
           })
      .def("descend",
           [](const Plane& p, const Plane& below) {
             const PlaneEntry entry(p);
             p.descend(below);
           })
      .def("descend",
           [](const Plane& p, Arrays below) {
             const PlaneEntry entry(p);
             p.descend(array_in_use(below));
           })
      .def("ascend",
           [](const Plane& p, const Plane& below) {
             const PlaneEntry entry(p);
             p.ascend(below);
           })
      .def("ascend",
           [](Plane& p, Arrays below) {
             const PlaneEntry entry(p);
             p.ascend_from_flat(array_in_use(below));
           })
      .def("begin_correction",
           [](Plane& p) {
             const PlaneEntry entry(p);
             p.begin_correction();
           })
      .def("end_correction", [](const Plane& p) {
        const PlaneEntry entry(p);
        p.end_correction();
      });
}

}  // namespace

void bind_multigrid(py::module_& m) {
  py::class_<Grid> grid(m, "Grid", py::module_local());
  bind_grid(grid);
  bind_multigrid_setup(m, grid);
  bind_cycle(grid);
  bind_vectors(m);
  bind_plane(m);
  bind_conjugate_gradients(m);
}

}  // namespace diagsparse::cuda
