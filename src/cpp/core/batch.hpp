// Batches of matrices with the same layout. One `Matrix` stands for all of them; its value array has a row for each
// member.
//
//       values (3 members of 2 diagonals)        vectors
//     | member 0: [ 1 2 3 4 | 5 6 7 ]  |       | x_0 |       also one row for each member;
//     | member 1: [ 8 9 1 2 | 3 4 5 ]  |       | x_1 |       a row stride of 0 means one vector for all
//     | member 2: [ 6 7 8 9 | 1 2 3 ]  |       | x_2 |
//
// A single matrix may be used wherever a batch is expected as an operand; it then stands for every member.
#pragma once

#include "core/plan.hpp"

namespace diagsparse {

// Number of values from one member to the next.
inline int64 member_stride(const Matrix& all) {
  const int64 size = all.structure->values_shape.size();
  return all.values.size() == size ? 0 : size;
}

// Member i, as a view of the same memory.
Matrix member(const Matrix& all, int64 i);
Dense member(const Dense& rows, int64 i);

// y_i = alpha op(A_i) x_i + beta y_i, for the rows of x and y. Implemented by each backend.
void batch_matvec(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y);

// C_i = alpha op(A_i) op(B_i) + beta C_i by a plan, for the members of C; a MatmulKernel. Implemented by each backend.
void batch_matmul(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c);

// Allocates `count` results of a plan; elements that no kernel writes are zero.
Matrix batch_result(const Plan& plan, int64 count, DType dtype);

}  // namespace diagsparse
