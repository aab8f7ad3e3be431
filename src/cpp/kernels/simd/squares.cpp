// Sums of squares: chunks in parallel, each with as many sums as hide the latency of additions. Their order, and the
// rounding of squares (CMakeLists.txt forbids that they are fused with additions), is that of every instruction set.
#include "cpu/squares.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "cpu/parallel.hpp"
#include "kernels/simd/vec.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

constexpr int64 kChunk = 1 << 14;  // values of a task

template <class R>
double of_chunk(const R* x, int64 count) {
  constexpr int lanes = 8, vectors = 4;
  Vector<double, lanes> sums[vectors] = {};
  int64 i = 0;
  for (; i + vectors * lanes <= count; i += vectors * lanes) {
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) {
      const auto v = __builtin_convertvector((load<R, lanes>(x + i + j * lanes)), Vector<double, lanes>);
      sums[j] += v * v;
    }
  }
  double total = 0;
  for (; i < count; ++i) total += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  for (int j = 1; j < vectors; ++j) sums[0] += sums[j];
  for (int l = 0; l < lanes; ++l) total += sums[0][l];
  return total;
}

template <class R>
double of_all(const R* x, int64 count) {
  if (count <= kChunk) return of_chunk(x, count);
  std::vector<double> sums((count + kChunk - 1) / kChunk);
  parallel_for(static_cast<int64>(sums.size()), count,
               [&](int64 c) { sums[c] = of_chunk(x + c * kChunk, std::min(kChunk, count - c * kChunk)); });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

double sum_of_squares(const Array& values) {
  if (values.dtype == DType::f64) return of_all(values.as<const double>(), values.size());
  if (values.dtype == DType::f32) return of_all(values.as<const float>(), values.size());
  throw std::logic_error("sum_of_squares: expected float32 or float64");
}

const ForEachSet<SumOfSquares> registered(kIsa, sum_of_squares);

}  // namespace

}  // namespace diagsparse::DIAGSPARSE_ISA
