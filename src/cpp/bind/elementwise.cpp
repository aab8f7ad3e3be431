// Python bindings of sums, elementwise products and diagonals (core/elementwise.hpp).
#include "core/elementwise.hpp"

#include <pybind11/complex.h>

#include <map>
#include <stdexcept>
#include <vector>

#include "bind/device.hpp"
#include "bind/subjects.hpp"
#include "core/format.hpp"
#include "core/validation.hpp"

namespace py = pybind11;

namespace diagsparse {

namespace {

Combine operation_named(const std::string& name) {
  static const std::map<std::string, Combine> all{
      {"sum", Combine::sum},         {"product", Combine::product},     {"maximum", Combine::maximum},
      {"minimum", Combine::minimum}, {"not_equal", Combine::not_equal}, {"less", Combine::less}};
  const auto found = all.find(name);
  if (found != all.end()) return found->second;
  throw std::invalid_argument("combine: how is '" + name +
                              "', expected sum, product, maximum, minimum, not_equal or less");
}

}  // namespace

void bind_elementwise(py::module_& m) {
  // terms: (matrix, op, factor), one or two of them.
  m.def("combine", [](const std::string& format, const py::list& list, const std::string& how, bool zeros,
                      const std::string& dtype) {
    std::vector<ScaledMatrix> terms;
    std::vector<const Matrix*> used;
    std::vector<py::detail::make_caster<Matrix>> arguments(list.size());  // keep the matrices alive
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto t = list[i].cast<py::tuple>();
      used.push_back(&py::detail::cast_op<const Matrix&>(py::detail::load_type(arguments[i], t[0])));
      terms.push_back({used.back(), op_from(t[1].cast<int>()), t[2].cast<Scalar>()});
    }
    if (used.empty()) throw py::value_error("combine: no terms");
    const DType type = dtype_from_name(dtype);
    const Combine kind = operation_named(how);
    const Entry entry(used.front()->device(), used);
    return combine(format_of(format), terms, kind, zeros, type);
  });
  m.def("scaled_by", [](const Matrix& a, bool conjugated, py::handle dense) {
    const Dense factors = dense_from(dense);
    const Entry entry(a.device(), {&a});
    return scaled_by(a, conjugated, factors);
  });
  m.def(
      "diagonal",
      [](const Matrix& a, int op, int64 k, bool shared) {
        Array result;
        {
          const Entry entry(a.device(), {&a});
          result = diagonal(a, op_from(op), k, shared);
        }
        return to_python(result);
      },
      py::arg(), py::arg(), py::arg(), py::arg("shared") = false);
}

}  // namespace diagsparse
