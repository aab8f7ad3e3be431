// What is cached with a matrix for its products with vectors and blocks: its terms, and the rows of nearly all blocks,
// in which all diagonals are complete.
#pragma once

#include <algorithm>

#include "device/resident.cuh"

namespace diagsparse::cuda::matvec {

constexpr int kTerms = 128;  // terms that a block holds in shared memory at a time

// A term in shared memory.
struct CommonTerm {
  int64 u, v, first, last;
  bool conjugated;

  __device__ bool holds(int64 i) const { return i >= first && i < last; }
};
inline __device__ CommonTerm shared_term(const Term& t) {
  return {t.u, t.v, t.first, t.last, static_cast<bool>(t.conjugated)};
}

// Rows [first, last), in which terms [term, term_end) are complete and all others have no elements.
struct Interior {
  int64 first = 0, last = 0;
  int term = 0, term_end = 0;

  // The interior that contains the middle row. (`first` and `last` of the terms never increase.)
  Interior(const std::vector<Term>& terms, int64 rows) {
    const int64 middle = rows / 2;
    const auto count = static_cast<int>(terms.size());
    while (term < count && terms[term].first > middle) ++term;
    for (term_end = term; term_end < count && terms[term_end].last > middle;) ++term_end;
    first = term_end > term ? terms[term].first : 0;
    last = term_end > term ? terms[term_end - 1].last : rows;
    if (term > 0) last = std::min(last, terms[term - 1].first);
    if (term_end < count) first = std::max(first, terms[term_end].last);
  }
};

// What a matrix caches for its products with vectors.
struct ResidentTerms {
  Array terms;
  int count;
  Interior interior;

  ResidentTerms(const RowSums& sums, int64 rows)
      : terms(upload(sums.terms)), count(static_cast<int>(sums.terms.size())), interior(sums.terms, rows) {}
  const Term* terms_begin() const { return terms.as<const Term>(); }

  auto arrays() const { return std::tie(terms); }
};

inline std::shared_ptr<ResidentTerms> resident_terms(const Matrix& a, Op op) {
  const Layout& layout = a.layout();
  return cached<ResidentTerms>(layout.cache(), op.transposed ? "matvec T" : "matvec N", [&] {
    const int64 rows = op.transposed ? a.cols : a.rows;
    return std::make_shared<ResidentTerms>(row_sums(packed_spans_of(layout, op), layout.packing.period), rows);
  });
}

}  // namespace diagsparse::cuda::matvec
