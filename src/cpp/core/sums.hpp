// Sums of products of two streams, the basis of all arithmetic on diagonals.
//     out[s.out + i] = sum over the terms t of s of  u[t.u + i] * v[t.v + i],   t.first <= i < t.last
// y = A x is one sum with u = A's values, v = x.   C = A B has a sum for each diagonal of C, with v = B's values.
//
// For neighbouring diagonals, all terms follow from the first pair. A product therefore stores ranges of pairs. Kernels
// compute the terms when they need them; only short lists of terms are cached:
//
//     A's offsets  -1 0 1      on C's diagonal   2:  (1, 1)                     a range of 1 pair
//     B's offsets  -1 0 1                        1:  (0, 1) (1, 0)              a range of 2 pairs
//                                                0:  (-1, 1) (0, 0) (1, -1)     a range of 3 pairs
#pragma once

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "core/diagonals.hpp"

namespace diagsparse {

// The terms of a sum are ordered so that `first` and `last` never increase.
struct Term {
  int64 u, v, first, last;
  // In packed layouts with a period, the factor is u[t.u + (t.shift + i) % period]; in Hermitian ones possibly
  // conjugated.
  std::uint32_t shift : 31, conjugated : 1;
};

// The terms of y = A x, one for each diagonal of A.
struct RowSums {
  std::vector<Term> terms;
  int64 work = 0;  // multiply-adds
};
RowSums row_sums(const std::vector<Span>& a, int64 period = 0);

// ---- Products of diagonals ----------------------------------------------------------------------
// Consecutive diagonals of a list, one for each offset from low to high; `number` is the index of the first.
struct Strip {
  int64 low, high;
  std::int32_t number;
};

std::vector<Strip> strips_of(const std::vector<Span>& spans);

// The diagonals of op(A), by ascending offset, and the strips that they form.
struct Operand {
  std::vector<Span> spans;
  std::vector<Strip> strips;

  explicit Operand(std::vector<Span> given) : spans(std::move(given)), strips(strips_of(spans)) {}
};

enum class Triangle { both, lower, upper };

// The distinct offsets a + b within a rows x cols matrix and the triangle, ascending.
std::vector<int64> offset_sumset(const Operand& a, const Operand& b, int64 rows, int64 cols, Triangle triangle);

// A diagonal of an operand: values[base + i] is in row i. Row i of A is multiplied by row i + shift of B.
struct Diagonal {
  int64 base, shift;
};

// The pairs of A's diagonals a, a + 1, ... with B's diagonals b, b - 1, ..., which contribute to the same diagonal of
// C.
struct PairRange {
  std::int32_t a, b, count;
};

struct Sum {
  int64 out, first, last;              // rows of C on this diagonal
  int64 pair_ranges, pair_ranges_end;  // its pairs of diagonals
  int64 terms, terms_end;              // its terms, numbered through all sums
};

// The term of a pair of diagonals; B has `inner` rows.
constexpr Term term_of(const Sum& sum, const Diagonal& a, const Diagonal& b, int64 inner) {
  const int64 first = -a.shift, last = inner - a.shift;
  return {a.base, b.base + a.shift, first > sum.first ? first : sum.first, last < sum.last ? last : sum.last, 0, 0};
}

class Sums {
 public:
  std::vector<Diagonal> a, b;
  int64 inner = 0;
  std::vector<Sum> sums;
  std::vector<PairRange> pair_ranges;
  int64 work = 0;  // multiply-adds

  int64 terms() const { return sums.empty() ? 0 : sums.back().terms_end; }
  Term term(const Sum& sum, int64 of_a, int64 of_b) const { return term_of(sum, a[of_a], b[of_b], inner); }
  // Calls f with the indices of A's and B's diagonals of each pair, in the order of the terms.
  template <class F>
  void for_each_pair(const Sum& sum, const F& f) const {
    for (int64 m = sum.pair_ranges; m < sum.pair_ranges_end; ++m) {
      const PairRange pairs = pair_ranges[m];
      for (std::int32_t k = 0; k < pairs.count; ++k) f(pairs.a + k, pairs.b - k);
    }
  }
  std::vector<Term> all_terms() const;
  // The terms of a sum, or at least those that intersect the rows [first, last); valid until the next call with
  // `buffer`.
  std::pair<const Term*, const Term*> terms_of(const Sum& sum, int64 first, int64 last,
                                               std::vector<Term>& buffer) const {
    if (!cached_.result.load(std::memory_order_acquire)) return compute_terms(sum, first, last, buffer);
    return {cached_.list.data() + sum.terms, cached_.list.data() + sum.terms_end};
  }
  // Caches all terms if they fit a hardware cache, where reading them is faster than computing them again.
  void cache_few_terms() const;
  int64 nbytes() const;  // including the cached terms

  void finish();  // to be called when all pair ranges are stored

 private:
  std::pair<const Term*, const Term*> compute_terms(const Sum& sum, int64 first, int64 last,
                                                    std::vector<Term>& buffer) const;

  // A copied or moved object starts empty.
  struct CachedTerms {
    std::atomic<bool> result = false;
    std::mutex building;  // a once_flag wakes other threads by a system call, which takes as long as a small product
    std::vector<Term> list;

    CachedTerms() = default;
    CachedTerms(const CachedTerms&) {}
    CachedTerms& operator=(const CachedTerms&) { return *this; }
  };
  mutable CachedTerms cached_;
};

// Diagonals of C outside the triangle get no terms. The layouts are not packed, and C has every diagonal of the
// product.
Sums product_sums(const Operand& a, const Operand& b, int64 inner, const Layout& c, Triangle triangle);
// C = A .* B, on the diagonals that both store.
Sums elementwise_sums(const std::vector<Span>& a, const std::vector<Span>& b, const Layout& c);

}  // namespace diagsparse
