// Vectors of the instruction set for which this file is compiled, and the arithmetic step of the diagonal kernels: a
// multiply-accumulate for any pair of value types.
//
// Uses the compiler's vector extensions (GCC 12 or later), so the same code serves SSE2, AVX2, AVX-512 and NEON.
// Everything here is in a separate namespace for each instruction set.
#pragma once

#include <cstring>
#include <utility>

#include "core/arithmetic.hpp"

#if defined(__AVX512F__) || defined(__F16C__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define DIAGSPARSE_ISA avx512
#elif defined(__AVX2__)
#define DIAGSPARSE_ISA avx2
#else
#define DIAGSPARSE_ISA portable
#endif

namespace diagsparse::DIAGSPARSE_ISA {

#if defined(__AVX512F__)
constexpr int kIsa = 2, kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kIsa = 1, kVectorBytes = 32;
#else
constexpr int kIsa = 0, kVectorBytes = 16;
#endif

template <class R, int Lanes>
struct VectorOf {
  typedef R type __attribute__((vector_size(Lanes * sizeof(R))));
};
template <class R, int Lanes>
using Vector = typename VectorOf<R, Lanes>::type;

template <class R, int Lanes>
inline Vector<R, Lanes> load(const R* p) {
  Vector<R, Lanes> v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class V, class R>
inline void store(R* p, V v) {
  std::memcpy(p, &v, sizeof v);
}

#if defined(__AVX512F__) || defined(__F16C__)
// Half precision by the conversion instruction, which compilers do not generate by themselves.
template <int Lanes>
inline Vector<float, Lanes> load_half(const Float16* p) {
#if defined(__AVX512F__)
  if constexpr (Lanes == 16) {
    return _mm512_maskz_cvtph_ps(
        0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));  // GCC warns about the unmasked intrinsic
  } else
#endif
      if constexpr (Lanes == 8) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  } else {
    __m128i bits = _mm_setzero_si128();
    std::memcpy(&bits, p, Lanes * sizeof(Float16));
    const Vector<float, 4> four = _mm_cvtph_ps(bits);
    Vector<float, Lanes> some;
    std::memcpy(&some, &four, sizeof some);
    return some;
  }
}
#else
// The vector version of Float16's operator float().
template <int Lanes>
inline Vector<float, Lanes> load_half(const Float16* p) {
  using Bits = Vector<std::uint32_t, Lanes>;
  const auto stored = load<std::uint16_t, Lanes>(reinterpret_cast<const std::uint16_t*>(p));
  const Bits bits = __builtin_convertvector(stored, Bits), magnitude = bits & 0x7fffu, sign = (bits & 0x8000u) << 16;
  const auto widened = reinterpret_cast<Vector<float, Lanes>>(magnitude << 13) * 0x1p112f;
  const auto special = reinterpret_cast<Bits>(magnitude >= 0x7c00u) & 0x7f800000u;
  return reinterpret_cast<Vector<float, Lanes>>(reinterpret_cast<Bits>(widened) | sign | special);
}
#endif

// Loads values that are stored in 16 bits as float.
template <int Lanes, class S>
inline Vector<float, Lanes> load_widened(const S* p) {
  if constexpr (std::is_same_v<S, Float16>) {
    return load_half<Lanes>(p);
  } else {
    const auto stored = load<std::uint16_t, Lanes>(reinterpret_cast<const std::uint16_t*>(p));
    return reinterpret_cast<Vector<float, Lanes>>(__builtin_convertvector(stored, Vector<std::uint32_t, Lanes>) << 16);
  }
}

// Loads `Lanes` values and converts them to R.
template <class R, int Lanes, class S>
inline Vector<R, Lanes> load_as(const S* p) {
  if constexpr (std::is_same_v<R, S>) return load<S, Lanes>(p);
  else if constexpr (sizeof(S) == 2) return __builtin_convertvector((load_widened<Lanes>(p)), Vector<R, Lanes>);
  else return __builtin_convertvector((load<S, Lanes>(p)), Vector<R, Lanes>);
}

