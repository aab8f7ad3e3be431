// A benchmark of memory bandwidth: reads memory with the same threads and vectors as the kernels.
#include <numeric>
#include <vector>

#include "cpu/measure.hpp"
#include "cpu/parallel.hpp"
#include "kernels/simd/vec.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

double sum_streams(const double* data, int64 count) {
  constexpr int lanes = kVectorBytes / 8, vectors = 8;
  constexpr int64 block = 1 << 16;
  const int64 blocks = count / block;
  std::vector<double> sums(blocks);
  parallel_for(blocks, count, [&](int64 b) {
    Vector<double, lanes> acc[vectors] = {};
    for (int64 i = b * block; i < (b + 1) * block; i += vectors * lanes) {
#pragma GCC unroll 8
      for (int j = 0; j < vectors; ++j) acc[j] += load<double, lanes>(data + i + j * lanes);
    }
    for (int j = 1; j < vectors; ++j) acc[0] += acc[j];
    for (int l = 0; l < lanes; ++l) sums[b] += acc[0][l];
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

const ForEachSet<Reader> registered(kIsa, sum_streams);

}  // namespace

}  // namespace diagsparse::DIAGSPARSE_ISA
