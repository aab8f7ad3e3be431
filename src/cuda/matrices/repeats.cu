// Checks on the device whether the diagonals of csr are periodic: a thread processes a row.
#include "core/repeats.hpp"
#include "core/summary.hpp"
#include "device/launch.cuh"

namespace diagsparse {

namespace cuda {
namespace {

template <class T>
__global__ void __launch_bounds__(kBlock) find_differing(const Csr<T> a, int64 period, unsigned* differ) {
  const int64 i = thread_index();
  if (i + period >= a.rows || *static_cast<volatile unsigned*>(differ) != 0) return;
  if (!row_repeats(a, i, period)) *differ = 1;
}

}  // namespace
}  // namespace cuda

using namespace cuda;

bool rows_repeat_after(const Matrix& csr, int64 period) {
  const Scratch<unsigned> differ(1);
  CUDA_CALL(cudaMemsetAsync(differ.get(), 0, sizeof(unsigned), stream()));
  with_value_type(csr.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch("find differing rows", find_differing<T>, blocks(csr.rows), dim3(kBlock), Csr<T>::of(csr), period,
           differ.get());
  });
  return download(differ.get(), 1)[0] == 0;
}

}  // namespace diagsparse
