// The inner loop of the diagonal formats: a sum of products of streams, for a tile of rows held in registers.
//   out[i] = sum over terms of u[t.u + i] * v[t.v + i]   (see core/sums.hpp).
//
// The terms of a sum are ordered so that those which cover a complete tile are consecutive. The tile processes these
// terms in vectors, and adds the few terms that begin or end inside it value by value. If a term begins or ends in a
// tile, a narrower tile is used, down to one vector. Widths are 8, 2 and 1 vectors, or 4 and 1: more would hardly be
// faster, and compile slowly.
#pragma once

#include <algorithm>

#include "core/sums.hpp"
#include "kernels/simd/vec.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

constexpr int64 kGroup = 12;  // terms at a time: the hardware prefetchers follow about a dozen streams

// The terms that intersect the rows [first, last).
inline std::pair<const Term*, const Term*> terms_in(const std::vector<Term>& terms, int64 first, int64 last) {
  const Term *begin = terms.data(), *end = begin + terms.size();
  while (begin < end && begin->first >= last) ++begin;
  while (begin < end && end[-1].last <= first) --end;
  return {begin, end};
}

// The operands of one sum; v and out may be blocks of columns, `v_stride` and `out_stride` apart.
template <class U, class V>
struct Streams {
  using M = Mac<U, V>;
  using T = typename M::T;
  const U* u;
  const V* v;
  T* out;
  int64 v_stride, out_stride;
  bool conj_u, conj_v;
  typename M::Signs signs;
  Update<T> update;

  Streams(const U* u, bool conj_u, const V* v, bool conj_v, T* out, Update<T> update)
      : u(u),
        v(v),
        out(out),
        v_stride(0),
        out_stride(0),
        conj_u(conj_u),
        conj_v(conj_v),
        signs(M::signs(conj_u, conj_v)),
        update(update) {}

  T product(int64 u_at, int64 v_at) const {
    return multiply(conjugate_if(conj_u, u[u_at]), conjugate_if(conj_v, v[v_at]));
  }
};

// The terms that intersect the rows [i, i + n), and those that cover all of them. Moves with the tile.
class Window {
 public:
  Window(const Term* begin, const Term* end)
      : begin_(begin), end_(end), some(begin), full(begin), full_end(end), some_end(end) {}

  [[gnu::always_inline]] void move(int64 i, int64 n) {
    while (some < end_ && some->first >= i + n) ++some;
    while (some > begin_ && some[-1].first < i + n) --some;
    while (full < end_ && full->first > i) ++full;
    while (full > begin_ && full[-1].first <= i) --full;
    while (some_end > begin_ && some_end[-1].last <= i) --some_end;
    while (full_end > begin_ && full_end[-1].last < i + n) --full_end;
    while (full_end < end_ && full_end->last >= i + n) ++full_end;
  }
  bool ragged() const { return some < full || full_end < some_end; }

 private:
  const Term *begin_, *end_;

 public:
  const Term *some, *full, *full_end, *some_end;
};

// Adds terms that may begin or end within the rows [i, i + n), value by value, to `columns` sums of each row.
template <class U, class V>
[[gnu::noipa]] void add_ragged(const Streams<U, V> s, const Term* begin, const Term* end, int64 i, int64 n, int columns,
                               Product<U, V>* sums) {
  constexpr int step = Mac<U, V>::step;
  for (const Term* t = begin; t < end; ++t) {
    const int64 last = std::min(i + n, t->last);
    for (int64 r = std::max(i, t->first); r < last; ++r) {
      for (int k = 0; k < columns; ++k) sums[k * step + r - i] += s.product(t->u + r, t->v + r + k * s.v_stride);
    }
  }
}

template <class U, class V, int K>
class RowTiles {
  using S = Streams<U, V>;
  using M = typename S::M;
  using T = typename S::T;
  static constexpr int step = M::step;
  // As many accumulators as fit the registers next to the operands: 8, divided among K columns and, for complex x
  // complex, two sums.
  static constexpr int N = std::max(1, 8 / (K * (M::both ? 2 : 1)));

 public:
  // The rows [first, last) of the sum over [begin, end).
  [[gnu::always_inline]] static void run(const S& streams, const Term* begin, const Term* end, int64 first,
                                         int64 last) {
    const S s = streams;  // a local copy that nothing can alias, so that it stays in registers
    Window w(begin, end);
    for (int64 i = first; i < last;) {
      const int64 rest = last - i;
      if (rest < step) {
        w.move(i, rest);
        T sums[K][step] = {};
        add_ragged(s, w.some, w.some_end, i, rest, K, sums[0]);
        write(s, i, rest, sums);
        return;
      }
      int vectors = N;  // the widest tile that fits and in which no term begins or ends, or one vector
      while (vectors * step > rest) vectors = narrower(vectors);
      for (w.move(i, vectors * step); vectors > 1 && w.ragged(); w.move(i, vectors * step)) vectors = narrower(vectors);
      full_tile<N>(vectors, s, w, i);
      i += vectors * step;
    }
  }

 private:
  static constexpr int narrower(int vectors) { return std::max(1, vectors / 4); }

  template <int Vectors>
  [[gnu::always_inline]] static void full_tile(int vectors, const S& s, const Window& w, int64 i) {
    if (vectors == Vectors) return tile<Vectors>(s, w, i);
    if constexpr (Vectors > 1) full_tile<narrower(Vectors)>(vectors, s, w, i);
  }

  template <int Vectors>
  [[gnu::always_inline]] static void tile(const S& s, const Window& w, int64 i) {
    typename M::Acc acc[K][Vectors];
    for (const Term* t = w.full; t < w.full_end; ++t) {
      const U* u = s.u + (t->u + i);
      const V* v = s.v + (t->v + i);
#pragma GCC unroll 8
      for (int j = 0; j < Vectors; ++j) {
        const auto left = M::left(u + j * step);
#pragma GCC unroll 4
        for (int k = 0; k < K; ++k) M::add(acc[k][j], left, M::right(v + k * s.v_stride + j * step));
      }
    }
    if constexpr (Vectors == 1) {
      if (w.ragged()) {
        T sums[K][step];
        for (int k = 0; k < K; ++k) store(raw(sums[k]), M::total(acc[k][0], s.signs));
        add_ragged(s, w.some, std::min(w.full, w.some_end), i, step, K, sums[0]);
        add_ragged(s, std::max({w.full, w.full_end, w.some}), w.some_end, i, step, K, sums[0]);
        write(s, i, step, sums);
        return;
      }
    }
    typename M::Vec sums[K][Vectors];
#pragma GCC unroll 4
    for (int k = 0; k < K; ++k) {
#pragma GCC unroll 8
      for (int j = 0; j < Vectors; ++j) sums[k][j] = M::total(acc[k][j], s.signs);
    }
    put_vectors(s.update, sums, [&](int k) { return s.out + k * s.out_stride + i; });
  }

  static void write(const S& s, int64 i, int64 n, const T (&sums)[K][step]) {
    for (int k = 0; k < K; ++k) put_sums(s.update, s.out + k * s.out_stride + i, sums[k], n);
  }

  static typename M::R* raw(T* p) { return reinterpret_cast<typename M::R*>(p); }
};

}  // namespace diagsparse::DIAGSPARSE_ISA
