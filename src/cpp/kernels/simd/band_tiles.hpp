// Computes four neighbouring diagonals of C together. If B's diagonals are also neighbours, as in a band, the four sums
// use the same values of A: one load of A serves four multiply-adds, which is 1.25 loads for each instead of 2. Each
// sum adds its terms in their order.
#pragma once

#include <algorithm>
#include <vector>

#include "core/plan.hpp"
#include "kernels/simd/row_tiles.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

constexpr int kQuad = 4;

// A stream of A that all four sums read, and the four streams of B that it is multiplied by.
struct CommonTerm {
  int64 u, v[kQuad];
};

// Successive terms of four sums: those that only some of them have, then common ones.
struct Stretch {
  int64 rest[kQuad + 1];     // in QuadPlan::rest: sum k has [rest[k], rest[k + 1])
  int64 common, common_end;  // in QuadPlan::common
};

// Four sums, split into stretches.
struct Quad {
  const Sum* sums;                // four of them
  int64 stretches, last_stretch;  // the first and the last one in QuadPlan::stretches; the last has no common terms
  int64 first, last;              // rows covered by every term of all four; if there are none, no term is listed
};

class QuadPlan {
 public:
  std::vector<Quad> quads;
  std::vector<Stretch> stretches;
  std::vector<CommonTerm> common;
  std::vector<Term> rest;

  QuadPlan() = default;
  // Empty if there are too few common terms to be worth it.
  explicit QuadPlan(const Sums& plan) {
    const int64 count = static_cast<int64>(plan.sums.size());
    int64 common_terms = 0;
    for (int64 d = 0; d + kQuad <= count; d += kQuad) {
      for_each_common(plan, &plan.sums[d],
                      [&](const PairRange* const*, std::int32_t, std::int32_t n) { common_terms += n; });
    }
    if (2 * kQuad * common_terms < plan.terms()) return;
    quads.reserve(count / kQuad);
    for (int64 d = 0; d + kQuad <= count; d += kQuad) add(plan, &plan.sums[d]);
  }

 private:
  // Calls f(the current pair range of each sum, a, n) for runs of n diagonals a, a + 1, ... of A with terms in all four
  // sums.
  template <class F>
  static void for_each_common(const Sums& plan, const Sum* sums, const F& f) {
    const PairRange *at[kQuad], *end[kQuad];
    for (int k = 0; k < kQuad; ++k) {
      at[k] = plan.pair_ranges.data() + sums[k].pair_ranges;
      end[k] = plan.pair_ranges.data() + sums[k].pair_ranges_end;
      if (at[k] == end[k]) return;
    }
    for (;;) {
      std::int32_t first = at[0]->a, last = at[0]->a + at[0]->count;
      for (int k = 1; k < kQuad; ++k) {
        first = std::max(first, at[k]->a);
        last = std::min(last, at[k]->a + at[k]->count);
      }
      if (first < last) f(at, first, last - first);
      for (int k = 0; k < kQuad; ++k) {
        if (at[k]->a + at[k]->count == last && ++at[k] == end[k]) return;
      }
    }
  }

  void add(const Sums& plan, const Sum* sums) {
    Quad q{sums, size(stretches), size(stretches), sums[0].first, sums[0].last};
    for (int k = 0; k < kQuad; ++k) {
      q.first = std::max(q.first, sums[k].first);
      q.last = std::min(q.last, sums[k].last);
      if (sums[k].pair_ranges == sums[k].pair_ranges_end) continue;
      const PairRange &head = plan.pair_ranges[sums[k].pair_ranges],
                      &tail = plan.pair_ranges[sums[k].pair_ranges_end - 1];
      const int more = tail.count - 1;
      q.first = std::max(q.first, plan.term(sums[k], head.a, head.b).first);
      q.last = std::min(q.last, plan.term(sums[k], tail.a + more, tail.b - more).last);
    }
    if (q.first < q.last) list_terms(plan, q);
    quads.push_back(q);
  }

  void list_terms(const Sums& plan, Quad& q) {
    Cursor at[kQuad];  // the next term of each sum
    for (int k = 0; k < kQuad; ++k) at[k] = {q.sums[k].pair_ranges, 0};
    for_each_common(plan, q.sums, [&](const PairRange* const* in, std::int32_t a, std::int32_t n) {
      Stretch stretch;
      for (int k = 0; k < kQuad; ++k) {
        stretch.rest[k] = size(rest);
        const int64 range = in[k] - plan.pair_ranges.data();
        list_rest(plan, q.sums[k], at[k], {range, a - in[k]->a});
        at[k] = {range, a - in[k]->a + n};
      }
      stretch.rest[kQuad] = size(rest);
      stretch.common = size(common);
      for (std::int32_t i = 0; i < n; ++i) {
        CommonTerm term{plan.a[a + i].base, {}};
        for (int k = 0; k < kQuad; ++k) term.v[k] = plan.b[in[k]->b - (a + i - in[k]->a)].base + plan.a[a + i].shift;
        common.push_back(term);
      }
      stretch.common_end = size(common);
      stretches.push_back(stretch);
    });
    Stretch last{{}, size(common), size(common)};
    for (int k = 0; k < kQuad; ++k) {
      last.rest[k] = size(rest);
      list_rest(plan, q.sums[k], at[k], {q.sums[k].pair_ranges_end, 0});
    }
    last.rest[kQuad] = size(rest);
    stretches.push_back(last);
    q.last_stretch = size(stretches) - 1;
  }

