// Python bindings of sums, elementwise products and diagonals (core/elementwise.hpp), and of linear combinations.
#include "core/elementwise.hpp"

#include <pybind11/complex.h>
#include <pybind11/stl.h>

#include <map>
#include <stdexcept>
#include <vector>

#include "bind/device.hpp"
#include "bind/subjects.hpp"
#include "core/format.hpp"
#include "core/linear_combination.hpp"
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

using Numbers = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>;

// The rows of an integer array as structs of as many numbers.
template <class T>
std::vector<T> rows_of(const Numbers& array) {
  static_assert(sizeof(T) % sizeof(std::int64_t) == 0);
  if (array.ndim() != 2 || array.shape(1) * sizeof(std::int64_t) != sizeof(T)) {
    throw std::invalid_argument("linear_combination: the shape of a list");
  }
  const auto* first = reinterpret_cast<const T*>(array.data());
  return {first, first + array.shape(0)};
}

LinearCombination linear_combination(const Matrix& like, const std::vector<py::object>& values, const Numbers& runs,
                                     const Numbers& pieces) {
  std::vector<Array> terms;
  for (const py::object& array : values) terms.push_back(array_from(array));
  const auto all = rows_of<CombinedRun>(runs);
  const auto of_runs = rows_of<CombinedPiece>(pieces);
  const Entry entry(like.device(), {&like});
  return {like.structure, std::move(terms), all, of_runs};
}

// A number, or an array on the device with one element.
Coefficient coefficient_from(py::handle given) {
  if (PyFloat_Check(given.ptr()) || PyComplex_Check(given.ptr())) {
    const auto number = given.cast<Scalar>();
    return {number.real(), number.imag(), nullptr, DType::f64, number.imag() == 0};
  }
  const Array array = array_from(given);
  if (array.size() != 1) throw std::invalid_argument("linear_combination: a coefficient has several elements");
  return {0, 0, array.data, array.dtype, !has_complex_values(array.dtype)};
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
  py::class_<LinearCombination>(m, "LinearCombination", py::module_local())
      .def(py::init(&linear_combination))
      .def_property_readonly("nbytes", &LinearCombination::nbytes)
      .def("fill", [](const LinearCombination& terms, const Matrix& out, const py::sequence& given) {
        std::vector<Coefficient> coefficients;
        for (const py::handle one : given) coefficients.push_back(coefficient_from(one));
        const Entry entry(out.device(), {&out});
        terms.fill(out, coefficients);
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
