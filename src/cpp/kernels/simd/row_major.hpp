// y = A x for a block x with contiguous rows (C order). For each row of y, as many columns as fit a few vectors stay in
// registers, while one value of every diagonal is broadcast and multiplied by them. If a row has fewer elements than
// two vectors, vectors have elements of several rows.
#pragma once

#include <algorithm>

#include "core/diagonals.hpp"
#include "kernels/simd/row_tiles.hpp"
#include "kernels/simd/vec.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

// (a0, b0, a1, ...), (c0, d0, c1, ...) -> (a0, a1, ..., c0, c1, ...), or for Part 1 (b0, b1, ..., d0, d1, ...)
template <std::size_t Part, class V, std::size_t... I>
inline V every_second(V low, V high, std::index_sequence<I...>) {
  return __builtin_shufflevector(low, high, static_cast<int>(2 * I + Part)...);
}
// Lane l is element from[l] of v.
template <class V, class I>
inline V picked(V v, I from) {
  if constexpr (kIsa > 0) return __builtin_shuffle(v, from);
  V result;
  for (std::size_t l = 0; l < sizeof v / sizeof v[0]; ++l) result[l] = v[from[l]];
  return result;
}

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
    const bool mixed = is_complex<U> && same_conjugation(begin, end) != end;
    if constexpr (kShares) {
      const int64 reals = cols * kWidth;
      const bool contiguous = x_stride == cols && y_stride == cols, fills = kIsa == 0 && reals == kReals;
      if (contiguous && reals <= kMostShared && !fills) return several_rows(begin, end, mixed, first, last, cols);
    }
    Window w(begin, end);
    for (int64 i = first; i < last; ++i) {
      w.move(i, 1);
      one_row(w.some, w.some_end, mixed, i, cols);
    }
  }

 private:
  static constexpr int kReals = kVectorBytes / static_cast<int>(sizeof(R));  // in a vector
  static constexpr int kWidth = is_complex<T> ? 2 : 1;                       // reals of an element of y
  static constexpr bool kByReals = is_complex<V> || !is_complex<T>;          // reals of x are those of y, times factors
  static constexpr bool kShares = kByReals && sizeof(Real<U>) >= 4 && (kIsa > 0 || !is_complex<T>);
  static constexpr int kMostShared = kIsa > 0 ? 2 * kReals - 1 : 3;  // reals of a row that shares vectors with others
  using Vec = Vector<R, kReals>;
  using Lane = std::conditional_t<sizeof(R) == 8, std::int64_t, std::int32_t>;
  using Lanes = Vector<Lane, kReals>;

  // One value for all lanes of any vector.
  struct Broadcast {
    U value;

    R re(int) const {
      if constexpr (is_complex<U>) return static_cast<R>(value.re);
      else return static_cast<R>(value);
    }
    R im(int) const { return static_cast<R>(value.im); }
  };
  // Values of as many rows as a vector has lanes. In vector k, lane l is in row[k][l] of them.
  struct Picked {
    Vec real, imag;
    const Lanes* row;

    [[gnu::always_inline]] Picked(const U* values, const Lanes* row) : row(row) {
      if constexpr (is_complex<U>) {
        const auto* const parts = reinterpret_cast<const Real<U>*>(values);
        const Vec low = load_as<R, kReals>(parts), high = load_as<R, kReals>(parts + kReals);
        real = every_second<0>(low, high, std::make_index_sequence<kReals>{});
        imag = every_second<1>(low, high, std::make_index_sequence<kReals>{});
      } else {
        real = load_as<R, kReals>(values);
      }
    }
    Vec re(int k) const { return picked(real, row[k]); }
    Vec im(int k) const { return picked(imag, row[k]); }
  };

  // The same for two reals in a row: vectors k = 0 to 3 are of twice as many rows.
  struct Doubled {
    Vec value[4];

    [[gnu::always_inline]] explicit Doubled(const U* values) {
      for (int k = 0; k < 4; ++k) {
        value[k] = twice<Vec>(load_as<R, kReals / 2>(values + k * kReals / 2), std::make_index_sequence<kReals>{});
      }
    }
    Vec re(int k) const { return value[k]; }
  };

  [[gnu::always_inline]] void one_row(const Term* some, const Term* some_end, bool mixed, int64 i, int64 cols) const {
    int64 c = 0;
    constexpr int wide = kReals / kWidth;
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

  // The same for a few contiguous columns, which do not fill vectors: as many rows as a vector has lanes are as many
  // vectors as a row has reals.
  [[gnu::noinline]] void several_rows(const Term* begin, const Term* end, bool mixed, int64 first, int64 last,
                                      int64 cols) const {
    const int64 reals = cols * kWidth;
    Lanes row[kMostShared];
    for (int64 n = 0; n < reals; ++n) {
      for (int l = 0; l < kReals; ++l) row[n][l] = static_cast<Lane>((n * kReals + l) / reals);
    }
    const int64 rows = reals == 2 ? 2 * kReals : kReals;
    Window w(begin, end);
    for (int64 i = first; i < last;) {
      w.move(i, rows);
      if (i + rows > last || w.ragged()) {
        w.move(i, 1);
        one_row(w.some, w.some_end, mixed, i++, cols);
        continue;
      }
      const auto picked_from = [&](int64 n) {
        return [values = u + i, in = row + n](const Term& t) { return Picked(values + t.u, in); };
      };
      if constexpr (!is_complex<T>) {
        if (reals == 2) shared<4>(w, mixed, i, 0, 2, [values = u + i](const Term& t) { return Doubled(values + t.u); });
      }
      int64 n = 0;
      for (; n + 4 <= reals; n += 4) shared<4>(w, mixed, i, n, reals, picked_from(n));
      if (reals - n == 3) shared<3>(w, mixed, i, n, reals, picked_from(n));
      if (reals - n == 2 && n > 0) shared<2>(w, mixed, i, n, reals, picked_from(n));
      if (reals - n == 1) shared<1>(w, mixed, i, n, reals, picked_from(n));
      i += rows;
    }
  }

  // The vectors n to n + N - 1 of the rows from i on.
  template <int N, class Values>
  [[gnu::always_inline]] void shared(const Window& w, bool mixed, int64 i, int64 n, int64 reals,
                                     const Values& values_of) const {
    const int64 at = n * kReals;
    sum<kReals, N>(
        w.some, w.some_end, mixed, values_of,
        [&](const Term& t) { return reinterpret_cast<const Real<V>*>(x) + (t.v + i) * reals + at; },
        y + (i * reals + at) / kWidth);
  }

  // Computes Width values in each of N vectors.
  template <int Width, int N>
  [[gnu::always_inline]] void columns(const Term* begin, const Term* end, bool mixed, int64 i, int64 c) const {
    constexpr int lanes = Width * kWidth;
    T* out = y + i * y_stride + c;
    const U* const values = u + i;
    const V* const rows = x + i * x_stride + c;
    if constexpr (lanes == 1 || !kByReals) {
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
      sum<lanes, N>(
          begin, end, mixed, [=](const Term& t) { return Broadcast{values[t.u]}; },
          [=, this](const Term& t) { return reinterpret_cast<const Real<V>*>(rows + t.v * x_stride); }, out);
    }
  }

  // N vectors of sums. u = a + ib times x is a x + b (i x): two real multiples of the lanes of x.
  template <int lanes, int N, class Values, class Rows>
  [[gnu::always_inline]] void sum(const Term* begin, const Term* end, bool mixed, const Values& values_of,
                                  const Rows& row_of, T* out) const {
    using Some = Vector<R, lanes>;
    Some sums[1][N] = {}, q[N] = {};
    Some(&p)[N] = sums[0];
    const Term* t = begin;
    do {
      const Term* const next = mixed ? same_conjugation(t, end) : end;
      for (; t < next; ++t) {
        const auto a = values_of(*t);
        const Real<V>* const row = row_of(*t);
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) {
          const Some v = load_as<R, lanes>(row + n * lanes);
          p[n] += a.re(n) * v;
          if constexpr (is_complex<U>) q[n] += a.im(n) * v;
        }
      }
      for (int n = 0; mixed && t < end && n < N; ++n) q[n] = Some{} - q[n];
    } while (mixed && t < end);
    const bool conj = conj_u != (begin < end && end[-1].conjugated);
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) p[n] = total(p[n], q[n], conj);
    put_vectors(update, sums, [&](int) { return out; });
  }

  // The end of the terms that are conjugated as the first one is.
  static const Term* same_conjugation(const Term* t, const Term* end) {
    return std::find_if(t, end, [=](const Term& other) { return other.conjugated != t->conjugated; });
  }

  template <class Some>
  static Some total(Some p, Some q, bool conj) {
    if constexpr (is_complex<U>) {
      constexpr int lanes = sizeof(Some) / sizeof(R);
      const Some swapped = swap_pairs(q, std::make_index_sequence<lanes>{});
      for (int l = 0; l < lanes; ++l) p[l] += (l % 2 == 0) != conj ? -swapped[l] : swapped[l];
    }
    return p;
  }
};

}  // namespace diagsparse::DIAGSPARSE_ISA
