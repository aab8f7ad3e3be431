// The inner loop of the diagonal formats: a sum of products of streams, for a tile of rows held in registers.
//   out[i] = sum over terms of u[t.u + i] * v[t.v + i]   (see core/sums.hpp).
//
// The terms of a sum are ordered so that those which cover a complete tile are consecutive. If a term begins or ends in
// a tile, a narrower tile is used, down to one vector, in which such a term changes only the lanes that it covers.
// Widths are 8, 2 and 1 vectors, or 4 and 1: more would hardly be faster, and compile slowly.
//
// Every lane adds its own terms one after another, in their order. So a row of the result depends only on its terms,
// and not on its place in a tile or a group, nor on other rows, diagonals or columns.
#pragma once

#include <algorithm>
#include <span>

#include "core/sums.hpp"
#include "kernels/simd/vec.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

// Terms at a time. The hardware prefetchers follow about 15 streams: of the terms, of x and y, and of the sums that are
// kept from one group of terms to the next. Complex x complex keeps two, so that its groups are smaller, except for
// several columns, which do more work with each value of A.
constexpr int64 kGroup = 16, kSmallGroup = 11, kSmallSingleGroup = 13;
constexpr int64 kFewRows = 256;           // rows that are not worth several groups
constexpr int64 kPartialBytes = 1 << 17;  // on the stack, for partial sums that one group leaves to the next

