// Sums of products of two streams: what all arithmetic of the diagonal family is made of.
//     out[s.out + i] = sum over the terms t of s of  u[t.u + i] * v[t.v + i],   t.first <= i < t.last
// y = A x: one sum, u = A's values, v = x.   C = A B: a sum for each diagonal of C, v = B's values.
//
// Where neighbouring diagonals meet, their terms follow from the first pair. So a product keeps strips of neighbours;
// terms are made when a kernel comes to them, and kept only where they are few:
//
//     A's offsets  -1 0 1      on C's diagonal   2:  (1, 1)                     one meeting of 1 pair
//     B's offsets  -1 0 1                        1:  (0, 1) (1, 0)              one meeting of 2 pairs
//                                                0:  (-1, 1) (0, 0) (1, -1)     one meeting of 3 pairs
#pragma once

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "core/diagonals.hpp"

namespace diagsparse {

// Terms of one sum are ordered so that `first` and `last` never increase.
struct Term {
  int64 u, v, first, last;
  // Of packed layouts with a period it is u[t.u + (t.shift + i) % period]; of Hermitian ones perhaps its conjugate.
  std::uint32_t shift : 31, conjugated : 1;
};

// Of y = A x: a term for each diagonal of A.
struct RowSums {
  std::vector<Term> terms;
  int64 work = 0;  // multiply-adds
};
RowSums row_sums(const std::vector<Span>& a, int64 period = 0);

// ---- Products of diagonals ----------------------------------------------------------------------
// Neighbours in a list of diagonals: one for each offset from low to high, the first with this number.
struct Strip {
  int64 low, high;
  std::int32_t number;
};

std::vector<Strip> strips_of(const std::vector<Span>& spans);

// op(A)'s diagonals, by ascending offset, and the strips that they are.
struct Operand {
  std::vector<Span> spans;
  std::vector<Strip> strips;

  explicit Operand(std::vector<Span> given) : spans(std::move(given)), strips(strips_of(spans)) {}
};

enum class Triangle { both, lower, upper };

// The distinct offsets a + b that lie in a rows x cols matrix and in the triangle, ascending.
std::vector<int64> offset_sumset(const Operand& a, const Operand& b, int64 rows, int64 cols, Triangle triangle);

// A diagonal of an operand, as sums read it: values[base + i] lies in row i. Row i of A meets row i + shift of B.
struct Diagonal {
  int64 base, shift;
};

// A's diagonals a, a + 1, ... meet B's diagonals b, b - 1, ... on one of C's diagonals.
struct Meeting {
  std::int32_t a, b, count;
};

struct Sum {
  int64 out, first, last;        // rows of C on this diagonal
  int64 meetings, meetings_end;  // its meetings
  int64 terms, terms_end;        // its terms, counted through those of all sums
};

// The term of a pair; B has `inner` rows.
constexpr Term term_of(const Sum& sum, const Diagonal& a, const Diagonal& b, int64 inner) {
  const int64 first = -a.shift, last = inner - a.shift;
  return {a.base, b.base + a.shift, first > sum.first ? first : sum.first, last < sum.last ? last : sum.last, 0, 0};
}

class Sums {
 public:
  std::vector<Diagonal> a, b;
  int64 inner = 0;
  std::vector<Sum> sums;
  std::vector<Meeting> meetings;
  int64 work = 0;  // multiply-adds

  int64 terms() const { return sums.empty() ? 0 : sums.back().terms_end; }
  Term term(const Sum& sum, int64 of_a, int64 of_b) const { return term_of(sum, a[of_a], b[of_b], inner); }
  // Calls f with the numbers of A's and B's diagonals that meet, in the order of the terms.
  template <class F>
  void for_each_pair(const Sum& sum, const F& f) const {
    for (int64 m = sum.meetings; m < sum.meetings_end; ++m) {
      const Meeting meeting = meetings[m];
      for (std::int32_t k = 0; k < meeting.count; ++k) f(meeting.a + k, meeting.b - k);
    }
  }
  std::vector<Term> all_terms() const;
  // The terms of a sum, or those of them that meet the rows [first, last); `room` is theirs until the next call.
  std::pair<const Term*, const Term*> terms_of(const Sum& sum, int64 first, int64 last, std::vector<Term>& room) const {
    if (!kept_.result.load(std::memory_order_acquire)) return made_terms(sum, first, last, room);
    return {kept_.list.data() + sum.terms, kept_.list.data() + sum.terms_end};
  }
  // Keeps all terms from here on if they fit a cache, where reading them is quicker than making them again.
  void keep_few_terms() const;
  int64 nbytes() const;  // with these

  void finish();  // once all meetings are there

 private:
  std::pair<const Term*, const Term*> made_terms(const Sum& sum, int64 first, int64 last,
                                                 std::vector<Term>& room) const;

  // A copy or a moved-to one starts empty.
  struct KeptTerms {
    std::atomic<bool> result = false;
    std::mutex making;  // a once_flag wakes others by a system call, which takes as long as a small product
    std::vector<Term> list;

    KeptTerms() = default;
    KeptTerms(const KeptTerms&) {}
    KeptTerms& operator=(const KeptTerms&) { return *this; }
  };
  mutable KeptTerms kept_;
};

// Diagonals of C outside the triangle get no terms. Layouts are full, and C has every diagonal of the product.
Sums product_sums(const Operand& a, const Operand& b, int64 inner, const Layout& c, Triangle triangle);
// C = A .* B on the diagonals that both store.
Sums elementwise_sums(const std::vector<Span>& a, const std::vector<Span>& b, const Layout& c);

}  // namespace diagsparse