// (a0, b0, a1, b1, ...) -> (a0, a0, a1, a1, ...), (b0, b0, b1, b1, ...), (b0, a0, b1, a1, ...)
template <class V, std::size_t... I>
inline V pick_real(V v, std::index_sequence<I...>) {
  return __builtin_shufflevector(v, v, static_cast<int>(I & ~1ul)...);
}
template <class V, std::size_t... I>
inline V pick_imag(V v, std::index_sequence<I...>) {
  return __builtin_shufflevector(v, v, static_cast<int>(I | 1ul)...);
}
template <class V, std::size_t... I>
inline V swap_pairs(V v, std::index_sequence<I...>) {
  return __builtin_shufflevector(v, v, static_cast<int>(I ^ 1ul)...);
}
// (a0, a1, ...) -> (a0, a0, a1, a1, ...)
template <class W, class V, std::size_t... I>
inline W twice(V v, std::index_sequence<I...>) {
  return __builtin_shufflevector(v, v, static_cast<int>(I / 2)...);
}

// a b + c, rounded once if the processor has fused multiply-add; of numbers or, element by element, of vectors. It is
// written explicitly where a compiler may fuse the operations in one loop and not in another.
template <class R>
[[gnu::always_inline]] inline R fused(R a, R b, R c) {
#if defined(__FP_FAST_FMA) && defined(__FP_FAST_FMAF)
  if constexpr (std::is_same_v<R, float>) return __builtin_fmaf(a, b, c);
  else if constexpr (std::is_same_v<R, double>) return __builtin_fma(a, b, c);
  else
    for (std::size_t i = 0; i < sizeof c / sizeof c[0]; ++i) c[i] = fused(a[i], b[i], c[i]);  // one instruction
#else
  c += a * b;
#endif
  return c;
}

// u v, rounded in the same way in every loop.
template <class U, class V>
[[gnu::always_inline]] inline Product<U, V> product(U u, V v) {
  if constexpr (is_complex<U> && is_complex<V>) {
    const Wider<U, V> a = u.re, b = u.im, c = v.re, d = v.im;
    return {fused(a, c, -(b * d)), fused(a, d, b * c)};
  } else {
    return multiply(u, v);
  }
}

// sum += u v, rounded in the same way in every loop.
template <class U, class V>
[[gnu::always_inline]] inline void add_product(Product<U, V>& sum, U u, V v) {
  using R = Wider<U, V>;
  if constexpr (is_complex<U> && is_complex<V>) {
    sum += product(u, v);
  } else if constexpr (is_complex<U>) {
    sum.re = fused<R>(u.re, v, sum.re);
    sum.im = fused<R>(u.im, v, sum.im);
  } else if constexpr (is_complex<V>) {
    sum.re = fused<R>(u, v.re, sum.re);
    sum.im = fused<R>(u, v.im, sum.im);
  } else {
    sum = fused<R>(u, v, sum);
  }
}

// acc += u * v for `step` consecutive pairs of values. A complex product is accumulated as two real sums,
//     p = u * (re v, re v),   q = u * (im v, im v),
// which are combined once at the end, so that the loop needs no swap. conj(u) and conj(v) become signs there.
template <class U, class V>
struct Mac {
  using T = Product<U, V>;
  using R = Real<T>;
  static constexpr int lanes = kVectorBytes / static_cast<int>(sizeof(R));
  static constexpr int width = is_complex<T> ? 2 : 1;  // lanes of a value
  static constexpr int step = lanes / width;
  static constexpr bool both = is_complex<U> && is_complex<V>;
  using Vec = Vector<R, lanes>;
  using Index = std::make_index_sequence<lanes>;

  struct Acc {
    Vec p = {}, q = {};
  };
  struct Signs {
    Vec p, q;  // with a single sum, q is a zero to be added: of a sum of 0, the conjugate is 0 and not -0
  };

  static const Real<U>* raw(const U* u) { return reinterpret_cast<const Real<U>*>(u); }

  // A vector of one operand, in the form in which it is combined with several of the other operand.
  static Vec left(const U* u) {
    if constexpr (!is_complex<U> && is_complex<V>) return twice<Vec>(load_as<R, lanes / 2>(u), Index{});
    else return load_as<R, lanes>(reinterpret_cast<const Real<U>*>(u));
  }
  static Vec right(const V* v) {
    if constexpr (is_complex<U> && !is_complex<V>) return twice<Vec>(load_as<R, lanes / 2>(v), Index{});
    else return load_as<R, lanes>(reinterpret_cast<const Real<V>*>(v));
  }
  static void add(Acc& acc, Vec u, Vec v) {
    if constexpr (both) {
      acc.p += u * pick_real(v, Index{});
      acc.q += u * pick_imag(v, Index{});
    } else {
      acc.p += u * v;
    }
  }

