// sell on the GPU: slices and their validation, and the kernel "row".
//
// y = alpha op(A) x + beta y.
//   A: m x n in slices of C rows; entry w of stored row p is at position slice_indptr[p / C] + w C + p % C of indices
//   and values; -1 where the padding of a row begins; row_order (m) is the row of A of each stored row, row_lengths (m)
//   its number of entries; either may be missing.  x: n, or n x k.  y: m, or m x k.
//
// A thread processes a stored row; if rows are few and long, or of different lengths, several threads do
// (kernels/interleaved/multiply_rows.cuh). The kernel is meant for rows that have similar lengths as their neighbours.
// A transpose is gathered by rows, with an index of them.
#include "device/c_order.hpp"
#include "device/resident.cuh"
#include "entries/sorted_keys.cuh"
#include "formats/sell/layout.hpp"
#include "kernels/interleaved/multiply_rows.cuh"
#include "kernels/rows/chunks.hpp"
#include "kernels/rows/kernels.hpp"
#include "layouts/rows.cuh"

namespace diagsparse {

namespace cuda::sell {

namespace {

// The number of positions of a row in the longest slice; cached with A.
struct LongestSlice {
  int64 positions = 0;

  auto arrays() const { return std::tie(); }
};
int64 longest_slice(const Matrix& m) {
  return cached<LongestSlice>(m.cache(), "longest slice",
                              [&] {
                                const auto a = Sell<float>::over(*m.structure, nullptr);
                                const int64 positions = rows::longest_of(a.slice_indptr, a.slices);
                                return std::make_shared<LongestSlice>(LongestSlice{positions / a.height});
                              })
      ->positions;
}

template <class U, class V>
struct Row {
  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    if (op.transposed) return rows::gather_transpose<U, V>(m, op, alpha, x, beta, y);
    if (multiply_in_c_order(run, m, op, alpha, x, beta, y)) return;
    multiply(m, longest_slice(m), op, alpha, x, beta, y);
  }

 private:
  static void multiply(const Matrix& m, int64 longest, Op op, Scalar alpha, const Dense& x, Scalar beta,
                       const Dense& y) {
    with_index_type(m.index("indices").dtype, [&](auto zero) {
      using I = decltype(zero);
      if constexpr (reads_columns<I, U, V>) {
        multiply_all_rows<U, V>("sell matvec", m, Sell<U, I>::of(m), longest, op, alpha, x, beta, y);
      } else {
        const auto lengthen = [](const Matrix& a) { return lengthened(a, Lines::one); };
        multiply(long_columns(m, lengthen, "indices"), longest, op, alpha, x, beta, y);
      }
    });
  }
};

void prepare(const Matrix& m, Op op) {
  if (op.transposed) rows::prepare_transpose(m, op);
  else prepare_all_rows<Sell>(m, longest_slice(m));
}

FormatKernels make() { return {{{"row", every_pair<Row, MatvecKernel>(), prepare}, cusparse::matvec()}, {}}; }
const RegisterKernels registered("sell", 0, make);

// ---- From rows --------------------------------------------------------------------------
// sizes[s] = the number of positions of slice s; a warp computes it.
__global__ void __launch_bounds__(kBlock) measure_slices(const std::int64_t* indptr, const std::int32_t* row_order,
                                                         int64 rows, int64 height, int64 slices, std::int64_t* sizes) {
  const int64 s = thread_index() / 32;
  if (s >= slices) return;
  const int lane = static_cast<int>(threadIdx.x % 32);
  int64 longest = 0;
  for (int64 p = s * height + lane; p < min(rows, (s + 1) * height); p += 32) {
    const int64 i = row_order ? row_order[p] : p;
    longest = max(longest, indptr[i + 1] - indptr[i]);
  }
  for (int step = 16; step > 0; step /= 2) longest = max(longest, __shfl_down_sync(0xffffffffu, longest, step));
  if (lane == 0) sizes[s] = longest * height;
}

// ---- Validation ---------------------------------------------------------------------------------------
__global__ void __launch_bounds__(kBlock) check_slices(const Sell<float> a, int64 positions, Position* invalid) {
  const int64 s = thread_index();
  if (s > a.slices) return;
  const int64 at = a.slice_indptr[s], before = s > 0 ? a.slice_indptr[s - 1] : 0;
  const bool ends = (s > 0 || at == 0) && (s < a.slices || at == positions);
  if (at < before || at > positions || at % a.height != 0 || !ends) report(invalid, s);
}

}  // namespace

}  // namespace cuda::sell

using namespace cuda;
using namespace cuda::sell;

int64 compute_slice_indptr(const Matrix& csr, int64 height, const std::int32_t* row_order, int64* slice_indptr) {
  const int64 slices = slices_of(csr.rows, height);
  CUDA_CALL(cudaMemsetAsync(slice_indptr, 0, sizeof(int64), stream()));
  launch("measure slices", measure_slices, blocks(slices * 32), dim3(kBlock), csr.index("indptr").as<std::int64_t>(),
         row_order, csr.rows, height, slices, slice_indptr + 1);
  return inclusive_sum(slice_indptr + 1, slice_indptr + 1, slices);
}

Fault fault_in_slices(const Sell<float>& a, int64 positions) {
  const FirstFaults found;
  launch("check slices", check_slices, blocks(a.slices + 1), dim3(kBlock), a, positions, found.outside());
  return found.fault(Fault::pointers);
}

template struct StoredRows<Sell>;

}  // namespace diagsparse
