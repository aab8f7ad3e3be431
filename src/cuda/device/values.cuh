// Reading and writing values: one access per value of any type, and cache hints for data that is used once.
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
using Bits = typename BitsFor<T>::type;  // a type of the same size that is read in one access

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
// For values that are read once: leaves the caches to what is read again.
template <class T>
inline __device__ T load_once(const T* p) {
  return from_bits<T>(__ldcs(reinterpret_cast<const Bits<T>*>(p)));
}
// Reads N neighbouring elements, of 2, 4, 8 or a multiple of 16 bytes together, from an address aligned to this size.
template <int N, class T>
inline __device__ void load_once(const T* p, T (&out)[N]) {
  constexpr int bytes = N * sizeof(T);
  using Packet = std::conditional_t<
      bytes % 16 == 0, uint4,
      std::conditional_t<bytes == 8, uint2, std::conditional_t<bytes == 4, unsigned, unsigned short>>>;
  if constexpr (N == 1) {
    out[0] = load_once(p);
  } else {
    static_assert(bytes % sizeof(Packet) == 0);
#pragma unroll
    for (int k = 0; k < bytes / static_cast<int>(sizeof(Packet)); ++k) {
      const Packet packet = __ldcs(reinterpret_cast<const Packet*>(p) + k);
      __builtin_memcpy(reinterpret_cast<char*>(out) + k * sizeof(Packet), &packet, sizeof(Packet));
    }
  }
}
// For values that are written once and not read soon.
template <class T>
inline __device__ void store_once(T* p, T v) {
  __stcs(reinterpret_cast<Bits<T>*>(p), to_bits(v));
}

// A value in the type that arithmetic uses.
template <class T>
inline __device__ T arithmetic(T v) {
  return v;
}
inline __device__ float arithmetic(Float16 v) { return __half2float(__ushort_as_half(v.bits)); }
inline __device__ float arithmetic(BFloat16 v) { return v; }

// Whether a value is finite, computed with integer instructions, which do not compete with the matrix units. Kernels
// that multiply elements that are not stored, as zeros, check their sums: zero times infinity is not a term of the
// product.
inline __device__ bool is_finite(double v) { return (__double2hiint(v) & 0x7ff00000) != 0x7ff00000; }
inline __device__ bool is_finite(float v) { return (__float_as_int(v) & 0x7f800000) != 0x7f800000; }
template <class R>
inline __device__ bool is_finite(Complex<R> v) {
  return is_finite(v.re) && is_finite(v.im);
}

}  // namespace diagsparse::cuda