  static Signs signs(bool conj_u, bool conj_v) {
    Signs s = {};
    const R p_im = both ? (conj_u ? -1 : 1) : (is_complex<U> ? conj_u : conj_v) ? -1 : 1;
    for (int i = 0; i < lanes; ++i) {
      s.p[i] = is_complex<T> && i % 2 ? p_im : R(1);
      if (both) s.q[i] = i % 2 ? (conj_v ? R(-1) : R(1)) : (conj_u == conj_v ? R(-1) : R(1));
      else s.q[i] = -s.p[i] * R(0);
    }
    return s;
  }
  static Vec total(const Acc& acc, const Signs& s) {
    if constexpr (both) return acc.p * s.p + swap_pairs(acc.q, Index{}) * s.q;
    else if constexpr (is_complex<T>) return acc.p * s.p + s.q;
    else return acc.p;
  }
};

// alpha * sum + beta * before, rounded in the same way in every loop and as by put_vectors.
template <class T>
[[gnu::always_inline]] inline T updated(const Update<T>& update, T sum, T before) {
  using R = Real<T>;
  const auto combined = [&](R sum, R before) {
    const R alpha = update.alpha.real_part(), beta = update.beta.real_part();
    return update.reads ? fused<R>(alpha, sum, beta * before) : alpha * sum;
  };
  if constexpr (is_complex<T>) {
    if (update.real()) return {combined(sum.re, before.re), combined(sum.im, before.im)};
    T out = {};
    const auto add = [&out](const Factor<T>& factor, T value) {
      if (factor.real()) add_product(out, factor.real_part(), value);
      else add_product(out, factor.value(), value);
    };
    if (update.reads) add(update.beta, before);
    add(update.alpha, sum);
    return out;
  } else {
    return combined(sum, before);
  }
}

// out = alpha * sums + beta * out for any factors. Not inlined, because all tiles end with the same code.
template <class T>
[[gnu::noipa]] void put_sums(const Update<T> update, T* out, const T* sums, int64 count) {
  for (int64 r = 0; r < count; ++r) out[r] = updated(update, sums[r], out[r]);
}

// The same for K times N vectors of sums in registers; out(k) is the destination of the k-th N of them.
template <class T, class Vec, int K, int N, class Out>
[[gnu::always_inline]] inline void put_vectors(const Update<T>& update, const Vec (&sums)[K][N], const Out& out) {
  using R = Real<T>;
  constexpr int lanes = sizeof(Vec) / sizeof(R), count = N * sizeof(Vec) / sizeof(T);
  if (!update.plain && !update.real()) {  // calls at the end, so that no register is live across them
    T scaled[K][count];
#pragma GCC unroll 4
    for (int k = 0; k < K; ++k) {  // not by memcpy, which would need the sums in memory
#pragma GCC unroll 8
      for (int j = 0; j < N; ++j) store(reinterpret_cast<R*>(scaled[k]) + j * lanes, sums[k][j]);
    }
    for (int k = 0; k < K; ++k) put_sums(update, out(k), scaled[k], count);
    return;
  }
  const R alpha = update.alpha.real_part(), beta = update.beta.real_part();
#pragma GCC unroll 4
  for (int k = 0; k < K; ++k) {
    R* to = reinterpret_cast<R*>(out(k));
    if (update.plain) {
#pragma GCC unroll 8
      for (int j = 0; j < N; ++j) store(to + j * lanes, sums[k][j]);
    } else if (update.reads) {
#pragma GCC unroll 8
      for (int j = 0; j < N; ++j)
        store(to + j * lanes, fused(alpha - Vec{}, sums[k][j], beta * load<R, lanes>(to + j * lanes)));
    } else {
#pragma GCC unroll 8
      for (int j = 0; j < N; ++j) store(to + j * lanes, alpha * sums[k][j]);
    }
  }
}

}  // namespace diagsparse::DIAGSPARSE_ISA
