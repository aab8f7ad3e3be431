// Python bindings of products with vectors and blocks, and of chains of products.
#include <pybind11/complex.h>
#include <pybind11/stl.h>

#include "bind/device.hpp"
#include "bind/subjects.hpp"
#include "core/matvec.hpp"
#include "core/quaternions.hpp"
#include "core/sampled.hpp"

namespace py = pybind11;

namespace diagsparse {

namespace {

void run_matvec(const Matrix& a, Op op, py::handle x, py::handle y, Scalar alpha, Scalar beta,
                const std::string& kernel) {
  const Dense in = dense_from(x), out = dense_from(y);
  const Entry entry(a.device(), {&a});
  matvec(a, op, alpha, in, beta, out, kernel);
}

void run_chain(const Matrix& a, Op op, const Recurrence& r, py::handle x, py::handle y, const std::string& kernel) {
  const Dense in = dense_from(x), out = dense_from(y);
  const Entry entry(a.device(), {&a});
  chain(a, op, r, in, out, kernel);
}

}  // namespace

void bind_products(py::module_& m) {
  m.def("matvec", &run_matvec);
  m.def("prepare_matvec", [](const Matrix& a, Op op, const std::string& kernel) {
    const MatvecRow& row = find_matvec(a.format, kernel);
    const Entry entry(a.device(), {&a});
    if (row.prepare) row.prepare(a, op);
  });
  py::class_<Recurrence>(m, "Recurrence", py::module_local())
      .def(py::init(
          [](std::vector<Scalar> alpha, std::vector<Scalar> beta, std::vector<Scalar> gamma, std::vector<Scalar> c) {
            return Recurrence{std::move(alpha), std::move(beta), std::move(gamma), std::move(c)};
          }));
  m.def("add_scaled", [](Scalar alpha, const Matrix& a, Scalar beta, Matrix& c) {
    const Entry entry(c.device(), {&a, &c});
    if (!a.structure->same_as(*c.structure) || a.dtype != c.dtype || !c.values.writeable) {
      throw std::invalid_argument("add_scaled: the matrices differ in more than their values");
    }
    add_scaled(alpha, a.values, beta, c.values);
  });
  m.def("chain", &run_chain);
  m.def("sampled_result", [](const Matrix& pattern, const std::string& dtype) {
    const DType type = dtype_from_name(dtype);
    const Entry entry(pattern.device(), {&pattern});
    return sampled_result(pattern, type);
  });
  m.def("sampled_product", [](py::handle x, py::handle y, Matrix& c) {
    const Dense left = dense_from(x), right = dense_from(y);
    if (!c.values.writeable) throw std::invalid_argument("sampled_product: the values of out are read-only");
    const Entry entry(c.device(), {&c});
    sampled_product(left, right, c);
  });
  m.def("quaternion_product",
        [](const Matrix& a, Op op_a, const Matrix& b, Op op_b, int sign, bool on_right, py::handle x) {
          const Dense in = dense_from(x);
          const auto product = [&] {
            const Entry entry(a.device(), {&a, &b});
            return quaternion_product(a, op_a, b, op_b, sign, on_right, in);
          };
          return to_python(product());
        });
}

}  // namespace diagsparse
