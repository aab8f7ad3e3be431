// Batches: matrices on one layout. A `Matrix` stands for all of them; its array of values has a row for each member.
//
//       values (3 members of 2 diagonals)        vectors
//     | member 0: [ 1 2 3 4 | 5 6 7 ]  |       | x_0 |       one row for each member as well;
//     | member 1: [ 8 9 1 2 | 3 4 5 ]  |       | x_1 |       rows 0 apart are one vector for all
//     | member 2: [ 6 7 8 9 | 1 2 3 ]  |       | x_2 |
//
// Where a batch is expected as an operand a single matrix may stand: it is every member.
#pragma once

#include "core/plan.hpp"

namespace diagsparse {

// Values from a member to the next one.
inline int64 member_stride(const Matrix& all) {
  const int64 size = all.structure->values_shape.size();
  return all.values.size() == size ? 0 : size;
}

// Member i, on the same memory.
Matrix member(const Matrix& all, int64 i);
Dense member(const Dense& rows, int64 i);

// y_i = alpha op(A_i) x_i + beta y_i, for the rows of x and y. Each device's own.
void batch_matvec(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y);

// C_i = alpha op(A_i) op(B_i) + beta C_i by a plan, for the members of C; a MatmulKernel. Each device's own.
void batch_matmul(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c);

// Memory for `count` results of a plan: what no kernel writes is zero.
Matrix batch_result(const Plan& plan, int64 count, DType dtype);

}  // namespace diagsparse
