// The sums that compute a product of diagonals.
#include "core/sums.hpp"

#include <algorithm>
#include <limits>

#include "core/interrupt.hpp"

namespace diagsparse {

RowSums row_sums(const std::vector<Span>& a, int64 period) {
  RowSums out;
  out.terms.reserve(a.size());
  for (const Span& s : a) {
    Term term{period > 0 ? s.start : s.start - s.row, s.offset, s.row, s.row + s.length, 0, s.conjugated};
    if (period > 0) term.shift = static_cast<std::uint32_t>((s.phase + period - s.row % period) % period);
    out.terms.push_back(term);
    out.work += s.length;
  }
  return out;
}

std::vector<Strip> strips_of(const std::vector<Span>& spans) {
  std::vector<Strip> strips;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const int64 offset = spans[i].offset;
    if (!strips.empty() && offset == strips.back().high + 1) strips.back().high = offset;
    else strips.push_back({offset, offset, static_cast<std::int32_t>(i)});
  }
  return strips;
}

namespace {

constexpr int64 kPairRangesPerCheckpoint = 1 << 16;  // between two checks for interrupts
constexpr int64 kFewTerms = 1 << 16;                 // cached with the sums if there are no more: 2.6 MB

// A strip of l diagonals and one of m diagonals contribute to l + m - 1 diagonals of C.
int64 max_pair_ranges(const Operand& a, const Operand& b) {
  const auto product = [](const auto& x, const auto& y) { return checked_product(x.size(), y.size()); };
  return product(a.spans, b.strips) + product(a.strips, b.spans) - product(a.strips, b.strips);
}

struct Offsets {
  int64 low, high;
};
Offsets offsets_in(int64 rows, int64 cols, Triangle triangle) {
  return {triangle == Triangle::upper ? 0 : 1 - rows, triangle == Triangle::lower ? 0 : cols - 1};
}

// Calls f(x, y, the offsets of C to which they contribute) for each strip x of A and y of B. The order is such that for
// each diagonal of C, the diagonals of A ascend.
template <class F>
void for_each_two_strips(const Operand& a, const Operand& b, Offsets within, const F& f) {
  int64 since_checkpoint = 0;
  for (const Strip& x : a.strips) {
    for (auto y = b.strips.rbegin(); y != b.strips.rend(); ++y) {
      const Offsets c{std::max(within.low, x.low + y->low), std::min(within.high, x.high + y->high)};
      if (c.low > c.high) continue;
      f(x, *y, c);
      if ((since_checkpoint += c.high - c.low + 1) < kPairRangesPerCheckpoint) continue;
      since_checkpoint = 0;
      checkpoint();
    }
  }
}

}  // namespace

std::vector<int64> offset_sumset(const Operand& a, const Operand& b, int64 rows, int64 cols, Triangle triangle) {
  std::vector<int64> sums;
  if (a.spans.empty() || b.spans.empty() || rows == 0 || cols == 0) return sums;
  const Offsets within = offsets_in(rows, cols, triangle);
  const int64 low = std::max(within.low, a.strips.front().low + b.strips.front().low);
  const int64 high = std::min(within.high, a.strips.back().high + b.strips.back().high);
  if (low > high) return sums;
  const int64 most = max_pair_ranges(a, b);
  sums.reserve(std::min(most, high - low + 1));
  if (high - low < 4 * most + 64) {  // a table: strips that begin minus strips that end at each offset
    std::vector<std::uint32_t> change(high - low + 2);
    for_each_two_strips(a, b, within, [&](const Strip&, const Strip&, Offsets c) {
      ++change[c.low - low];
      --change[c.high + 1 - low];
    });
    std::uint32_t open = 0;
    for (int64 c = low; c <= high; ++c) {
      if ((open += change[c - low]) > 0) sums.push_back(c);
    }
    return sums;
  }
  std::vector<Offsets> strips;
  for_each_two_strips(a, b, within, [&](const Strip&, const Strip&, Offsets c) { strips.push_back(c); });
  std::sort(strips.begin(), strips.end(), [](Offsets x, Offsets y) { return x.low < y.low; });
  int64 next = low;
  for (const Offsets& strip : strips) {
    for (next = std::max(next, strip.low); next <= strip.high; ++next) sums.push_back(next);
  }
  return sums;
}

// ---- Sums -----------------------------------------------------------------------------------------
std::pair<const Term*, const Term*> Sums::compute_terms(const Sum& sum, int64 first, int64 last,
                                                        std::vector<Term>& buffer) const {
  const auto most = static_cast<std::size_t>(sum.terms_end - sum.terms);
  if (buffer.size() <= most) buffer.resize(most + 1);
  Term* next = buffer.data();
  for (int64 m = sum.pair_ranges; m < sum.pair_ranges_end; ++m) {
    const PairRange& pairs = pair_ranges[m];
    const Diagonal *x = &a[pairs.a], *y = &b[pairs.b];
    // For scattered diagonals it is hard to predict whether there is any term, so the first one is written
    // unconditionally.
    const int64 begin = std::max<int64>(0, 1 - last - x->shift);
    const int64 end = std::min<int64>(pairs.count, inner - first - x->shift);
    const int64 at = std::min<int64>(begin, pairs.count - 1);
    *next = term_of(sum, x[at], y[-at], inner);
    next += begin < end;
    for (int64 k = begin + 1; k < end; ++k) *next++ = term_of(sum, x[k], y[-k], inner);
  }
  return {buffer.data(), next};
}

