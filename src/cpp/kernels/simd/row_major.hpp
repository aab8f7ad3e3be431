// y = A x for a block x with contiguous rows (C order). For each row of y, as many columns as fit a few vectors stay in
// registers, while one value of every diagonal is broadcast and multiplied by them. 2, 4 or 8 columns of real numbers
// share a vector with those of the next rows.
#pragma once

#include <algorithm>

#include "core/diagonals.hpp"
#include "kernels/simd/row_tiles.hpp"
#include "kernels/simd/vec.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

template <class U, class V>
class RowMajor {
  using T = Product<U, V>;
  using R = Real<T>;

 public:
  const U* u;
  const V* x;
  T* y;
  int64 x_stride, y_stride;  // from row to row
  bool conj_u;
  Update<T> update;

  // The rows [first, last) and all `cols` columns of the sum over [begin, end).
  [[gnu::always_inline]] void run(const Term* begin, const Term* end, int64 first, int64 last, int64 cols) const {
    if constexpr (!is_complex<T> && sizeof(U) >= 4) {
      const int64 contiguous = x_stride == cols && y_stride == cols ? cols : 0;
      if constexpr (kReals >= 4) {
        if (contiguous == 2) return several_rows<2>(begin, end, first, last);
      }
      if constexpr (kReals >= 8) {
        if (contiguous == 4) return several_rows<4>(begin, end, first, last);
      }
      if constexpr (kReals >= 16) {
        if (contiguous == 8) return several_rows<8>(begin, end, first, last);
      }
    }
    const bool mixed = is_complex<U> && same_conjugation(begin, end) != end;
    Window w(begin, end);
    for (int64 i = first; i < last; ++i) {
      w.move(i, 1);
      one_row(w.some, w.some_end, mixed, i, cols);
    }
  }

 private:
  static constexpr int kReals = kVectorBytes / static_cast<int>(sizeof(R));  // in a vector

  [[gnu::always_inline]] void one_row(const Term* some, const Term* some_end, bool mixed, int64 i, int64 cols) const {
    int64 c = 0;
    constexpr int wide = kReals / (is_complex<T> ? 2 : 1);
    for (; c + 4 * wide <= cols; c += 4 * wide) columns<wide, 4>(some, some_end, mixed, i, c);
    for (; c + wide <= cols; c += wide) columns<wide, 1>(some, some_end, mixed, i, c);
    if constexpr (wide >= 8) {
      for (; c + 4 <= cols; c += 4) columns<4, 1>(some, some_end, mixed, i, c);
    }
    if constexpr (wide >= 4) {
      for (; c + 2 <= cols; c += 2) columns<2, 1>(some, some_end, mixed, i, c);
    }
    for (; c < cols; ++c) columns<1, 1>(some, some_end, mixed, i, c);
  }

  // The same for K contiguous columns of real numbers, which do not fill a vector: it has the elements of several rows.
  template <int K>
  void several_rows(const Term* begin, const Term* end, int64 first, int64 last) const {
    constexpr int N = 4, height = kReals / K;  // vectors at a time, and rows of a vector
    Window w(begin, end);
    for (int64 i = first; i < last;) {
      const int64 next = i + N * height;
      w.move(i, N * height);
      if (next > last || w.ragged()) {
        w.move(i, 1);
        one_row(w.some, w.some_end, false, i++, K);
        continue;
      }
      using Vec = Vector<R, height * K>;
      Vec sums[1][N] = {};
      for (const Term* t = w.some; t < w.some_end; ++t) {
        const U* const values = u + (t->u + i);
        const V* const rows = x + (t->v + i) * K;
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) {
          const auto a = load_as<R, height>(values + n * height);
          const Vec v = load_as<R, height * K>(rows + n * height * K);
          sums[0][n] += repeated<K, R, height>(a) * v;
        }
      }
      put_vectors(update, sums, [&](int) { return y + i * K; });
      i = next;
    }
  }

  // Computes Width values in each of N vectors. u = a + ib times x is a x + b (i x): two real multiples of the lanes of
  // x.
  template <int Width, int N>
  [[gnu::always_inline]] void columns(const Term* begin, const Term* end, bool mixed, int64 i, int64 c) const {
    constexpr int lanes = Width * (is_complex<T> ? 2 : 1);
    T* out = y + i * y_stride + c;
    const U* const values = u + i;
    const V* const rows = x + i * x_stride + c;
    if constexpr (lanes == 1 || (!is_complex<V> && is_complex<T>)) {
      T sums[Width * N] = {};
      for (const Term* t = begin; t < end; ++t) {
        const U a = conjugate_if(conj_u != t->conjugated, values[t->u]);
        const V* row = rows + t->v * x_stride;
        for (int k = 0; k < Width * N; ++k) add_product(sums[k], a, row[k]);
      }
      if (Width * N == 1) *out = updated(update, sums[0], *out);
      else if (update.plain) std::copy_n(sums, Width * N, out);
      else put_sums(update, out, sums, Width * N);
    } else {
      using Vec = Vector<R, lanes>;
      Vec sums[1][N] = {}, q[N] = {};
      Vec(&p)[N] = sums[0];
      const Term* t = begin;
      do {
        const Term* const next = mixed ? same_conjugation(t, end) : end;
        for (; t < next; ++t) {
          const U a = values[t->u];
          const auto* row = reinterpret_cast<const Real<V>*>(rows + t->v * x_stride);
#pragma GCC unroll 4
          for (int n = 0; n < N; ++n) {
            const Vec v = load_as<R, lanes>(row + n * lanes);
            if constexpr (is_complex<U>) {
              p[n] += static_cast<R>(a.re) * v;
              q[n] += static_cast<R>(a.im) * v;
            } else {
              p[n] += static_cast<R>(a) * v;
            }
          }
        }
        for (int n = 0; mixed && t < end && n < N; ++n) q[n] = Vec{} - q[n];
      } while (mixed && t < end);
      const bool conj = conj_u != (begin < end && end[-1].conjugated);
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) p[n] = total(p[n], q[n], conj);
      put_vectors(update, sums, [&](int) { return out; });
    }
  }

  // The end of the terms that are conjugated as the first one is.
  static const Term* same_conjugation(const Term* t, const Term* end) {
    return std::find_if(t, end, [=](const Term& other) { return other.conjugated != t->conjugated; });
  }

  template <class Vec>
  static Vec total(Vec p, Vec q, bool conj) {
    if constexpr (is_complex<U>) {
      constexpr int lanes = sizeof(Vec) / sizeof(R);
      const Vec swapped = swap_pairs(q, std::make_index_sequence<lanes>{});
      for (int l = 0; l < lanes; ++l) p[l] += (l % 2 == 0) != conj ? -swapped[l] : swapped[l];
    }
    return p;
  }
};

}  // namespace diagsparse::DIAGSPARSE_ISA
