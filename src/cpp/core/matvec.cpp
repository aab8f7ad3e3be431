// Products with dense operands: checks sizes, types and overlap, then runs the kernel.
#include "core/matvec.hpp"

#include "core/validation.hpp"

namespace diagsparse {

namespace {

// The transposed view of the same elements.
Dense transposed_view(const Dense& d) { return {d.data, d.dtype, d.cols, d.rows, d.col_stride, d.row_stride}; }

// A block of zeros with the same storage order as `like`.
Dense zeros_like(const Dense& like, Array& memory) {
  memory = Array::zeros(like.dtype, {like.rows * like.cols});
  if (like.col_stride == 1 && like.row_stride != 1)
    return {memory.data, like.dtype, like.rows, like.cols, like.cols, 1};
  return {memory.data, like.dtype, like.rows, like.cols, 1, like.rows};
}

// y = alpha s + beta y, along the axis that is contiguous in both.
void add_scaled(Scalar alpha, const Dense& s, Scalar beta, const Dense& y) {
  if (s.row_stride == 1) axpby(alpha, s, beta, y);
  else axpby(alpha, transposed_view(s), beta, transposed_view(y));
}

}  // namespace

void add_scaled(Scalar alpha, const Array& sum, Scalar beta, Array& c) { axpby(alpha, flat(sum), beta, flat(c)); }

void check_operands(const Matrix& a, Op op, const Dense& x, const Dense& y, const char* who) {
  const int64 rows = op.transposed ? a.cols : a.rows, cols = op.transposed ? a.rows : a.cols;
  if (x.rows != cols || y.rows != rows || x.cols != y.cols || y.dtype != product_dtype(a.dtype, x.dtype)) {
    const auto described = [](int64 m, int64 n, DType type) { return extents(m, n) + " " + dtype_name(type); };
    throw std::invalid_argument(std::string(who) + ": x is " + described(x.rows, x.cols, x.dtype) + " and y " +
                                described(y.rows, y.cols, y.dtype) + ", but A is " + described(rows, cols, a.dtype));
  }
  if (overlap(y, a.values)) throw std::invalid_argument(std::string(who) + ": out is part of A's values");
}

void matvec(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y,
            const std::string& kernel) {
  check_operands(a, op, x, y, "matvec");
  op.conjugated &= has_complex_values(a.dtype);
  const MatvecKernel run = matvec_kernel(find_matvec(a.format, kernel), a.dtype, x.dtype);
  if (y.rows == 0 || y.cols == 0) return;
  if (finite(alpha, y.dtype) && x.rows > 0) return run(a, op, alpha, x, beta, y);
  Array memory;
  const Dense sum = zeros_like(y, memory);
  if (x.rows > 0) run(a, op, 1.0, x, 0.0, sum);
  add_scaled(alpha, sum, beta, y);
}

void chain(const Matrix& a, Op op, const Recurrence& r, const Dense& x, const Dense& y, const std::string& kernel) {
  check_operands(a, op, x, y, "chain");
  chain_kernel(find_chain(a.format, kernel), a.dtype, x.dtype)(a, op, r, x, y);
}

}  // namespace diagsparse