std::vector<Term> Sums::all_terms() const {
  std::vector<Term> all;
  all.reserve(terms());
  for (const Sum& sum : sums) {
    for_each_pair(sum, [&](std::int32_t x, std::int32_t y) { all.push_back(term(sum, x, y)); });
  }
  return all;
}

void Sums::cache_few_terms() const {
  if (terms() > kFewTerms || cached_.result.load(std::memory_order_acquire)) return;
  const std::lock_guard<std::mutex> lock(cached_.building);
  if (cached_.result) return;
  cached_.list = all_terms();
  cached_.result.store(true, std::memory_order_release);
}

int64 Sums::nbytes() const {
  const auto bytes = [](const auto& list) { return static_cast<int64>(list.size() * sizeof(list[0])); };
  const int64 cached = terms() <= kFewTerms ? terms() * static_cast<int64>(sizeof(Term)) : 0;
  return bytes(a) + bytes(b) + bytes(sums) + bytes(pair_ranges) + cached;
}

namespace {

// The number of rows of all `count` terms. Term k has the rows of the sum from -shift - k to inner - shift - k.
int64 rows_of_terms(const Sum& sum, int64 inner, int64 shift, int64 count) {
  const auto terms = [count](int64 n) { return std::clamp<int64>(n, 0, count); };
  const auto numbers = [](int64 n) { return n * (n - 1) / 2; };  // 0 + 1 + ... + n - 1
  const int64 late = terms(-shift - sum.first), full = terms(inner - shift - sum.last + 1);
  const int64 firsts = late * -shift - numbers(late) + (count - late) * sum.first;
  const int64 lasts = full * sum.last + (count - full) * (inner - shift) - (numbers(count) - numbers(full));
  return lasts - firsts;
}

}  // namespace

void Sums::finish() {
  int64 count = 0;
  for (Sum& sum : sums) {
    sum.terms = count;
    for (int64 m = sum.pair_ranges; m < sum.pair_ranges_end; ++m) {
      count += pair_ranges[m].count;
      work += rows_of_terms(sum, inner, a[pair_ranges[m].a].shift, pair_ranges[m].count);
    }
    sum.terms_end = count;
  }
}

namespace {

Diagonal diagonal_of(const Span& s) { return {s.start - s.row, s.offset}; }

std::vector<Diagonal> diagonals_of(const std::vector<Span>& spans) {
  std::vector<Diagonal> all(spans.size());
  std::transform(spans.begin(), spans.end(), all.begin(), diagonal_of);
  return all;
}

Sum sum_of(const Span& c) { return {c.start - c.row, c.row, c.row + c.length, 0, 0, 0, 0}; }

}  // namespace

Sums product_sums(const Operand& a, const Operand& b, int64 inner, const Layout& c, Triangle triangle) {
  Sums out;
  out.a = diagonals_of(a.spans);
  out.b = diagonals_of(b.spans);
  out.inner = inner;
  out.sums.resize(c.spans.size());
  std::transform(c.spans.begin(), c.spans.end(), out.sums.begin(), sum_of);
  const ByOffset by_offset(c.spans);
  const Offsets within = offsets_in(c.rows, c.cols, triangle);
  // The first pass counts the pair ranges of each sum (as differences between neighbours), the second one stores them.
  std::vector<int64> next(c.spans.size() + 1);
  for_each_two_strips(a, b, within, [&](const Strip&, const Strip&, Offsets on) {
    const int64 d = by_offset.find(on.low);
    ++next[d];
    --next[d + on.high - on.low + 1];
  });
  int64 count = 0, all = 0;
  for (std::size_t d = 0; d < out.sums.size(); ++d) {
    count += next[d];
    out.sums[d].pair_ranges = next[d] = all;
    out.sums[d].pair_ranges_end = all += count;
  }
  out.pair_ranges.resize(all);
  for_each_two_strips(a, b, within, [&](const Strip& x, const Strip& y, Offsets on) {
    int64* at = &next[by_offset.find(on.low)];
    for (int64 offset = on.low; offset <= on.high; ++offset) {
      const int64 first = std::max(x.low, offset - y.high), last = std::min(x.high, offset - y.low);
      out.pair_ranges[(*at++)++] = {static_cast<std::int32_t>(x.number + (first - x.low)),
                                    static_cast<std::int32_t>(y.number + (offset - first - y.low)),
                                    static_cast<std::int32_t>(last - first + 1)};
    }
  });
  out.finish();
  return out;
}

Sums elementwise_sums(const std::vector<Span>& a, const std::vector<Span>& b, const Layout& c) {
  Sums out;
  out.inner = std::numeric_limits<int64>::max();  // the operands are aligned by row, without limit
  out.a = diagonals_of(a);
  for (Diagonal& s : out.a) s.shift = 0;
  out.b = diagonals_of(b);
  std::size_t i = 0, j = 0;
  for (const Span& s : c.spans) {
    Sum sum = sum_of(s);
    sum.pair_ranges = static_cast<int64>(out.pair_ranges.size());
    while (i < a.size() && a[i].offset < s.offset) ++i;
    while (j < b.size() && b[j].offset < s.offset) ++j;
    if (i < a.size() && j < b.size() && a[i].offset == s.offset && b[j].offset == s.offset) {
      out.pair_ranges.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), 1});
    }
    sum.pair_ranges_end = static_cast<int64>(out.pair_ranges.size());
    out.sums.push_back(sum);
  }
  out.finish();
  return out;
}

}  // namespace diagsparse
