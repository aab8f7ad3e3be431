// Products of matrices of quaternions with vectors, in one pass over the matrix.
//
//     Q = A + B j (m x n): two complex matrices on one structure, a = q0 + q1 i and b = q2 + q3 i
//     x (n x 4 p): the components of p quaternions in each row          y (m x 4 p): the same
//
// Component c of a product q x of two quaternions is the sum over k of +-q[k] x[c ^ k]; x q has the same terms, some
// with the other sign.
#pragma once

#include <string>

#include "core/kernel_table.hpp"
#include "core/matrix.hpp"

namespace diagsparse {

struct QuaternionSigns {
  int part[4];    // factors of the components of each element q of the matrix
  bool on_right;  // whether products are x q

  // The sign with which q[k] x[c ^ k] contributes to component c.
  constexpr int operator()(int k, int c) const {
    constexpr int of_left[4][4] = {{1, 1, 1, 1}, {-1, 1, -1, 1}, {-1, 1, 1, -1}, {-1, -1, 1, 1}};
    const bool commute = k == 0 || c == 0 || k == c;
    return part[k] * of_left[k][c] * (on_right && !commute ? -1 : 1);
  }
};

// y = op(Q) x, or x op(Q) with the signs of such a product, where op is the transpose or nothing. x and y have unit
// strides in a row, and are contiguous.
using QuaternionKernel = void (*)(const Matrix& a, const Matrix& b, bool transposed, const QuaternionSigns& signs,
                                  const Dense& x, const Dense& y);
// Kernel files register the function for each type, as RegisterKernels does.
struct RegisterQuaternions {
  RegisterQuaternions(const char* format, int set, Typed<QuaternionKernel> (*make)());
};

// y = (op_a(A) + sign op_b(B) j) x. If on_right is set, each product of two quaternions has x on its left: for the
// transpose of Q, this is x Q. x is contiguous. Throws std::invalid_argument if the operands do not fit, and if the
// format has no kernel.
Array quaternion_product(const Matrix& a, Op op_a, const Matrix& b, Op op_b, int sign, bool on_right, const Dense& x);

// The pairs of types of A and x that kernels support; x is real.
template <template <class, class> class Kernel>
Typed<QuaternionKernel> quaternion_kernels() {
  Typed<QuaternionKernel> typed;
  fill_cell<Kernel, Complex<float>, float>(typed);
  fill_cell<Kernel, Complex<float>, double>(typed);
  fill_cell<Kernel, Complex<double>, double>(typed);
  return typed;
}

}  // namespace diagsparse
