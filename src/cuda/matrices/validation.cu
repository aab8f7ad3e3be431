// Validation on a GPU: index arrays and diagonals are read once, and the first fault is copied to the host.
#include "core/validation.hpp"
#include "device/bisection.cuh"
#include "device/faults.cuh"
#include "device/values.cuh"

namespace diagsparse {

namespace cuda {
namespace {

// A thread checks a line: its pointer is not less than the previous one; the first is 0, the last the number of
// indices.
__global__ void __launch_bounds__(kBlock)
    check_pointers(const std::int64_t* indptr, int64 lines, int64 count, Position* invalid) {
  const int64 line = thread_index();
  if (line > lines) return;
  const int64 here = indptr[line];
  const bool falls = line == 0 ? here != 0 : here < indptr[line - 1];
  if (falls || (line == lines && here != count)) report(invalid, line);
}

// A thread checks an index: it is inside the matrix, and greater than the previous one unless it begins a line.
__global__ void __launch_bounds__(kBlock)
    check_indices(const std::int64_t* indptr, int64 lines, const std::int32_t* indices, int64 count, int64 extent,
                  Position* outside, Position* order) {
  const int64 e = thread_index();
  if (e >= count) return;
  const std::int32_t index = indices[e];
  if (index < 0 || index >= extent) return report(outside, e);
  if (e == 0 || index > indices[e - 1]) return;
  const int64 line = bisect(0, lines, [&](int64 l) { return indptr[l] < e; });  // the first that begins at e or later
  if (indptr[line] != e) report(order, e);
}

// A thread checks an entry: it is inside the matrix, and after the previous one.
__global__ void __launch_bounds__(kBlock) check_pairs(const std::int32_t* row, const std::int32_t* col, int64 count,
                                                      int64 rows, int64 cols, Position* outside, Position* order) {
  const int64 e = thread_index();
  if (e >= count) return;
  const std::int32_t i = row[e], j = col[e];
  if (i < 0 || i >= rows || j < 0 || j >= cols) return report(outside, e);
  if (e > 0 && (i < row[e - 1] || (i == row[e - 1] && j <= col[e - 1]))) report(order, e);
}

template <class T>
__global__ void __launch_bounds__(kBlock) check_real(const T* values, int64 count, Position* invalid) {
  const int64 t = thread_index();
  if (t < count && values[t].im != 0) report(invalid, t);
}

}  // namespace
}  // namespace cuda

using namespace cuda;

Fault cuda::fault_in_pointers(const std::int64_t* pointers, int64 lines, int64 count) {
  const FirstFaults found;
  launch("check pointers", check_pointers, blocks(lines + 1), dim3(kBlock), pointers, lines, count, found.outside());
  return found.fault(Fault::pointers);
}

Fault fault_in_lines(const Array& indptr, const Array& indices, int64 lines, int64 extent) {
  if (indptr.size() != lines + 1) return {Fault::pointers, std::min(indptr.size(), lines + 1)};
  const auto* starts = indptr.as<const std::int64_t>();
  const int64 count = indices.size();
  if (const Fault fault = fault_in_pointers(starts, lines, count); fault.kind != Fault::none) return fault;
  const FirstFaults positions;
  launch("check indices", check_indices, blocks(count), dim3(kBlock), starts, lines, indices.as<const std::int32_t>(),
         count, extent, positions.outside(), positions.order());
  return positions.fault(Fault::outside);
}

Fault fault_in_pairs(const Array& row, const Array& col, int64 rows, int64 cols) {
  const FirstFaults positions;
  launch("check entries", check_pairs, blocks(row.size()), dim3(kBlock), row.as<const std::int32_t>(),
         col.as<const std::int32_t>(), row.size(), rows, cols, positions.outside(), positions.order());
  return positions.fault(Fault::outside);
}

bool all_real(const Array& values, int64 first, int64 count) {
  return with_value_type(values.dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (is_complex<T>) {
      const FirstFaults positions;
      launch("check diagonal", check_real<T>, blocks(count), dim3(kBlock), values.as<const T>() + first, count,
             positions.outside());
      return positions.fault(Fault::outside).kind == Fault::none;
    } else {
      return true;
    }
  });
}

}  // namespace diagsparse
