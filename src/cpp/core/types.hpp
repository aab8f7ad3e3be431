// The one list of value and index types, and the step from a run-time dtype to a C++ type.
#pragma once

#include <bit>
#include <complex>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace diagsparse {

using int64 = std::int64_t;

// A complex value with NumPy's bits. std::complex is avoided in kernels: its product checks for NaN.
template <class R>
struct Complex {
  R re, im;
};

// Values that are stored in 16 bits. Arithmetic widens them: they are operands on the left only, never results.
struct Float16 {
  std::uint16_t bits;  // IEEE half precision: sign, 5 bits of exponent, 10 of fraction

  constexpr operator float() const {
    const std::uint32_t magnitude = bits & 0x7fffu, sign = (bits & 0x8000u) << 16;
    // The exponent's bias grows from 15 to 127; what was infinite or no number stays so.
    const auto widened = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude << 13) * 0x1p112f);
    return std::bit_cast<float>(widened | sign | (magnitude >= 0x7c00u ? 0x7f800000u : 0u));
  }
};
struct BFloat16 {
  std::uint16_t bits;  // the upper half of a float32

  constexpr operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

enum class DType : std::uint8_t { f32, f64, c64, c128, f16, bf16, i32, i64 };
constexpr int kValueTypes = 4;   // the first four: arithmetic is done in them
constexpr int kStoredTypes = 6;  // and two that diagonals may be stored in; the last two are indices

template <class T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<float>() {
  return DType::f32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::f64;
}
template <>
constexpr DType dtype_of<Complex<float>>() {
  return DType::c64;
}
template <>
constexpr DType dtype_of<Complex<double>>() {
  return DType::c128;
}
template <>
constexpr DType dtype_of<Float16>() {
  return DType::f16;
}
template <>
constexpr DType dtype_of<BFloat16>() {
  return DType::bf16;
}
template <>
constexpr DType dtype_of<std::int32_t>() {
  return DType::i32;
}
template <>
constexpr DType dtype_of<std::int64_t>() {
  return DType::i64;
}

inline int item_size(DType t) {
  constexpr int sizes[] = {4, 8, 8, 16, 2, 2, 4, 8};
  return sizes[static_cast<int>(t)];
}

inline const char* dtype_name(DType t) {
  constexpr const char* names[] = {"float32", "float64",  "complex64", "complex128",
                                   "float16", "bfloat16", "int32",     "int64"};
  return names[static_cast<int>(t)];
}

// Calls f(T{}) with the value type that `t` names.
template <class F>
decltype(auto) with_value_type(DType t, F&& f) {
  switch (t) {
    case DType::f32: return f(float{});
    case DType::f64: return f(double{});
    case DType::c64: return f(Complex<float>{});
    case DType::c128: return f(Complex<double>{});
    default: throw std::invalid_argument(std::string("values of type ") + dtype_name(t));
  }
}

// The same, and with the types that values are stored in.
template <class F>
decltype(auto) with_stored_type(DType t, F&& f) {
  if (t == DType::f16) return f(Float16{});
  if (t == DType::bf16) return f(BFloat16{});
  return with_value_type(t, f);
}

template <class T>
struct RealOf {
  using type = T;
};
template <class R>
struct RealOf<Complex<R>> {
  using type = R;
};
template <class T>
using Real = typename RealOf<T>::type;
template <class T>
constexpr bool is_complex = !std::is_same_v<T, Real<T>>;

// The type of a product of the two: the wider precision, complex if either is.
template <class U, class V>
using Wider = std::conditional_t<(sizeof(Real<U>) > sizeof(Real<V>)), Real<U>, Real<V>>;
template <class U, class V>
using Product = std::conditional_t<is_complex<U> || is_complex<V>, Complex<Wider<U, V>>, Wider<U, V>>;

inline DType product_dtype(DType a, DType b) {
  const bool wide = a == DType::f64 || a == DType::c128 || b == DType::f64 || b == DType::c128;
  const bool complex = a == DType::c64 || a == DType::c128 || b == DType::c64 || b == DType::c128;
  return complex ? (wide ? DType::c128 : DType::c64) : (wide ? DType::f64 : DType::f32);
}

// alpha and beta cross the binding in the widest type.
using Scalar = std::complex<double>;

// op(A): the operand as it is, transposed, conjugated, or both (the adjoint).
struct Op {
  bool transposed = false;
  bool conjugated = false;
};

// Kernels take a left operand in the same precision as the right one, or in a narrower one.
template <class U, class V>
constexpr bool pair_supported = sizeof(Real<U>) <= sizeof(Real<V>);

}  // namespace diagsparse
