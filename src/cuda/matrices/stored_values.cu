// Counts, scales and reads the stored values of any format.
#include "core/convert.hpp"
#include "core/elementwise.hpp"
#include "core/summary.hpp"
#include "device/dense.cuh"
#include "device/lanes.cuh"
#include "device/runs.cuh"
#include "entries/coordinates.cuh"

namespace diagsparse::cuda {

namespace {

template <class T>
__global__ void __launch_bounds__(kBlock)
    count_in_runs(const T* values, const __grid_constant__ Runs<ValueRun> runs, unsigned long long* counts) {
  const ValueRun run = runs.at[blockIdx.y];
  const int64 width = static_cast<int64>(gridDim.x) * blockDim.x;
  unsigned long long mine = 0;
  for (int64 i = thread_index(); i < run.length; i += width) mine += !is_zero(values[run.start + i]);
  mine = sum_of_lanes<32>(mine);
  if (threadIdx.x % 32 == 0 && mine > 0) atomicAdd(counts + blockIdx.y, mine);
}

// Element t of the run is A[row + t, row + t + offset].
struct ScaledRun {
  int64 start, row, offset, length;
};

template <class T>
__global__ void __launch_bounds__(kBlock)
    scale_runs(const T* from, bool conj, const __grid_constant__ Runs<ScaledRun> runs, const Block<const T> dense,
               T* to) {
  const ScaledRun& run = runs.at[blockIdx.y];
  const int64 width = static_cast<int64>(gridDim.x) * blockDim.x;
  for (int64 t = thread_index(); t < run.length; t += width) {
    const int64 i = run.row + t, j = i + run.offset;
    to[run.start + t] = conjugate_if(conj, from[run.start + t]) * dense.data[i * dense.row + j * dense.col];
  }
}

template <class T>
__global__ void __launch_bounds__(kBlock)
    scale_entries(const T* from, int64 count, bool conj, const Coordinates coordinates, const Block<const T> dense,
                  T* to) {
  const int64 e = thread_index();
  if (e >= count) return;
  const int64 i = coordinates.row_of(e), j = coordinates.col_of(e);
  to[e] = conjugate_if(conj, from[e]) * dense.data[i * dense.row + j * dense.col];
}

template <class T>
__global__ void __launch_bounds__(kBlock) read_diagonal(const T* values, int64 count, bool conj,
                                                        const Coordinates coordinates, int64 k, int64 first, T* out) {
  const int64 e = thread_index();
  if (e >= count) return;
  const int64 i = coordinates.row_of(e);
  if (coordinates.col_of(e) - i == k) out[i - first] = conjugate_if(conj, values[e]);
}

}  // namespace

}  // namespace diagsparse::cuda

namespace diagsparse {

std::vector<int64> count_runs(const Matrix& a, const std::vector<ValueRun>& runs) {
  using namespace cuda;
  const Scratch<unsigned long long> counts(static_cast<int64>(runs.size()));
  CUDA_CALL(cudaMemsetAsync(counts.get(), 0, runs.size() * sizeof(unsigned long long), stream()));
  with_stored_type(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    in_launches(runs, [&](dim3 grid, const Runs<ValueRun>& part, std::size_t first) {
      launch("count", count_in_runs<T>, grid, dim3(kBlock), a.values.as<T>(), part, counts.get() + first);
    });
  });
  const auto host = download(counts.get(), static_cast<int64>(runs.size()));
  return {host.begin(), host.end()};
}

Matrix scaled_by(const Matrix& a, bool conjugated, const Dense& dense) {
  using namespace cuda;
  if (dense.dtype != a.dtype) throw std::logic_error("scaled_by: the types differ");
  Matrix out(a.structure, Array::empty(a.dtype, a.values.shape));
  a.structure->clear_padding(out.values);
  with_value_type(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    const Block<const T> factors(dense);
    const T* values = a.values.as<T>();
    if (dynamic_cast<const Indices*>(a.structure.get())) {
      launch("scale", scale_entries<T>, blocks(a.values.size()), dim3(kBlock), values, a.values.size(), conjugated,
             Coordinates::of(a, {}), factors, out.values.as<T>());
      return;
    }
    std::vector<ScaledRun> all;
    for (const Span& s : a.layout().spans) all.push_back({s.start, s.row, s.offset, s.length});
    in_launches(all, [&](dim3 grid, const Runs<ScaledRun>& part, std::size_t) {
      launch("scale", scale_runs<T>, grid, dim3(kBlock), values, conjugated, part, factors, out.values.as<T>());
    });
  });
  return out;
}

Array entries_on_diagonal(const Matrix& a, Op op, int64 k) {
  using namespace cuda;
  const int64 rows = op.transposed ? a.cols : a.rows, cols = op.transposed ? a.rows : a.cols;
  const Coordinates positions = Coordinates::of(a, op);
  Array out = Array::zeros(a.dtype, {diagonal_length(rows, cols, k)});
  with_value_type(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch("diagonal", read_diagonal<T>, blocks(a.values.size()), dim3(kBlock), a.values.as<T>(), a.values.size(),
           op.conjugated, positions, k, first_row(k), out.as<T>());
  });
  return out;
}

}  // namespace diagsparse
