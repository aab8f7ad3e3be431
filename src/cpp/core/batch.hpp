// Batches of matrices with the same layout. One `Matrix` stands for all of them; its value array has a row for each
// member.
//
//       values (3 members of 2 diagonals)        vectors
//     | member 0: [ 1 2 3 4 | 5 6 7 ]  |       | x_0 |       also one row for each member;
//     | member 1: [ 8 9 1 2 | 3 4 5 ]  |       | x_1 |       a row stride of 0 means one vector for all
//     | member 2: [ 6 7 8 9 | 1 2 3 ]  |       | x_2 |
//
// Instead of a vector, a member may be multiplied by a block of columns, whose elements are in C order in such a row.
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

// Member i, as a view of the same memory; of rows, a block with this number of columns.
Matrix member(const Matrix& all, int64 i);
Dense member(const Dense& rows, int64 i, int64 columns);

// y_i = alpha op(A_i) x_i + beta y_i, for the rows of x and y, which are blocks with this number of columns.
// Implemented by each backend.
void batch_matvec(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y, int64 columns);

// Multiplies the values of member i of a batch, or with `interleaved` its values i, i + count, ..., by factor i of
// `count`. The factors have the type of the values. Implemented by each backend.
void scale_members(const Array& factors, bool interleaved, Array& values);

// C_i = alpha op(A_i) op(B_i) + beta C_i by a plan, for the members of C; a MatmulKernel. Implemented by each backend.
void batch_matmul(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c);

// Allocates `count` results of a plan; elements that no kernel writes are zero.
Matrix batch_result(const Plan& plan, int64 count, DType dtype);

}  // namespace diagsparse
