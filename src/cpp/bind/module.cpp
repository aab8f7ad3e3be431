// The Python side of the C++ core. No format is named here; every call takes plain arguments that
// python/diagsparse/_matrix has checked in the user's words.
#include <pybind11/complex.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bind/batches.hpp"
#include "bind/device.hpp"
#include "core/convert.hpp"
#include "core/gate.hpp"
#include "core/matvec.hpp"
#include "core/plan.hpp"

namespace py = pybind11;
using namespace diagsparse;

namespace diagsparse {

DType dtype_from_name(const std::string& name) {
  for (DType t : {DType::f32, DType::f64, DType::c64, DType::c128}) {
    if (name == dtype_name(t)) return t;
  }
  throw py::type_error("values of type " + name);
}

}  // namespace diagsparse

namespace {

py::dict parts(const Matrix& m) {
  py::dict out;
  for (const Part& part : m.parts()) out[py::str(part.first)] = to_python(part.second);
  return out;
}

// The fewest elements after which a vector on the host repeats itself: its length less that of its longest border.
int64 shortest_period(const py::array& vector) {
  const auto n = static_cast<int64>(vector.size());
  const char* bytes = static_cast<const char*>(vector.data());
  const auto item = static_cast<int64>(vector.itemsize());
  const Unlocked unlocked;
  const auto same = [=](int64 i, int64 j) { return std::memcmp(bytes + i * item, bytes + j * item, item) == 0; };
  std::vector<int64> border(n + 1, 0);  // of the first i elements (Knuth, Morris, Pratt)
  for (int64 i = 1, k = 0; i < n; border[++i] = k) {
    while (k > 0 && !same(i, k)) k = border[k];
    if (same(i, k)) ++k;
  }
  return std::max<int64>(1, n - border[n]);
}

Matrix checked(Matrix m) {
  const Entry entry(m.device(), {&m});
  check_matrix(m);
  return m;
}

// The options of a matrix of diagonals that save bytes; none for the other formats.
Packing packing_of(const Matrix& m) {
  const auto* layout = dynamic_cast<const Layout*>(m.structure.get());
  return layout ? layout->packing : Packing{};
}

// A matrix with the structure of m and other values, which nobody has checked.
Matrix over(const Matrix& m, py::object values) { return {m.structure, array_from(values)}; }

// A diagonal of `spans(op)`: offset, first row, length, start in the value array.
py::array spans(const Matrix& m, int op) {
  const std::vector<Span> all = packed_spans_of(m.layout(), op_from(op));
  py::array_t<int64> out({static_cast<py::ssize_t>(all.size()), py::ssize_t{4}});
  int64* to = out.mutable_data();
  for (const Span& s : all) {
    for (const int64 field : {s.offset, s.row, s.length, s.start}) *to++ = field;
  }
  return out;
}

Matrix diagonal_matrix(const std::string& format, int64 rows, int64 cols, std::vector<int64> labels, py::object values,
                       const std::string& dtype, int device, int symmetry, int64 period) {
  const DiagonalFormat& f = diagonal_format(format);
  check_shape(f, rows, cols);
  auto layout =
      std::make_shared<const Layout>(pack(f.place(rows, cols, std::move(labels)), packing_from(symmetry, period)));
  if (values.is_none()) {
    const DType type = dtype_from_name(dtype);
    const Entry entry(device);
    Array zeros = Array::zeros(type, layout->values_shape);
    return {std::move(layout), std::move(zeros)};
  }
  return checked({std::move(layout), array_from(values)});
}

// A matrix of a format made of index arrays, to which nobody may write from here on.
Matrix indexed_matrix(const std::string& format, int64 rows, int64 cols, py::object values,
                      const std::vector<std::pair<std::string, py::object>>& arrays) {
  std::vector<Part> parts;
  for (const auto& [name, array] : arrays) parts.emplace_back(name, array_from(array));
  Array given = array_from(values);
  const int64 count = parts.empty() ? 0 : parts.front().second.size();
  return checked(
      {std::make_shared<const Indices>(format_of(format).name, rows, cols, std::move(parts), count), std::move(given)});
}

// The transpose on the same memory, in the format that stores it so: csr for csc and the other way round.
Matrix dual(const Matrix& m) {
  return {dynamic_cast<const Indices&>(*m.structure).transposed(format_of(m.format).dual), m.values};
}

Matrix with_values(const Matrix& m, py::object values) {
  Matrix out = over(m, values);
  check_values(out, m.values.shape);
  if (packing_of(out).symmetry == Symmetry::hermitian) {
    const Entry entry(out.device(), {&out});
    check_main_diagonal(out);
  }
  return out;
}

void run_matvec(const Matrix& a, int op, py::handle x, py::handle y, Scalar alpha, Scalar beta,
                const std::string& kernel) {
  const Dense in = dense_from(x), out = dense_from(y);
  const Entry entry(a.device(), {&a});
  matvec(a, op_from(op), alpha, in, beta, out, kernel);
}

void run_chain(const Matrix& a, int op, const Recurrence& r, py::handle x, py::handle y, const std::string& kernel) {
  const Dense in = dense_from(x), out = dense_from(y);
  const Entry entry(a.device(), {&a});
  chain(a, op_from(op), r, in, out, kernel);
}

Matrix run_plan(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha) {
  const Entry entry(a.device(), {&a, &b});
  return plan.run(a, b, alpha);
}

void run_plan_into(const Plan& plan, const Matrix& a, const Matrix& b, Matrix& out, Scalar alpha, Scalar beta) {
  const Entry entry(a.device(), {&a, &b, &out});
  plan.run_into(a, b, alpha, beta, out);
}

py::dict kernel_names(const std::string& format) {
  py::dict out;
  const auto list = [&](const char* operation, const auto& rows) {
    py::list names;
    for (const auto& row : rows) names.append(row.name);
    out[operation] = names;
  };
  list("matvec", kernels(format).matvec);
  list("matmul", kernels(format_of(format).multiplies_as).matmul);
  list("chain", kernels(format).chain);
  return out;
}

Triangle triangle_from(int which) {
  if (which < 0 || which > 2) throw std::invalid_argument("triangle is " + std::to_string(which) + ", expected 0 to 2");
  return static_cast<Triangle>(which);
}

}  // namespace

