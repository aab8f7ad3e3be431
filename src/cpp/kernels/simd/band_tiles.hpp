// Four neighbouring diagonals of C at once. Where B's diagonals are neighbours too, as in a band, the four share
// their terms' values of A: one load of A serves four multiply-adds, 1.25 loads for each instead of 2.
#pragma once

#include <algorithm>
#include <vector>

#include "core/plan.hpp"
#include "kernels/simd/row_tiles.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

constexpr int kQuad = 4;

// A stream of A that all four sums read, and the four streams of B that it meets.
struct SharedTerm {
  int64 u, v[kQuad];
};

// Four sums, split into the terms that they share and the rest of each.
struct Quad {
  const Sum* sums;           // four of them
  int64 shared, shared_end;  // in QuadPlan::shared
  int64 rest[kQuad + 1];     // in QuadPlan::rest: sum k has [rest[k], rest[k + 1])
  int64 first, last;         // the rows on which every term of all four is whole; without any, none is listed
};

class QuadPlan {
 public:
  std::vector<Quad> quads;
  std::vector<SharedTerm> shared;
  std::vector<Term> rest;

  QuadPlan() = default;
  // Empty where sharing would not pay: too few shared terms.
  explicit QuadPlan(const Sums& plan) {
    const int64 count = static_cast<int64>(plan.sums.size());
    int64 sharing = 0;
    for (int64 d = 0; d + kQuad <= count; d += kQuad) {
      for_each_shared(plan, &plan.sums[d],
                      [&](const PairRange* const*, std::int32_t, std::int32_t n) { sharing += n; });
    }
    if (2 * kQuad * sharing < plan.terms()) return;
    quads.reserve(count / kQuad);
    for (int64 d = 0; d + kQuad <= count; d += kQuad) add(plan, &plan.sums[d]);
  }

 private:
  // Calls f(a meeting of each sum, a, n) where all four have terms of A's diagonals a, a + 1, ..., n of them.
  template <class F>
  static void for_each_shared(const Sums& plan, const Sum* sums, const F& f) {
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
    Quad q{sums, static_cast<int64>(shared.size()), 0, {}, sums[0].first, sums[0].last};
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
    runs_.clear();
    for_each_shared(plan, q.sums, [&](const PairRange* const* at, std::int32_t a, std::int32_t n) {
      runs_.emplace_back(a, a + n);
      for (; a < runs_.back().second; ++a) {
        SharedTerm term{plan.a[a].base, {}};
        for (int k = 0; k < kQuad; ++k) term.v[k] = plan.b[at[k]->b - (a - at[k]->a)].base + plan.a[a].shift;
        shared.push_back(term);
      }
    });
    q.shared_end = static_cast<int64>(shared.size());
    for (int k = 0; k < kQuad; ++k) {
      q.rest[k] = static_cast<int64>(rest.size());
      auto run = runs_.begin();
      for (int64 m = q.sums[k].pair_ranges; m < q.sums[k].pair_ranges_end; ++m) {
        const PairRange& meeting = plan.pair_ranges[m];
        for (std::int32_t a = meeting.a; a < meeting.a + meeting.count;) {
          if (run != runs_.end() && run->first == a) {
            a = (run++)->second;
            continue;
          }
          rest.push_back(plan.term(q.sums[k], a, meeting.b - (a - meeting.a)));
          ++a;
        }
      }
    }
    q.rest[kQuad] = static_cast<int64>(rest.size());
  }

  std::vector<std::pair<std::int32_t, std::int32_t>> runs_;  // of A's diagonals, that the four share
};

// Asks for the cache lines of the next block of rows while this one is computed: a band has more streams than
// the hardware prefetchers follow, and C's lines would be fetched only when they are written.
template <class U, class V>
class Prefetch {
 public:
  Prefetch(const Sums& sums, const Streams<U, V>& s, int64 rows) : rows_(rows) {
    const int64 lead = sums.a.empty() ? 0 : sums.a.back().shift;  // the window of B runs ahead of the rows by so much
    streams_.reserve(sums.a.size() + sums.b.size() + sums.sums.size());
    for (const Diagonal& x : sums.a) add(s.u + x.base, sizeof(U), false);
    for (const Diagonal& x : sums.b) add(s.v + x.base + lead, sizeof(V), false);
    for (const Sum& c : sums.sums) add(s.out + c.out, sizeof(Product<U, V>), true);
  }

  // Part `piece` of `pieces` of what the rows [first, first + rows) need.
  void piece(int64 piece, int64 pieces, int64 first) const {
    asm volatile("");  // GCC takes a function that only prefetches for one without effect, and drops its calls
    const int64 count = static_cast<int64>(streams_.size());
    for (int64 n = count * piece / pieces; n < count * (piece + 1) / pieces; ++n) {
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
    const char* row0;  // where row 0 would be
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

  // The rows [i, i + rows) of the four sums; all terms are whole there.
  [[gnu::always_inline]] static void tile(const S& s, const QuadPlan& plan, const Quad& q, int64 i) {
    typename M::Acc acc[kQuad][N];
    const U* u = s.u + i;
    const V* v = s.v + i;
    for (const SharedTerm *t = plan.shared.data() + q.shared, *end = plan.shared.data() + q.shared_end; t < end; ++t) {
#pragma GCC unroll 4
      for (int j = 0; j < N; ++j) {
        const auto left = M::left(u + t->u + j * step);
#pragma GCC unroll 4
        for (int k = 0; k < kQuad; ++k) M::add(acc[k][j], left, M::right(v + t->v[k] + j * step));
      }
    }
    typename M::Vec sums[kQuad][N];
#pragma GCC unroll 4
    for (int k = 0; k < kQuad; ++k) {
      for (int64 e = q.rest[k]; e < q.rest[k + 1]; ++e) {
        const Term& t = plan.rest[e];
#pragma GCC unroll 4
        for (int j = 0; j < N; ++j) M::add(acc[k][j], M::left(u + t.u + j * step), M::right(v + t.v + j * step));
      }
#pragma GCC unroll 4
      for (int j = 0; j < N; ++j) sums[k][j] = M::total(acc[k][j], s.signs);
    }
    put_vectors(s.update, sums, [&](int k) { return s.out + q.sums[k].out + i; });
  }
};

}  // namespace diagsparse::DIAGSPARSE_ISA