  // A pair of a sum: the number of its range, and its place there.
  struct Cursor {
    int64 range;
    std::int32_t pair;
  };

  // Lists the terms of a sum from one pair up to another one as rest.
  void list_rest(const Sums& plan, const Sum& sum, Cursor from, Cursor to) {
    for (; from.range <= to.range; from = {from.range + 1, 0}) {
      if (from.range == to.range && from.pair == to.pair) return;
      const PairRange& pairs = plan.pair_ranges[from.range];
      const std::int32_t end = from.range == to.range ? to.pair : pairs.count;
      for (; from.pair < end; ++from.pair) rest.push_back(plan.term(sum, pairs.a + from.pair, pairs.b - from.pair));
    }
  }

  template <class List>
  static int64 size(const List& list) {
    return static_cast<int64>(list.size());
  }
};

// Prefetches the next block of rows while the current one is computed. A band has more streams than the hardware
// prefetchers can follow, and the cache lines of C would be fetched only when they are written.
template <class U, class V>
class Prefetch {
 public:
  Prefetch(const Sums& sums, const Streams<U, V>& s, int64 rows) : rows_(rows) {
    const int64 lead = sums.a.empty() ? 0 : sums.a.back().shift;  // the window of B is ahead of the rows by this
    streams_.reserve(sums.a.size() + sums.b.size() + sums.sums.size());
    for (const Diagonal& x : sums.a) add(s.u + x.base, sizeof(U), false);
    for (const Diagonal& x : sums.b) add(s.v + x.base + lead, sizeof(V), false);
    for (const Sum& c : sums.sums) add(s.out + c.out, sizeof(Product<U, V>), true);
  }

  // Prefetches chunk `chunk` of `chunks` of the data for the rows [first, first + rows).
  void chunk(int64 chunk, int64 chunks, int64 first) const {
    asm volatile("");  // GCC would remove calls of a function that only prefetches, as having no effect
    const int64 count = static_cast<int64>(streams_.size());
    for (int64 n = count * chunk / chunks; n < count * (chunk + 1) / chunks; ++n) {
      const Stream& s = streams_[n];
      const char* line = s.row0 + first * s.size;
      for (const char* end = line + rows_ * s.size; line < end; line += 64) {
        if (s.written) __builtin_prefetch(line, 1);
        else __builtin_prefetch(line, 0);
      }
    }
  }

 private:
  struct Stream {
    const char* row0;  // address of row 0
    int64 size;
    bool written;
  };
  void add(const void* row0, int64 size, bool written) {
    streams_.push_back({static_cast<const char*>(row0), size, written});
  }

  int64 rows_;
  std::vector<Stream> streams_;
};

template <class U, class V>
class BandTiles {
  using S = Streams<U, V>;
  using M = typename S::M;
  using R = typename M::R;
  static constexpr int step = M::step;
  static constexpr int registers = kVectorBytes == 64 ? 16 : 8;  // for accumulators
  static constexpr int N = std::max(1, registers / (kQuad * (M::both ? 2 : 1)));

 public:
  static constexpr int64 rows = N * step;

  // Computes the rows [i, i + rows) of the four sums; every term covers all of them.
  [[gnu::always_inline]] static void tile(const S& s, const QuadPlan& plan, const Quad& q, int64 i) {
    typename M::Acc acc[kQuad][N];
    const U* u = s.u + i;
    const V* v = s.v + i;
    const auto add_rest = [&](const Stretch& stretch, int k) __attribute__((always_inline)) {
      for (int64 e = stretch.rest[k]; e < stretch.rest[k + 1]; ++e) {
        const Term& t = plan.rest[e];
#pragma GCC unroll 4
        for (int j = 0; j < N; ++j) M::add(acc[k][j], M::left(u + t.u + j * step), M::right(v + t.v + j * step));
      }
    };
    const Stretch *stretch = &plan.stretches[q.stretches], *const last = &plan.stretches[q.last_stretch];
    for (; stretch < last; ++stretch) {
#pragma GCC unroll 4
      for (int k = 0; k < kQuad; ++k) add_rest(*stretch, k);
      for (const CommonTerm *t = plan.common.data() + stretch->common, *end = plan.common.data() + stretch->common_end;
           t < end; ++t) {
#pragma GCC unroll 4
        for (int j = 0; j < N; ++j) {
          const auto left = M::left(u + t->u + j * step);
#pragma GCC unroll 4
          for (int k = 0; k < kQuad; ++k) M::add(acc[k][j], left, M::right(v + t->v[k] + j * step));
        }
      }
    }
    typename M::Vec sums[kQuad][N];
#pragma GCC unroll 4
    for (int k = 0; k < kQuad; ++k) {
      add_rest(*last, k);
#pragma GCC unroll 4
      for (int j = 0; j < N; ++j) sums[k][j] = M::total(acc[k][j], s.signs);
    }
    put_vectors(s.update, sums, [&](int k) { return s.out + q.sums[k].out + i; });
  }
};

}  // namespace diagsparse::DIAGSPARSE_ISA
