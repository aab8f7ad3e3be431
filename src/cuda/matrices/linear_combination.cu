// Linear combinations of values on the GPU: a thread block computes a tile.
//
// Coefficients are arguments of the kernel, or elements of arrays on the device, which each thread reads. Each thread
// adds the terms of a few values in the same order in every run.
#include "core/linear_combination.hpp"
#include "device/launch.cuh"
#include "device/values.cuh"

namespace diagsparse::cuda {

namespace {

constexpr int kEach = 4;  // values of a thread at a time

struct GroupCoefficients {
  Coefficient of[kCombinedTerms];
};

// A coefficient, read from the device if it is there.
inline __device__ Complex<double> coefficient(const Coefficient& c) {
  switch (c.element == nullptr ? DType::u8 : c.dtype) {
    case DType::f32: return {*static_cast<const float*>(c.element), 0};
    case DType::f64: return {*static_cast<const double*>(c.element), 0};
    case DType::c64: return convert<Complex<double>>(*static_cast<const Complex<float>*>(c.element));
    case DType::c128: return *static_cast<const Complex<double>*>(c.element);
    default: return {c.re, c.im};
  }
}

template <class T, class X>
__device__ void add_term(T (&sums)[kEach], const X* x, int64 left, T factor, bool is_real) {
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    if (k * kBlock >= left) break;
    const X value = load_once(x + k * kBlock);
    if constexpr (is_complex<T>) {
      sums[k] += convert<T>(is_real ? convert<T>(factor.re * value) : factor * value);
    } else {
      sums[k] += factor * value;
    }
  }
}

template <class T>
__global__ void __launch_bounds__(kBlock)
    combine_terms(const CombinedRun* tiles, const CombinedPiece* pieces, const CombinedSource* sources,
                  const __grid_constant__ GroupCoefficients coefficients, int64 first_term, T* out) {
  const CombinedRun tile = tiles[blockIdx.x];
  for (int64 i = threadIdx.x; i < tile.length; i += kBlock * kEach) {
    T sums[kEach] = {};
    T* to = out + tile.first + i;
    const int64 left = tile.length - i;
    if (first_term > 0) {
#pragma unroll
      for (int k = 0; k < kEach; ++k) {
        if (k * kBlock < left) sums[k] = to[k * kBlock];
      }
    }
    for (int64 p = tile.begin; p < tile.end; ++p) {
      const CombinedPiece piece = pieces[p];
      const CombinedSource source = sources[piece.term];
      const Coefficient& c = coefficients.of[piece.term - first_term];
      const Complex<double> number = coefficient(c);
      T factor;
      if constexpr (is_complex<T>) factor = convert<T>(number);
      else factor = static_cast<T>(number.re);
      if (source.is_real) {
        add_term(sums, static_cast<const Real<T>*>(source.values) + piece.start + i, left, factor, c.is_real);
      } else if constexpr (is_complex<T>) {
        add_term(sums, static_cast<const T*>(source.values) + piece.start + i, left, factor, c.is_real);
      }
    }
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      if (k * kBlock < left) to[k * kBlock] = sums[k];
    }
  }
}

}  // namespace

}  // namespace diagsparse::cuda

namespace diagsparse {

void LinearCombination::add(const Group& group, const Matrix& out, const Coefficient* coefficients) const {
  using namespace cuda;
  for (const Array* array : {&sources_, &group.tiles, &group.pieces}) used_on_this_stream(*array);
  GroupCoefficients own;
  for (int64 k = 0; k < group.count; ++k) {
    own.of[k] = coefficients[group.first + k];
    used_on_this_stream(terms_[group.first + k]);
  }
  with_value_type(out.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch("linear_combination", combine_terms<T>, dim3(static_cast<unsigned>(group.tile_count)), dim3(kBlock),
           group.tiles.as<const CombinedRun>(), group.pieces.as<const CombinedPiece>(),
           sources_.as<const CombinedSource>(), own, group.first, out.values.as<T>());
  });
}

}  // namespace diagsparse
