// The list of value and index types, and the dispatch from a run-time dtype to a C++ type.
#pragma once

#include <bit>
#include <complex>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace diagsparse {

using int64 = std::int64_t;

// A complex value with the memory layout of NumPy. Kernels avoid std::complex because its product checks for NaN.
template <class R>
struct Complex {
  R re, im;
};

// Values stored in 16 bits. Arithmetic converts them to wider types: they are left operands only, never results.
struct Float16 {
  std::uint16_t bits;  // IEEE half precision: sign, 5 bits of exponent, 10 of fraction

  constexpr operator float() const {
    const std::uint32_t magnitude = bits & 0x7fffu, sign = (bits & 0x8000u) << 16;
    // The bias of the exponent grows from 15 to 127; infinities and NaNs stay what they are.
    const auto widened = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude << 13) * 0x1p112f);
    return std::bit_cast<float>(widened | sign | (magnitude >= 0x7c00u ? 0x7f800000u : 0u));
  }
};
struct BFloat16 {
  std::uint16_t bits;  // the upper half of a float32

  constexpr operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

enum class DType : std::uint8_t { f32, f64, c64, c128, f16, bf16, i32, i64, u8, u16, u32, u64 };
constexpr int kValueTypes = 4;   // the first four: the types of arithmetic
constexpr int kStoredTypes = 6;  // two more in which some formats store values; the others are for indices and bitmaps

// Their names outside this library.
struct TypeName {
  const char* name;  // NumPy's
  char kind;         // float, complex, brain float, int, unsigned int
  int size;          // in bytes
};
constexpr TypeName kTypes[] = {{"float32", 'f', 4},     {"float64", 'f', 8}, {"complex64", 'c', 8},
                               {"complex128", 'c', 16}, {"float16", 'f', 2}, {"bfloat16", 'b', 2},
                               {"int32", 'i', 4},       {"int64", 'i', 8},   {"uint8", 'u', 1},
                               {"uint16", 'u', 2},      {"uint32", 'u', 4},  {"uint64", 'u', 8}};
constexpr int kAllTypes = sizeof(kTypes) / sizeof(TypeName);

constexpr const char* dtype_name(DType t) { return kTypes[static_cast<int>(t)].name; }
constexpr int item_size(DType t) { return kTypes[static_cast<int>(t)].size; }
constexpr bool has_complex_values(DType t) { return kTypes[static_cast<int>(t)].kind == 'c'; }

// The first type whose TypeName satisfies `holds`.
template <class F>
constexpr std::optional<DType> dtype_where(F&& holds) {
  for (int t = 0; t < kAllTypes; ++t) {
    if (holds(kTypes[t])) return static_cast<DType>(t);
  }
  return std::nullopt;
}
inline std::optional<DType> find_dtype(char kind, int size) {
  return dtype_where([=](const TypeName& t) { return t.kind == kind && t.size == size; });
}
inline std::optional<DType> find_dtype(const std::string& name) {
  return dtype_where([&](const TypeName& t) { return name == t.name; });
}

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

template <>
constexpr DType dtype_of<std::uint8_t>() {
  return DType::u8;
}
template <>
constexpr DType dtype_of<std::uint16_t>() {
  return DType::u16;
}
template <>
constexpr DType dtype_of<std::uint32_t>() {
  return DType::u32;
}
template <>
constexpr DType dtype_of<std::uint64_t>() {
  return DType::u64;
}

// Calls f(T{}) with the value type T for `t`.
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

// The same, including the 16-bit storage types.
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

// The type of a product: the wider precision, complex if either factor is.
template <class U, class V>
using Wider = std::conditional_t<(sizeof(Real<U>) > sizeof(Real<V>)), Real<U>, Real<V>>;
template <class U, class V>
using Product = std::conditional_t<is_complex<U> || is_complex<V>, Complex<Wider<U, V>>, Wider<U, V>>;

// Common pairs of types; kernels that compile slowly have specialised loops only for these.
template <class U, class V>
constexpr bool kCommonPair = std::is_same_v<U, V> || !(is_complex<U> || is_complex<V>);

inline DType product_dtype(DType a, DType b) {
  const bool wide = a == DType::f64 || a == DType::c128 || b == DType::f64 || b == DType::c128;
  const bool complex = has_complex_values(a) || has_complex_values(b);
  return complex ? (wide ? DType::c128 : DType::c64) : (wide ? DType::f64 : DType::f32);
}

// The type of alpha and beta in the bindings: the widest one.
using Scalar = std::complex<double>;

// op(A): the operand itself, its transpose, its conjugate, or both (the adjoint).
struct Op {
  bool transposed = false;
  bool conjugated = false;
};

// Kernels support a left operand in the same precision as the right one, or in a narrower one.
template <class U, class V>
constexpr bool pair_supported = sizeof(Real<U>) <= sizeof(Real<V>);

}  // namespace diagsparse
