// Reading and writing values: one access for a value of any type, and the hints for data that is used once.
#pragma once

#include <cuda_fp16.h>

#include <type_traits>

#include "core/arithmetic.hpp"

namespace diagsparse::cuda {

template <class T>
struct BitsFor {
  using type = T;
};
template <>
struct BitsFor<Complex<float>> {
  using type = float2;
};
template <>
struct BitsFor<Complex<double>> {
  using type = double2;
};
template <>
struct BitsFor<Float16> {
  using type = unsigned short;
};
template <>
struct BitsFor<BFloat16> {
  using type = unsigned short;
};
template <class T>
using Bits = typename BitsFor<T>::type;  // the same bits, as one access

template <class T>
inline __device__ T from_bits(Bits<T> v) {
  if constexpr (is_complex<T>) return {v.x, v.y};
  else if constexpr (sizeof(T) == 2) return {v};
  else return v;
}

template <class T>
inline __device__ Bits<T> to_bits(T v) {
  if constexpr (is_complex<T>) return {v.re, v.im};
  else if constexpr (sizeof(T) == 2) return v.bits;
  else return v;
}

template <class T>
inline __device__ T load(const T* p) {
  return from_bits<T>(__ldg(reinterpret_cast<const Bits<T>*>(p)));
}
// Read once: leaves the caches to what is read again.
template <class T>
inline __device__ T load_once(const T* p) {
  return from_bits<T>(__ldcs(reinterpret_cast<const Bits<T>*>(p)));
}
// N neighbouring elements of 2, 4, 8, or multiples of 16 bytes together, at an address that is a multiple of these.
template <int N, class T>
inline __device__ void load_once(const T* p, T (&out)[N]) {
  constexpr int bytes = N * sizeof(T);
  using Piece = std::conditional_t<
      bytes % 16 == 0, uint4,
      std::conditional_t<bytes == 8, uint2, std::conditional_t<bytes == 4, unsigned, unsigned short>>>;
  if constexpr (N == 1) {
    out[0] = load_once(p);
  } else {
    static_assert(bytes % sizeof(Piece) == 0);
#pragma unroll
    for (int k = 0; k < bytes / static_cast<int>(sizeof(Piece)); ++k) {
      const Piece piece = __ldcs(reinterpret_cast<const Piece*>(p) + k);
      __builtin_memcpy(reinterpret_cast<char*>(out) + k * sizeof(Piece), &piece, sizeof(Piece));
    }
  }
}
// Written once and not read soon.
template <class T>
inline __device__ void store_once(T* p, T v) {
  __stcs(reinterpret_cast<Bits<T>*>(p), to_bits(v));
}

// A value in the type that arithmetic is done in.
template <class T>
inline __device__ T arithmetic(T v) {
  return v;
}
inline __device__ float arithmetic(Float16 v) { return __half2float(__ushort_as_half(v.bits)); }
inline __device__ float arithmetic(BFloat16 v) { return v; }

// Whether a value is a number and no infinity, not asked of the units that multiply the tiles. Kernels that also
// multiply what is not stored, as zeros, ask this of their sums: zero times an infinity is none of the product's terms.
inline __device__ bool is_finite(double v) { return (__double2hiint(v) & 0x7ff00000) != 0x7ff00000; }
inline __device__ bool is_finite(float v) { return (__float_as_int(v) & 0x7f800000) != 0x7f800000; }
template <class R>
inline __device__ bool is_finite(Complex<R> v) {
  return is_finite(v.re) && is_finite(v.im);
}

}  // namespace diagsparse::cuda
