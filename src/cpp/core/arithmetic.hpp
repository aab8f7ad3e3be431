// Scalar arithmetic over the value types, for real and complex operands alike. It is constexpr so that GPU kernels can
// call it, too (nvcc --expt-relaxed-constexpr).
#pragma once

#include "core/types.hpp"

namespace diagsparse {

template <class T, class S>
constexpr T convert(S s) {
  if constexpr (is_complex<S>) {
    static_assert(is_complex<T>, "a complex value does not narrow to a real one");
    return {static_cast<Real<T>>(s.re), static_cast<Real<T>>(s.im)};
  } else if constexpr (is_complex<T>) {
    return {static_cast<Real<T>>(s), Real<T>(0)};
  } else {
    return static_cast<T>(s);
  }
}

template <class T>
inline T from_scalar(Scalar s) {
  if constexpr (is_complex<T>) return {static_cast<Real<T>>(s.real()), static_cast<Real<T>>(s.imag())};
  else return static_cast<T>(s.real());
}

template <class T>
constexpr T conjugate_if(bool yes, T v) {
  if constexpr (is_complex<T>) return {v.re, yes ? -v.im : v.im};
  else return v;
}

template <class T>
constexpr bool is_zero(T v) {
  if constexpr (is_complex<T>) return v.re == 0 && v.im == 0;
  else return v == 0;
}

template <class T>
constexpr bool equal(T u, T v) {
  if constexpr (is_complex<T>) return u.re == v.re && u.im == v.im;
  else return u == v;
}

// Complex values are ordered by their real parts, and by their imaginary parts if these are equal.
template <class T>
constexpr bool less(T u, T v) {
  if constexpr (is_complex<T>) return u.re == v.re ? u.im < v.im : u.re < v.re;
  else return u < v;
}

// Whether two values are the same; all NaNs count as the same.
template <class T>
constexpr bool same(T u, T v) {
  if constexpr (is_complex<T>) return same(u.re, v.re) && same(u.im, v.im);
  else return equal(u, v) || (u != u && v != v);
}

template <class R>
constexpr Complex<R> operator+(Complex<R> a, Complex<R> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class R>
constexpr Complex<R>& operator+=(Complex<R>& a, Complex<R> b) {
  return a = a + b;
}
template <class R>
constexpr Complex<R> operator*(Complex<R> a, Complex<R> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class R>
constexpr Complex<R> operator*(R a, Complex<R> b) {
  return {a * b.re, a * b.im};
}
template <class R>
constexpr Complex<R> operator*(Complex<R> a, R b) {
  return {a.re * b, a.im * b};
}

// u * v in the type of the product.
template <class U, class V>
constexpr Product<U, V> multiply(U u, V v) {
  using R = Wider<U, V>;
  if constexpr (is_complex<U> && is_complex<V>) return convert<Complex<R>>(u) * convert<Complex<R>>(v);
  else if constexpr (is_complex<U>) return convert<Complex<R>>(u) * static_cast<R>(v);
  else if constexpr (is_complex<V>) return static_cast<R>(u) * convert<Complex<R>>(v);
  else return static_cast<R>(u) * static_cast<R>(v);
}

// alpha or beta. A real factor stays real, because (1 + 0i) times an infinity would give a NaN.
template <class T>
class Factor {
 public:
  explicit Factor(Scalar s) : value_(from_scalar<T>(s)), real_(s.imag() == 0), one_(s == 1.0) {}

  constexpr T operator*(T x) const {
    if (one_) return x;
    if constexpr (is_complex<T>) return real_ ? value_.re * x : value_ * x;
    else return value_ * x;
  }

  constexpr T value() const { return value_; }
  constexpr Real<T> real_part() const {
    if constexpr (is_complex<T>) return value_.re;
    else return value_;
  }
  constexpr bool real() const { return real_; }
  constexpr bool one() const { return one_; }

 private:
  T value_;
  bool real_, one_;
};

// out = alpha * sum + beta * out, with flags for the common cases.
template <class T>
struct Update {
  Factor<T> alpha, beta;
  bool plain, add;  // alpha == 1 and beta == 0; alpha == 1 and beta == 1
  bool reads;       // beta != 0, so out is read

  Update(Scalar a, Scalar b)
      : alpha(a), beta(b), plain(a == 1.0 && b == 0.0), add(a == 1.0 && b == 1.0), reads(b != 0.0) {}

  constexpr bool real() const { return alpha.real() && beta.real(); }
  constexpr void one(T* out, T sum) const { *out = reads ? alpha * sum + beta * *out : alpha * sum; }
};

}  // namespace diagsparse
