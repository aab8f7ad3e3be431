// Products of matrices of quaternions with vectors: checks sizes and types, then runs the kernel of the format.
#include "core/quaternions.hpp"

#include "core/registry.hpp"
#include "core/validation.hpp"

namespace diagsparse {

RegisterQuaternions::RegisterQuaternions(const char* format, int set, Typed<QuaternionKernel> (*make)()) {
  Registry<Typed<QuaternionKernel>>::add(format, set, make);
}

Array quaternion_product(const Matrix& a, Op op_a, const Matrix& b, Op op_b, int sign, bool on_right, const Dense& x) {
  const auto* const kernels = Registry<Typed<QuaternionKernel>>::find(a.format);
  const QuaternionKernel run = kernels == nullptr ? nullptr : (*kernels)(a.dtype, x.dtype);
  if (run == nullptr) {
    throw std::invalid_argument("quaternion_product: no kernel for " + a.format + " of " + dtype_name(a.dtype) +
                                " values and " + dtype_name(x.dtype) + " vectors");
  }
  if (op_a.transposed != op_b.transposed || a.dtype != b.dtype || !a.structure->same_as(*b.structure) ||
      a.structure->symmetry() != Symmetry::none || a.values.size() < a.structure->stored()) {
    throw std::invalid_argument("quaternion_product: A and B differ in more than their values, or are packed");
  }
  const int64 rows = op_a.transposed ? a.cols : a.rows, cols = op_a.transposed ? a.rows : a.cols;
  if (x.rows != cols || x.cols % 4 != 0 || x.col_stride != 1 || (x.rows > 1 && x.row_stride != x.cols)) {
    throw std::invalid_argument("quaternion_product: x is " + extents(x.rows, x.cols) + ", but Q is " +
                                extents(rows, cols));
  }
  Array y = Array::empty(x.dtype, {rows, x.cols});
  const QuaternionSigns signs{{1, op_a.conjugated ? -1 : 1, sign, op_b.conjugated ? -sign : sign}, on_right};
  if (y.size() > 0) run(a, b, op_a.transposed, signs, x, {y.data, y.dtype, rows, x.cols, x.cols, 1});
  return y;
}

}  // namespace diagsparse
