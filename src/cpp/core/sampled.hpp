// Products sampled on a structure: C[i, j] = sum over p of X[i, p] Y[j, p], only where C stores elements.
//
//     X (m x p)    Y (n x p)          C: the structure of a matrix, here tridiagonal
//     | x0 |       | y0 |             | x0.y0  x0.y1    .   |
//     | x1 |       | y1 |             | x1.y0  x1.y1  x1.y2 |       xi.yj = sum over p of X[i, p] Y[j, p]
//     | x2 |       | y2 |             |   .    x2.y1  x2.y2 |
//
// Nothing is conjugated. Such a product is the gradient of g . (A x) with respect to the values of A.
#pragma once

#include <string>

#include "core/batch.hpp"
#include "core/kernel_table.hpp"
#include "core/matrix.hpp"

namespace diagsparse {

// Writes all values of C. X and Y have the type of C, and unit strides along one axis: for diagonals any axis, for
// other formats that of p.
using SampledKernel = void (*)(const Dense& x, const Dense& y, Matrix& c);

// Kernel files register the function for each type, as RegisterKernels does.
struct RegisterSampled {
  RegisterSampled(const char* format, int set, Typed<SampledKernel> (*make)());
};
// The kernel for matrices of this format and type; std::invalid_argument if there is none.
SampledKernel sampled_kernel(const std::string& format, DType dtype);

// A matrix or batch with the structure of `pattern`. Values that no kernel writes are 0, others are not initialized.
Matrix sampled_result(const Matrix& pattern, DType dtype);
void clear_unwritten(Matrix& c);  // sets those to 0, or all values of a batch that has any
// Throws std::invalid_argument, with nothing written, if the operands do not fit or share memory with C.
void sampled_product(const Dense& x, const Dense& y, Matrix& c);

// The same for the members of a batch C of diagonals; row i of x has the m x p elements of X_i, row by row, and row i
// of y those of Y_i. A row stride of 0 means one X or Y for all. Implemented by each backend.
void batch_sampled_product(const Dense& x, const Dense& y, int64 columns, Matrix& c);

}  // namespace diagsparse