// The terms that intersect the rows [first, last).
inline std::pair<const Term*, const Term*> terms_in(std::span<const Term> terms, int64 first, int64 last) {
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
  using R = typename M::R;
  using Acc = typename M::Acc;
  const U* u;
  const V* v;
  T* out;
  int64 v_stride, out_stride;
  bool conj_u, conj_v;
  typename M::Signs signs;
  Update<T> update;
  // Between two groups of terms, partial sums are kept for the rows from `partial_row` on.
  R* partial = nullptr;
  int64 partial_row = 0, partial_stride = 0;
  bool resumed = false, unfinished = false;  // whether they are read, and whether they are written instead of `out`

  static constexpr int kSums = M::both ? 2 : 1;  // in an accumulator
  // Rows whose partial sums can be kept. Those of two columns are not a multiple of 4096 bytes apart.
  static constexpr int64 grouped_rows(int64 columns) {
    return kPartialBytes / (columns * kSums * static_cast<int64>(sizeof(T))) - 8 * M::step;
  }

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

  R* partial_sums(int k, int64 i, int sum) const {
    return partial + ((k * kSums + sum) * partial_stride + (i - partial_row) * M::width);
  }
  // Sets conj_u, also for the partial sums of these columns and rows. A sum of 0 does not become -0.
  void conjugate_u(bool yes, int columns, int64 rows) {
    if (!is_complex<U> || yes == conj_u) return;
    conj_u = yes;
    signs = M::signs(conj_u, conj_v);
    for (int n = 0; resumed && n < columns * kSums; ++n) {
      R* const sums = partial + n * partial_stride;
      for (int64 l = 1; l < rows * M::width; l += 2) sums[l] = R(0) - sums[l];
    }
  }
  // The sums of a vector of rows in column k.
  [[gnu::always_inline]] void resume(Acc& acc, int k, int64 i) const {
    acc.p = load<R, M::lanes>(partial_sums(k, i, 0));
    if constexpr (M::both) acc.q = load<R, M::lanes>(partial_sums(k, i, 1));
  }
  [[gnu::always_inline]] void keep(const Acc& acc, int k, int64 i) const {
    store(partial_sums(k, i, 0), acc.p);
    if constexpr (M::both) store(partial_sums(k, i, 1), acc.q);
  }
  // The same, but for the rows in front of `first`.
  void keep(Acc acc, int k, int64 i, int64 first) const {
    Acc before;
    resume(before, k, i);
    for (int64 l = 0; l < (first - i) * M::width; ++l) {
      acc.p[l] = before.p[l];
      if constexpr (M::both) acc.q[l] = before.q[l];
    }
    keep(acc, k, i);
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

// Adds the rows [from, to) of a term to the vector from row i on. The other lanes keep their sums, and other rows of
// the term are not read.
template <class U, class V>
[[gnu::always_inline]] inline void add_some_rows(typename Mac<U, V>::Acc& acc, const U* u, const V* v, int64 i,
                                                 int64 from, int64 to) {
  using M = Mac<U, V>;
  using Lane = std::conditional_t<sizeof(typename M::R) == 8, std::int64_t, std::int32_t>;
  U some_u[M::step];
  V some_v[M::step];
  Vector<Lane, M::lanes> row;
  for (int r = 0; r < M::step; ++r) {
    some_u[r] = u[std::clamp(i + r, from, to - 1)];
    some_v[r] = v[std::clamp(i + r, from, to - 1)];
    for (int l = 0; l < M::width; ++l) row[r * M::width + l] = r;
  }
  auto next = acc;
  M::add(next, M::left(some_u), M::right(some_v));
  const auto covered = (row >= static_cast<Lane>(from - i)) & (row < static_cast<Lane>(to - i));
  acc.p = covered ? next.p : acc.p;
  if constexpr (M::both) acc.q = covered ? next.q : acc.q;
}

// One vector from row i on, in which terms begin or end, or of which only the rows [first, last) are written. No row
// behind them is read.
template <class U, class V>
[[gnu::noipa]] void edge_tile(const Streams<U, V>& s, const Window w, int64 i, int64 first, int64 last, int columns) {
  using M = Mac<U, V>;
  const Term* const full = last < i + M::step ? w.some_end : std::min(w.full, w.some_end);
  const Term* const full_end = std::max(full, w.full_end);
  for (int k = 0; k < columns; ++k) {
    const V* const v = s.v + k * s.v_stride;
    typename M::Acc acc;
    if (s.resumed) s.resume(acc, k, i);
    const auto add_ragged = [&](const Term* t, const Term* end) {
      for (; t < end; ++t) {
        add_some_rows<U, V>(acc, s.u + t->u, v + t->v, i, std::max(i, t->first), std::min(last, t->last));
      }
    };
    add_ragged(w.some, full);
    for (const Term* t = full; t < full_end; ++t) M::add(acc, M::left(s.u + (t->u + i)), M::right(v + (t->v + i)));
    add_ragged(full_end, w.some_end);
    if (s.unfinished) {
      s.keep(acc, k, i, first);
    } else {
      typename M::T sums[M::step];
      store(reinterpret_cast<typename M::R*>(sums), M::total(acc, s.signs));
      put_sums(s.update, s.out + k * s.out_stride + first, sums + (first - i), last - first);
    }
  }
}

// The end of the first group of these terms, in a product with `columns` columns. All are conjugated, or none.
template <class U, class V>
inline const Term* group_end(const Term* t, const Term* end, int64 rows, int64 columns) {
  const bool small = Mac<U, V>::both && columns == 1;
  const int64 count = end - t, most = small ? kSmallGroup : kGroup;
  const bool single = rows <= kFewRows || count <= (small ? kSmallSingleGroup : kGroup);
  const int64 groups = single ? 1 : (count + most - 1) / most;
  const Term *const stop = t + (count + groups - 1) / groups, *next = t;
  while (next < stop && (!is_complex<U> || next->conjugated == t->conjugated)) ++next;
  return next;
}

template <class U, class V, int K>
class RowTiles {
  using S = Streams<U, V>;
  using M = typename S::M;
  static constexpr int step = M::step;
  // As many accumulators as fit the registers next to the operands: 8, divided among K columns and the sums of each.
  static constexpr int N = std::max(1, 8 / (K * S::kSums));

 public:
  // The rows [first, last) of the sum over [begin, end).
  [[gnu::always_inline]] static void run(const S& streams, const Term* begin, const Term* end, int64 first,
                                         int64 last) {
    const S s = streams;  // a local copy that nothing can alias, so that it stays in registers
    Window w(begin, end);
    for (int64 i = first; i < last;) {
      const int64 rest = last - i;
      if (rest < step) {  // the last lanes of a vector, in which some rows are computed again
        const int64 at = std::max(first, last - step);
        w.move(at, last - at);
        return edge_tile(streams, w, at, i, last, K);
      }
      int vectors = N;  // the widest tile that fits and in which no term begins or ends, or one vector
      while (vectors * step > rest) vectors = narrower(vectors);
      for (w.move(i, vectors * step); vectors > 1 && w.ragged(); w.move(i, vectors * step)) vectors = narrower(vectors);
      if (vectors == 1 && w.ragged()) edge_tile(streams, w, i, i, i + step, K);
      else full_tile<N>(vectors, s, w, i);
      i += vectors * step;
    }
  }

  // The same for terms of which some may be conjugated, one group after another. If there are several groups, there may
  // be grouped_rows(K) rows, whose partial sums stay in the caches.
  [[gnu::always_inline]] static void run_in_groups(S s, const Term* begin, const Term* end, int64 first, int64 last,
                                                   int64 columns) {
    alignas(kVectorBytes) typename M::R partial[kPartialBytes / sizeof(typename M::R)];
    s.partial = partial;
    s.partial_row = first;
    s.partial_stride = S::grouped_rows(K) * M::width;
    const bool conj_u = s.conj_u;
    do {
      const Term* const next = group_end<U, V>(begin, end, last - first, columns);
      s.conjugate_u(conj_u != (begin < next && begin->conjugated), K, last - first);
      s.unfinished = next < end;
      run(s, begin, next, first, last);
      s.resumed = true;
      begin = next;
    } while (begin < end);
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
    if (s.resumed) {
#pragma GCC unroll 4
      for (int k = 0; k < K; ++k) {
#pragma GCC unroll 8
        for (int j = 0; j < Vectors; ++j) s.resume(acc[k][j], k, i + j * step);
      }
    }
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
    if (s.unfinished) {
#pragma GCC unroll 4
      for (int k = 0; k < K; ++k) {
#pragma GCC unroll 8
        for (int j = 0; j < Vectors; ++j) s.keep(acc[k][j], k, i + j * step);
      }
      return;
    }
    typename M::Vec sums[K][Vectors];
#pragma GCC unroll 4
    for (int k = 0; k < K; ++k) {
#pragma GCC unroll 8
      for (int j = 0; j < Vectors; ++j) sums[k][j] = M::total(acc[k][j], s.signs);
    }
    put_vectors(s.update, sums, [&](int k) { return s.out + k * s.out_stride + i; });
  }
};

}  // namespace diagsparse::DIAGSPARSE_ISA
