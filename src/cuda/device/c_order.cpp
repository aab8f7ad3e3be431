#include "device/c_order.hpp"

#include "core/backend.hpp"
#include "device/cuda.hpp"
#include "device/transpose.hpp"

namespace diagsparse::cuda {

namespace {

// Where copies pay. H200, float64, a band of 27 in hm, n = 10^6: 4 columns 149 us without copies and 212 us with them,
// 8 columns 263 and 230 us, 64 columns 1862 and 1096 us; n = 50,000: 16 columns 51 and 75 us.
constexpr int64 kColumns = 8, kElements = 1 << 20;

bool in_f_order(const Dense& d) { return d.row_stride == 1 && d.col_stride > 1; }

Dense in_c_order(const Dense& d, void* data) { return {data, d.dtype, d.rows, d.cols, d.cols, 1}; }

// Memory for a copy of a block.
std::shared_ptr<void> memory_for(const Dense& d) { return allocate(d.rows * d.cols * item_size(d.dtype)); }

bool capturing() {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  CUDA_CALL(cudaStreamIsCapturing(stream(), &status));
  return status != cudaStreamCaptureStatusNone;
}

bool multiply_copies(bool copy_y, MatvecKernel multiply, const Matrix& a, Op op, Scalar alpha, const Dense& x,
                     Scalar beta, const Dense& y) {
  if (!prefers_c_order(x, y) || capturing()) return false;
  std::shared_ptr<void> of_x, of_y;
  try {
    of_x = memory_for(x);
    if (copy_y) of_y = memory_for(y);
  } catch (const std::exception&) {  // OutOfMemory, or an error of another library's pool
    return false;
  }
  const Dense from = in_c_order(x, of_x.get()), to = copy_y ? in_c_order(y, of_y.get()) : y;
  copy_transposed(x, from);
  if (copy_y && beta != 0.0) copy_transposed(y, to);
  multiply(a, op, alpha, from, beta, to);
  if (copy_y) copy_transposed(to, y);
  return true;
}

}  // namespace

bool prefers_c_order(const Dense& x, const Dense& y) {
  if (x.cols < kColumns || x.rows * x.cols < kElements || !in_f_order(x)) return false;
  const auto can_copy = [](const Dense& d) { return !in_f_order(d) || are_transposes(d, in_c_order(d, nullptr)); };
  return can_copy(x) && can_copy(y);
}

bool multiply_in_c_order(MatvecKernel multiply, const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta,
                         const Dense& y) {
  return multiply_copies(in_f_order(y), multiply, a, op, alpha, x, beta, y);
}

bool multiply_with_x_in_c_order(MatvecKernel multiply, const Matrix& a, Op op, Scalar alpha, const Dense& x,
                                Scalar beta, const Dense& y) {
  return multiply_copies(false, multiply, a, op, alpha, x, beta, y);
}

}  // namespace diagsparse::cuda
