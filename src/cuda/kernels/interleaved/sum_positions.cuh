// The terms of a row that one thread adds: ell and sell.
#pragma once

#include "device/values.cuh"
#include "layouts/columns.cuh"

namespace diagsparse::cuda {

// The sum over the positions from `position` to `end` of stored row p, every `step`-th entry. The first one is entry w.
template <class T, class A, class V>
__device__ T sum_positions(const A& a, int64 p, int64 position, int64 end, int64 w, int step, bool conj, const V* x,
                           int64 x_row) {
  constexpr int each = 4;  // entries that are loaded together
  const int64 apart = step * a.step();
  T sum{};
  for (; position < end; position += each * apart, w += each * step) {
    decltype(Fetched(a.columns, 0, 0)) fetched[each];
    std::remove_cvref_t<decltype(*a.values)> values[each];
#pragma unroll
    for (int k = 0; k < each; ++k) {
      const int64 e = position + k * apart;
      if (e >= end) continue;
      fetched[k] = Fetched(a.columns, e, a.chunk(p, w + k * step, e));
      values[k] = load(a.values + e);
    }
#pragma unroll
    for (int k = 0; k < each; ++k) {
      const std::int32_t j = fetched[k].column();
      if (j >= 0) sum += multiply(conjugate_if(conj, values[k]), load(x + j * x_row));
    }
    if (fetched[each - 1].column() < 0) break;
  }
  return sum;
}

}  // namespace diagsparse::cuda
