// Python bindings of products of matrices: creating plans and running them.
#include <pybind11/complex.h>
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include "bind/device.hpp"
#include "bind/subjects.hpp"
#include "core/plan.hpp"

namespace py = pybind11;

namespace diagsparse {

namespace {

Matrix run_plan(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha) {
  const Entry entry(a.device(), {&a, &b});
  return plan.run(a, b, alpha);
}

void run_plan_into(const Plan& plan, const Matrix& a, const Matrix& b, Matrix& out, Scalar alpha, Scalar beta) {
  const Entry entry(a.device(), {&a, &b, &out});
  plan.run_into(a, b, alpha, beta, out);
}

Triangle triangle_from(int which) {
  if (which < 0 || which > 2) throw std::invalid_argument("triangle is " + std::to_string(which) + ", expected 0 to 2");
  return static_cast<Triangle>(which);
}

OtherOrder other_order_from(int factor) {
  if (factor < -1 || factor > 1) {
    throw std::invalid_argument("other_order is " + std::to_string(factor) + ", expected -1 to 1");
  }
  return factor == 0 ? OtherOrder::none : factor > 0 ? OtherOrder::added : OtherOrder::subtracted;
}

void bind_class(py::module_& m) {
  py::class_<Plan>(m, "Plan", py::module_local())
      .def_property_readonly("format", &Plan::format)
      .def_readonly("rows", &Plan::rows)
      .def_readonly("cols", &Plan::cols)
      .def_property_readonly("stored", [](const Plan& p) { return p.c->stored(); })
      .def_property_readonly("work", [](const Plan& p) { return p.work ? p.work->operations() : 0; })
      .def_property_readonly("both_orders", &Plan::both_orders)
      .def_property_readonly("workspace_nbytes",
                             [](const Plan& p) {  // make() of a cache may need the GIL
                               const Unlocked unlocked;
                               return p.workspace_nbytes();
                             })
      .def_property_readonly("nbytes", &Plan::nbytes)
      .def_readonly("kernel", &Plan::kernel)
      .def_property_readonly("hermitian", [](const Plan& p) { return p.c->symmetry() == Symmetry::hermitian; })
      .def_property_readonly("offsets",
                             [](const Plan& p) {
                               const Entry entry(p.device);
                               return stored_offsets(*p.c);
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
      .def_property_readonly("stages", &Plan::stages)
      .def("run_stage",  // for operands and a result that fit; for measurements
           [](const Plan& p, std::size_t stage, const Matrix& a, const Matrix& b, Matrix& out) {
             p.check_into(a, b, out);
             const Entry entry(p.device, {&a, &b, &out});
             p.run_stage(stage, a, b, 1.0, 0.0, out);
           })
      .def("run", &run_plan, py::arg(), py::arg(), py::arg("alpha") = 1.0)
      .def("run_into",  // the plain product, without checks of alpha and beta
           [](const Plan& p, const Matrix& a, const Matrix& b, Matrix& out) { run_plan_into(p, a, b, out, 1.0, 0.0); })
      .def("run_into", &run_plan_into);
}

}  // namespace

void bind_plans(py::module_& m) {
  bind_class(m);
  m.def(
      "plan_matmul",
      [](const Matrix& a, Op op_a, const Matrix& b, Op op_b, std::string format, std::string kernel, int triangle,
         std::vector<int64> extra, int other_order, bool repeated, int symmetry,
         std::function<void(const char*)> on_stage) {
        Request request{std::move(format), std::move(kernel), triangle_from(triangle),
                        std::move(extra),  repeated,          packing_from(symmetry, 0).symmetry};
        request.other_order = other_order_from(other_order);
        if (on_stage) request.on_stage = std::move(on_stage);
        const Entry entry(a.device(), {&a, &b});
        return plan_matmul(a, op_a, b, op_b, request);
      },
      py::arg(), py::arg(), py::arg(), py::arg(), py::arg(), py::arg(), py::arg("triangle") = 0,
      py::arg("extra") = std::vector<int64>(), py::arg("other_order") = 0, py::arg("repeated") = false,
      py::arg("symmetry") = 0, py::arg("passed") = nullptr);
  // Plans and runs a small product of diagonal matrices in one call, in A's format. Returns None for other formats, for
  // shapes that do not fit, and for larger products.
  m.def("multiply",
        [](const Matrix& a, Op op_a, const Matrix& b, Op op_b, int64 max_pairs,
           int64 max_bytes) -> std::optional<Matrix> {
          const auto plain = [&a](const Matrix& m) {  // same type as A, not 16-bit, not packed
            const auto* layout = dynamic_cast<const Layout*>(m.structure.get());
            return layout && !layout->packing && m.dtype == a.dtype && item_size(m.dtype) > 2;
          };
          if (!plain(a) || !plain(b) || (op_a.transposed ? a.rows : a.cols) != (op_b.transposed ? b.cols : b.rows)) {
            return std::nullopt;
          }
          if (static_cast<int64>(a.layout().spans.size() * b.layout().spans.size()) > max_pairs) return std::nullopt;
          const Entry entry(a.device(), {&a, &b});
          const Plan plan = plan_matmul(a, op_a, b, op_b, {a.format, "", Triangle::both, {}});
          if (plan.nbytes() > max_bytes) return std::nullopt;
          return plan.run(a, b, 1.0);
        });
  m.def("product_offsets",
        [](const Matrix& a, Op op_a, const Matrix& b, Op op_b, int64 rows, int64 cols, int triangle) {
          const Entry entry(a.device());
          const Operand left(spans_of(a.layout(), op_a)), right(spans_of(b.layout(), op_b));
          return offset_sumset(left, right, rows, cols, triangle_from(triangle));
        });
}

}  // namespace diagsparse
