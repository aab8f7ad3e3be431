// Sums, element-wise products and diagonals in Python, as core/elementwise.hpp says.
#include "core/elementwise.hpp"

#include <pybind11/complex.h>

#include <vector>

#include "bind/device.hpp"
#include "bind/subjects.hpp"
#include "core/gate.hpp"
#include "formats/mdia/merges.hpp"

namespace py = pybind11;

namespace diagsparse {

void bind_elementwise(py::module_& m) {
  m.def("merged", [](const std::string& format, int64 rows, int64 cols, const py::list& list, const std::string& how,
                     bool zeros, const std::string& dtype, int device) {
    std::vector<EntryTerm> terms;
    std::vector<const Matrix*> used;
    std::vector<py::detail::make_caster<Matrix>> arguments(list.size());  // which live while the matrices are read
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto t = list[i].cast<py::tuple>();
      const Matrix& a = py::detail::cast_op<const Matrix&>(py::detail::load_type(arguments[i], t[0]));
      terms.push_back({&a, op_from(t[1].cast<int>()), t[2].cast<Scalar>()});
      used.push_back(terms.back().matrix);
      require_shape(*used.back(), terms.back().op, rows, cols, "merged");
    }
    const DType type = dtype_from_name(dtype);
    const Merge merge = how == "sum" ? Merge::sum : Merge::product;
    const Entry entry(device, used);
    return merged(format, rows, cols, terms, merge, zeros, type);
  });
  m.def("added_diagonals", [](Scalar alpha, const Matrix& a, int op_a, Scalar beta, const Matrix& b, int op_b,
                              const std::string& format, const std::string& dtype) {
    const DType type = dtype_from_name(dtype);
    const Entry entry(a.device(), {&a, &b});
    return added_diagonals(alpha, a, op_from(op_a), beta, b, op_from(op_b), format, type);
  });
  m.def("added_hollow", [](Scalar alpha, const Matrix& a, int op_a, Scalar beta, const Matrix& b, int op_b) {
    const Entry entry(a.device(), {&a, &b});
    return merged_hollow({&a, op_from(op_a), alpha}, {&b, op_from(op_b), beta}, Merge::sum);
  });
  m.def("multiplied_hollow", [](const Matrix& a, int op_a, const Matrix& b, int op_b) {
    const Entry entry(a.device(), {&a, &b});
    return merged_hollow({&a, op_from(op_a), 1}, {&b, op_from(op_b), 1}, Merge::product);
  });
  m.def("scaled_by", [](const Matrix& a, bool conjugated, py::handle dense) {
    const Dense factors = dense_from(dense);
    const Entry entry(a.device(), {&a});
    return scaled_by(a, conjugated, factors);
  });
  m.def(
      "diagonal",
      [](const Matrix& a, int op, int64 k, bool shared) {
        Array made;
        {
          const Entry entry(a.device(), {&a});
          made = diagonal(a, op_from(op), k, shared);
        }
        return to_python(made);
      },
      py::arg(), py::arg(), py::arg(), py::arg("shared") = false);
}

}  // namespace diagsparse