PYBIND11_MODULE(DIAGSPARSE_MODULE, m) {
  on_main_thread();  // which thread that is, is found while Python's lock is held
  py::register_local_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Interrupted&) {  // Python's own exception is set
    }
  });
  py::class_<Matrix>(m, "Matrix", py::module_local())
      .def_readonly("format", &Matrix::format)
      .def_readonly("rows", &Matrix::rows)
      .def_readonly("cols", &Matrix::cols)
      .def_property_readonly("dtype", [](const Matrix& a) { return static_cast<int>(a.dtype); })
      .def_property_readonly("stored", [](const Matrix& a) { return a.structure->stored(); })
      .def_property_readonly("diagonals", [](const Matrix& a) { return a.layout().spans.size(); })
      .def_property_readonly("strips", [](const Matrix& a) { return strips_of(a.layout().spans).size(); })
      .def_property_readonly(
          "packed", [](const Matrix& a) { return item_size(a.dtype) == 2 || static_cast<bool>(packing_of(a)); })
      .def_property_readonly("symmetry", [](const Matrix& a) { return static_cast<int>(packing_of(a).symmetry); })
      .def_property_readonly("period", [](const Matrix& a) { return packing_of(a).period; })
      .def_property_readonly("nbytes", &Matrix::nbytes)
      .def_property_readonly("device", &Matrix::device)
      .def_property_readonly("values", [](const Matrix& a) { return to_python(a.values); })
      .def("parts", &parts)
      .def("spans", &spans)
      .def("with_values", &with_values)
      .def("with_members",
           [](const Matrix& m, py::object values) {
             Matrix all = over(m, values);
             check_members(all);
             return all;
           })
      .def("dual", &dual);

  py::class_<Plan>(m, "Plan", py::module_local())
      .def_property_readonly("format", &Plan::format)
      .def_readonly("rows", &Plan::rows)
      .def_readonly("cols", &Plan::cols)
      .def_property_readonly("stored", [](const Plan& p) { return p.c->stored(); })
      .def_property_readonly("work", [](const Plan& p) { return p.work ? p.work->operations() : 0; })
      .def_property_readonly("workspace_nbytes", &Plan::workspace_nbytes)
      .def_property_readonly("nbytes", &Plan::nbytes)
      .def_readonly("kernel", &Plan::kernel)
      .def_property_readonly("offsets",
                             [](const Plan& p) {
                               std::vector<int64> out;
                               if (const auto* c = dynamic_cast<const Layout*>(p.c.get()))
                                 for (const Span& s : c->spans) out.push_back(s.offset);
                               return out;
                             })
      .def_readonly("device", &Plan::device)
      .def("result",
           [](const Plan& p, const std::string& dtype) {
             const DType type = dtype_from_name(dtype);
             const Entry entry(p.device);
             return p.result(type, true);
           })
      .def("check_into",
           [](const Plan& p, const Matrix& a, const Matrix& b, const Matrix& out) {
             const Entry entry(p.device);
             p.check_into(a, b, out);
           })
      .def("run", &run_plan, py::arg(), py::arg(), py::arg("alpha") = 1.0)
      .def("run_into", &run_plan_into, py::arg(), py::arg(), py::arg(), py::arg("alpha") = 1.0, py::arg("beta") = 0.0);

  m.def("diagonal_matrix", &diagonal_matrix, py::arg(), py::arg(), py::arg(), py::arg(), py::arg(), py::arg(),
        py::arg("device") = 0, py::arg("symmetry") = 0, py::arg("period") = 0);
  m.def("indexed_matrix", &indexed_matrix);
  m.def("matvec", &run_matvec);
  py::class_<Recurrence>(m, "Recurrence", py::module_local())
      .def(py::init(
          [](std::vector<Scalar> alpha, std::vector<Scalar> beta, std::vector<Scalar> gamma, std::vector<Scalar> c) {
            return Recurrence{std::move(alpha), std::move(beta), std::move(gamma), std::move(c)};
          }));
  m.def("chain", &run_chain);
  m.def("prepare_matvec", [](const Matrix& a, int op, const std::string& kernel) {
    const MatvecRow& row = find_matvec(a.format, kernel);
    const Entry entry(a.device(), {&a});
    if (row.prepare) row.prepare(a, op_from(op));
  });
  m.def(
      "plan_matmul",
      [](const Matrix& a, int op_a, const Matrix& b, int op_b, std::string format, std::string kernel, int triangle,
         std::vector<int64> extra) {
        const Request request{std::move(format), std::move(kernel), triangle_from(triangle), std::move(extra)};
        const Entry entry(a.device(), {&a, &b});
        return plan_matmul(a, op_from(op_a), b, op_from(op_b), request);
      },
      py::arg(), py::arg(), py::arg(), py::arg(), py::arg(), py::arg(), py::arg("triangle") = 0,
      py::arg("extra") = std::vector<int64>());
  // Plan and product of matrices of diagonals in one call; None where that is no small matter.
  m.def("multiply", [](const Matrix& a, int op_a, const Matrix& b, int op_b, std::string format, int64 most_pairs,
                       int64 most_bytes) -> std::optional<Matrix> {
    if (static_cast<int64>(a.layout().spans.size() * b.layout().spans.size()) > most_pairs) return std::nullopt;
    const Entry entry(a.device(), {&a, &b});
    const Plan plan = plan_matmul(a, op_from(op_a), b, op_from(op_b), {std::move(format), "", Triangle::both, {}});
    if (plan.nbytes() > most_bytes) return std::nullopt;
    return plan.run(a, b, 1.0);
  });
  m.def("plan_elementwise", [](const Matrix& a, int op_a, const Matrix& b, int op_b, const Matrix& c) {
    const Entry entry(a.device(), {&a, &b});
    return plan_elementwise(a, op_from(op_a), b, op_from(op_b), c);
  });
  m.def("shortest_period", &shortest_period);
  m.def("product_offsets",
        [](const Matrix& a, int op_a, const Matrix& b, int op_b, int64 rows, int64 cols, int triangle) {
          std::vector<int64> offsets;
          {
            const Entry entry(a.device());
            const Operand left(spans_of(a.layout(), op_from(op_a))), right(spans_of(b.layout(), op_from(op_b)));
            offsets = offset_sumset(left, right, rows, cols, triangle_from(triangle));
          }
          return offsets;
        });
  m.def(
      "labels_for",
      [](const std::string& format, int64 rows, int64 cols, const std::vector<int64>& offsets, int symmetry) {
        const DiagonalFormat& f = diagonal_format(format);
        const std::vector<int64> labels = f.labels_for(rows, cols, offsets);
        return symmetry == 0 ? labels : packed_labels(f.place(rows, cols, labels), packing_from(symmetry, 0));
      },
      py::arg(), py::arg(), py::arg(), py::arg(), py::arg("symmetry") = 0);
  m.def("add_diagonals", [](Scalar alpha, const Matrix& from, int op, Matrix& to, bool accumulate) {
    const Entry entry(from.device(), {&from, &to});
    add_diagonals(alpha, from, op_from(op), to, accumulate);
  });
  m.def("realigned",
        [](const std::string& format, int64 rows, int64 cols, py::handle data, const std::vector<int64>& offsets) {
          const DiagonalFormat& f = diagonal_format(format);
          check_shape(f, rows, cols);
          const Array given = array_from(data);
          const Entry entry(given.device);
          return realigned(f, rows, cols, given, offsets);
        });
  m.def("differing_diagonal", [](const Matrix& packed, const Matrix& full) {
    std::optional<int64> offset;
    {
      const Entry entry(packed.device(), {&packed, &full});
      offset = differing_diagonal(packed, full);
    }
    return offset;
  });
  m.def("occupied_diagonals", [](const Matrix& csr) {
    std::vector<int64> offsets;
    {
      const Entry entry(csr.device(), {&csr});
      offsets = occupied_diagonals(csr);
    }
    return offsets;
  });
  m.def("convert", [](const Matrix& a, int op, const std::string& format) {
    const Entry entry(a.device(), {&a});
    return convert(a, op_from(op), format);
  });
  m.def("count_nonzero", [](const Matrix& a) {
    const Entry entry(a.device(), {&a});
    return count_nonzero(a);
  });
  m.def("check_shape",
        [](const std::string& format, int64 rows, int64 cols) { check_shape(format_of(format), rows, cols); });

  m.def("kernels", &kernel_names);
  m.def("overlap", [](py::handle x, py::handle y) { return overlap(dense_from(x), dense_from(y)); });
  bind_batches(m);
  bind_device(m);
}
