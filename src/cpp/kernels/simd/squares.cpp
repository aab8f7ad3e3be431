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
double of_chunk(const R* x, int64 count, double factor) {
  constexpr int lanes = 8, vectors = 4;
  Vector<double, lanes> sums[vectors] = {};
  int64 i = 0;
  for (; i + vectors * lanes <= count; i += vectors * lanes) {
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) {
      const auto v = __builtin_convertvector((load<R, lanes>(x + i + j * lanes)), Vector<double, lanes>) * factor;
      sums[j] += v * v;
    }
  }
  double total = 0;
  for (; i < count; ++i) {
    const double v = static_cast<double>(x[i]) * factor;
    total += v * v;
  }
  for (int j = 1; j < vectors; ++j) sums[0] += sums[j];
  for (int l = 0; l < lanes; ++l) total += sums[0][l];
  return total;
}

struct Chunk {
  const Array* of;
  int64 first, count;
};

double sum_of_squares(const std::vector<Array>& arrays, double factor) {
  std::vector<Chunk> chunks;
  int64 total = 0;
  for (const Array& a : arrays) {
    if (a.dtype != DType::f64 && a.dtype != DType::f32) throw std::logic_error("sum_of_squares: expected real numbers");
    for (int64 first = 0; first < a.size(); first += kChunk) {
      chunks.push_back({&a, first, std::min(kChunk, a.size() - first)});
    }
    total += a.size();
  }
  std::vector<double> sums(chunks.size());
  parallel_for(static_cast<int64>(chunks.size()), total, [&](int64 c) {
    const auto& [a, first, count] = chunks[c];
    sums[c] = a->dtype == DType::f64 ? of_chunk(a->as<const double>() + first, count, factor)
                                     : of_chunk(a->as<const float>() + first, count, factor);
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

const ForEachSet<SumOfSquares> registered(kIsa, sum_of_squares);

}  // namespace

}  // namespace diagsparse::DIAGSPARSE_ISA
