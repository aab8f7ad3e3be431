// Products with blocks in F order, by kernels that are fast in C order.
#pragma once

#include "core/kernel_table.hpp"

namespace diagsparse::cuda {

// Whether a product with such blocks is computed in C order: columns are contiguous, and copies cost less than they
// save. It depends only on the shapes and strides.
bool prefers_c_order(const Dense& x, const Dense& y);

// Calls `multiply` with copies of x and y in C order, and copies the result back. Returns false, with nothing computed,
// if !prefers_c_order(x, y), if there is no memory for the copies, or if the stream is being captured.
bool multiply_in_c_order(MatvecKernel multiply, const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta,
                         const Dense& y);
// The same for kernels that are fast enough if only x is in C order: y is not copied.
bool multiply_with_x_in_c_order(MatvecKernel multiply, const Matrix& a, Op op, Scalar alpha, const Dense& x,
                                Scalar beta, const Dense& y);

}  // namespace diagsparse::cuda
