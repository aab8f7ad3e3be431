// Four neighbouring diagonals of C at once. Where B's diagonals are neighbours too, as in a band, the four share
// their terms' values of A: one load of A serves four multiply-adds, 1.25 loads for each instead of 2.
#pragma once

#include <algorithm>
#include <vector>

#include "core/plan.hpp"
#include "kernels/each_set/row_tiles.hpp"

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
  int64 first, last;         // the rows on which every term of all four is whole
};

struct QuadPlan {
  std::vector<Quad> quads;
  std::vector<SharedTerm> shared;
  std::vector<Term> rest;

  // Empty where sharing would not pay: too few shared terms.
  explicit QuadPlan(const Sums& plan) {
    const int64 count = static_cast<int64>(plan.sums.size());
    for (int64 d = 0; d + kQuad <= count; d += kQuad) add(&plan.sums[d], plan.terms);
    if (2 * kQuad * shared.size() < plan.terms.size()) quads.clear();
  }

 private:
  void add(const Sum* sums, const std::vector<Term>& terms) {
    Quad q{sums, static_cast<int64>(shared.size()), 0, {}, sums[0].first, sums[0].last};
    const Term *head[kQuad], *end[kQuad];
    std::vector<Term> alone[kQuad];
    for (int k = 0; k < kQuad; ++k) {
      head[k] = terms.data() + sums[k].terms;
      end[k] = terms.data() + sums[k].terms_end;
      q.first = std::max(q.first, sums[k].first);
      q.last = std::min(q.last, sums[k].last);
      for (const Term* t = head[k]; t < end[k]; ++t) {
        q.first = std::max(q.first, t->first);
        q.last = std::min(q.last, t->last);
      }
    }
    for (;;) {
      const Term* lowest = nullptr;
      bool same = true;
      for (int k = 0; k < kQuad; ++k) {
        if (head[k] == end[k]) same = false;
        else if (!lowest || head[k]->key < lowest->key) lowest = head[k];
      }
      if (!lowest) break;
      const int64 key = lowest->key;
      for (int k = 0; k < kQuad; ++k) same = same && head[k]->key == key;
      if (same) shared.push_back({head[0]->u, {head[0]->v, head[1]->v, head[2]->v, head[3]->v}});
      for (int k = 0; k < kQuad; ++k) {
        if (head[k] == end[k] || head[k]->key != key) continue;
        if (!same) alone[k].push_back(*head[k]);
        ++head[k];
      }
    }
    q.shared_end = static_cast<int64>(shared.size());
    for (int k = 0; k < kQuad; ++k) {
      q.rest[k] = static_cast<int64>(rest.size());
      rest.insert(rest.end(), alone[k].begin(), alone[k].end());
    }
    q.rest[kQuad] = static_cast<int64>(rest.size());
    quads.push_back(q);
  }
};

// Asks for the cache lines of the next block of rows while this one is computed: a band has more streams than
// the hardware prefetchers follow, and C's lines would be fetched only when they are written.
template <class U, class V>
class Prefetch {
 public:
  Prefetch(const Plan& plan, const Streams<U, V>& s, int64 rows) : rows_(rows) {
    const std::vector<Span> a = spans_of(layout_of(plan.a), plan.op_a), b = spans_of(layout_of(plan.b), plan.op_b);
    const int64 lead = a.back().offset;  // the window of B runs ahead of the rows by so much
    for (const Span& x : a) add(s.u + (x.start - x.row), sizeof(U), false);
    for (const Span& x : b) add(s.v + (x.start - x.row + lead), sizeof(V), false);
    for (const Sum& c : sums_of(plan).sums) add(s.out + c.out, sizeof(Product<U, V>), true);
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
  static void tile(const S& s, const QuadPlan& plan, const Quad& q, int64 i) {
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
#pragma GCC unroll 4
    for (int k = 0; k < kQuad; ++k) {
      for (int64 e = q.rest[k]; e < q.rest[k + 1]; ++e) {
        const Term& t = plan.rest[e];
#pragma GCC unroll 4
        for (int j = 0; j < N; ++j) M::add(acc[k][j], M::left(u + t.u + j * step), M::right(v + t.v + j * step));
      }
#pragma GCC unroll 4
      for (int j = 0; j < N; ++j) {
        put_vector<M>(s.update, s.out + q.sums[k].out + i + j * step, M::total(acc[k][j], s.signs));
      }
    }
  }
};

}  // namespace diagsparse::DIAGSPARSE_ISA
