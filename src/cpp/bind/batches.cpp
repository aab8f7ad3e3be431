// Python bindings of batches: a `Matrix` whose values have a row for each member (core/batch.hpp).
#include <pybind11/complex.h>

#include "bind/device.hpp"
#include "bind/subjects.hpp"
#include "core/batch.hpp"
#include "core/sampled.hpp"

namespace py = pybind11;

namespace diagsparse {

void bind_batches(py::module_& m) {
  // The shape of one member's values.
  m.def("member_shape", [](const Matrix& all) -> py::tuple {
    const Shape s = all.structure->values_shape;
    if (s.cols < 0) return py::make_tuple(s.rows);
    return py::make_tuple(s.rows, s.cols);
  });
  m.def("member", [](const Matrix& all, int64 i) { return member(all, i); });
  m.def("batch_matvec",
        [](const Matrix& a, Op op, py::handle x, py::handle y, int64 columns, Scalar alpha, Scalar beta) {
          const Dense in = dense_from(x), out = dense_from(y);
          if (overlap(out, a.values)) throw std::invalid_argument("matvec: out is part of the values of the batch");
          const Entry entry(a.device(), {&a});
          batch_matvec(a, op, alpha, in, beta, out, columns);
        });
  // The arrays have a row for each member of c, or one for all.
  m.def("batch_sampled_product", [](py::handle x, py::handle y, int64 columns, Matrix& c) {
    const Dense left = dense_from(x), right = dense_from(y);
    if (!c.values.writeable) throw std::invalid_argument("sampled_product: the values of out are read-only");
    if (overlap(left, c.values) || overlap(right, c.values)) {
      throw std::invalid_argument("sampled_product: X or Y is part of the values of out");
    }
    const Entry entry(c.device(), {&c});
    batch_sampled_product(left, right, columns, c);
  });
  m.def("scale_members", [](py::handle factors, bool interleaved, Matrix& a) {
    const Array given = array_from(factors);
    const Entry entry(a.device(), {&a});
    scale_members(given, interleaved, a.values);
  });
  m.def("batch_result", [](const Plan& plan, int64 count, const std::string& dtype) {
    const DType type = dtype_from_name(dtype);
    const Entry entry(plan.device);
    return batch_result(plan, count, type);
  });
  m.def("batch_matmul", [](const Plan& plan, const Matrix& a, const Matrix& b, Matrix& out) {
    const Entry entry(plan.device, {&a, &b, &out});
    plan.check_into(a, b, out);
    batch_matmul(plan, a, b, 1.0, 0.0, out);
  });
}

}  // namespace diagsparse
