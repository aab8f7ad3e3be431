// Solves tridiagonal and pentadiagonal systems with cuSPARSE.
#include "kernels/cusparse/solve.hpp"

#include <limits>

#include "core/types.hpp"
#include "device/cuda.hpp"
#include "kernels/cusparse/cusparse.hpp"

namespace diagsparse::cuda::cusparse {

namespace {

// The functions of cuSPARSE for a value type, and its name for this type.
template <class T>
struct Solvers;

#define DIAGSPARSE_SOLVERS(T, X, THEIRS)                                                \
  template <>                                                                           \
  struct Solvers<T> {                                                                   \
    using Value = THEIRS;                                                               \
    static constexpr auto three_bytes = cusparse##X##gtsv2_bufferSizeExt;               \
    static constexpr auto three = cusparse##X##gtsv2;                                   \
    static constexpr auto five_bytes = cusparse##X##gpsvInterleavedBatch_bufferSizeExt; \
    static constexpr auto five = cusparse##X##gpsvInterleavedBatch;                     \
  }
DIAGSPARSE_SOLVERS(float, S, float);
DIAGSPARSE_SOLVERS(double, D, double);
DIAGSPARSE_SOLVERS(Complex<float>, C, cuComplex);
DIAGSPARSE_SOLVERS(Complex<double>, Z, cuDoubleComplex);
#undef DIAGSPARSE_SOLVERS

int as_int(int64 n, const char* what) {
  if (n > std::numeric_limits<int>::max()) {
    throw std::invalid_argument(std::string("cuSPARSE solves at most 2^31 - 1 ") + what + ", not " + std::to_string(n));
  }
  return static_cast<int>(n);
}

Array copied(const Array& a) {
  const Array result = Array::empty(a.dtype, a.shape);
  CUDA_CALL(cudaMemcpyAsync(result.data, a.data, a.nbytes(), cudaMemcpyDeviceToDevice, stream()));
  return result;
}

}  // namespace

void solve_tridiagonal(const Array& lower, const Array& main, const Array& upper, const Dense& x) {
  const int rows = as_int(x.rows, "rows"), cols = as_int(x.cols, "columns");
  const int lead = as_int(x.cols > 1 ? x.col_stride : x.rows, "rows");
  const cusparseHandle_t handle = cusparse_handle();
  with_value_type(x.dtype, [&](auto zero) {
    using Call = Solvers<decltype(zero)>;
    using Value = typename Call::Value;
    const auto *l = lower.as<Value>(), *m = main.as<Value>(), *u = upper.as<Value>();
    auto* b = x.as<Value>();
    std::size_t bytes = 0;
    CUDA_CALL(Call::three_bytes(handle, rows, cols, l, m, u, b, lead, &bytes));
    const std::shared_ptr<void> workspace = allocate(static_cast<int64>(bytes));
    CUDA_CALL(Call::three(handle, rows, cols, l, m, u, b, lead, workspace.get()));
  });
}

void solve_pentadiagonal(const std::array<Array, 5>& diagonals, const Dense& x) {
  constexpr int kQr = 0;
  const int rows = as_int(x.rows, "rows"), systems = as_int(x.cols, "systems");
  const cusparseHandle_t handle = cusparse_handle();
  std::array<Array, 5> used;  // cuSPARSE overwrites them
  for (int k = 0; k < 5; ++k) used[k] = copied(diagonals[k]);
  with_value_type(x.dtype, [&](auto zero) {
    using Call = Solvers<decltype(zero)>;
    using Value = typename Call::Value;
    const auto d = [&](int k) { return used[k].as<Value>(); };
    auto* b = x.as<Value>();
    std::size_t bytes = 0;
    CUDA_CALL(Call::five_bytes(handle, kQr, rows, d(0), d(1), d(2), d(3), d(4), b, systems, &bytes));
    const std::shared_ptr<void> workspace = allocate(static_cast<int64>(bytes));
    CUDA_CALL(Call::five(handle, kQr, rows, d(0), d(1), d(2), d(3), d(4), b, systems, workspace.get()));
  });
}

}  // namespace diagsparse::cuda::cusparse
