#include "device/c_order.hpp"

#include <cstdlib>
#include <optional>

#include "core/backend.hpp"
#include "device/cuda.hpp"
#include "device/transpose.hpp"

namespace diagsparse::cuda {

namespace {

int64 setting(const char* name, int64 value) {
  const char* text = std::getenv(name);
  return text ? std::atoll(text) : value;
}

bool in_f_order(const Dense& d) { return d.row_stride == 1 && d.col_stride > 1; }

// A block in C order with new memory. An address in it is aligned to any packet.
struct Copy {
  std::shared_ptr<void> memory;
  Dense dense;

  explicit Copy(const Dense& d)
      : memory(allocate(d.rows * d.cols * item_size(d.dtype))),
        dense{memory.get(), d.dtype, d.rows, d.cols, d.cols, 1} {}
};

bool capturing() {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  CUDA_CALL(cudaStreamIsCapturing(stream(), &status));
  return status != cudaStreamCaptureStatusNone;
}

}  // namespace

bool prefers_c_order(const Dense& x, const Dense& y) {
  const bool mixed = setting("DS_MIXED", 0);
  if (x.cols < setting("DS_COLS", 4) || std::max(x.rows, y.rows) < setting("DS_ROWS", 2)) return false;
  if (!in_f_order(x) && !(mixed && in_f_order(y))) return false;
  const auto can_copy = [](const Dense& d) {
    const Dense like{nullptr, d.dtype, d.rows, d.cols, d.cols, 1};
    return !in_f_order(d) || are_transposes(d, like);
  };
  return can_copy(x) && can_copy(y);
}

bool multiply_in_c_order(MatvecKernel multiply, const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta,
                         const Dense& y) {
  if (!prefers_c_order(x, y) || capturing()) return false;
  std::optional<Copy> of_x, of_y;
  try {
    if (in_f_order(x)) of_x.emplace(x);
    if (in_f_order(y) && setting("DS_COPY_Y", 1)) of_y.emplace(y);
  } catch (const std::exception&) {  // OutOfMemory, or an error of another library's pool
    return false;
  }
  if (of_x) copy_transposed(x, of_x->dense);
  if (of_y && beta != 0.0) copy_transposed(y, of_y->dense);
  multiply(a, op, alpha, of_x ? of_x->dense : x, beta, of_y ? of_y->dense : y);
  if (of_y) copy_transposed(of_y->dense, y);
  return true;
}

}  // namespace diagsparse::cuda
