// The sums that a product of diagonals consists of.
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

constexpr int64 kMeetingsPerCheckpoint = 1 << 16;  // between two questions whether to go on
constexpr int64 kFewTerms = 1 << 16;               // that are kept with the sums: 2.6 MB

// Two strips of l and m diagonals meet on l + m - 1 diagonals.
int64 most_meetings(const Operand& a, const Operand& b) {
  const auto product = [](const auto& x, const auto& y) { return checked_product(x.size(), y.size()); };
  return product(a.spans, b.strips) + product(a.strips, b.spans) - product(a.strips, b.strips);
}

struct Offsets {
  int64 low, high;
};
Offsets offsets_in(int64 rows, int64 cols, Triangle triangle) {
  return {triangle == Triangle::upper ? 0 : 1 - rows, triangle == Triangle::lower ? 0 : cols - 1};
}

// Calls f(x, y, the offsets of C on which they meet) for a strip x of A and a strip y of B, in an order in which A's
// diagonals ascend on each diagonal of C.
template <class F>
void for_each_two_strips(const Operand& a, const Operand& b, Offsets within, const F& f) {
  int64 unasked = 0;
  for (const Strip& x : a.strips) {
    for (auto y = b.strips.rbegin(); y != b.strips.rend(); ++y) {
      const Offsets c{std::max(within.low, x.low + y->low), std::min(within.high, x.high + y->high)};
      if (c.low > c.high) continue;
      f(x, *y, c);
      if ((unasked += c.high - c.low + 1) < kMeetingsPerCheckpoint) continue;
      unasked = 0;
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
  const int64 most = most_meetings(a, b);
  sums.reserve(std::min(most, high - low + 1));
  if (high - low < 4 * most + 64) {  // a table over the reach: at each offset the strips that begin less those that end
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
std::pair<const Term*, const Term*> Sums::made_terms(const Sum& sum, int64 first, int64 last,
                                                     std::vector<Term>& room) const {
  const auto most = static_cast<std::size_t>(sum.terms_end - sum.terms);
  if (room.size() <= most) room.resize(most + 1);
  Term* next = room.data();
  for (int64 m = sum.meetings; m < sum.meetings_end; ++m) {
    const Meeting& meeting = meetings[m];
    const Diagonal *x = &a[meeting.a], *y = &b[meeting.b];
    // Whether it has any is hard to foretell of scattered diagonals, so the first is written without asking.
    const int64 begin = std::max<int64>(0, 1 - last - x->shift);
    const int64 end = std::min<int64>(meeting.count, inner - first - x->shift);
    const int64 at = std::min<int64>(begin, meeting.count - 1);
    *next = term_of(sum, x[at], y[-at], inner);
    next += begin < end;
    for (int64 k = begin + 1; k < end; ++k) *next++ = term_of(sum, x[k], y[-k], inner);
  }
  return {room.data(), next};
}

std::vector<Term> Sums::all_terms() const {
  std::vector<Term> all;
  all.reserve(terms());
  for (const Sum& sum : sums) {
    for_each_pair(sum, [&](std::int32_t x, std::int32_t y) { all.push_back(term(sum, x, y)); });
  }
  return all;
}

void Sums::keep_few_terms() const {
  if (terms() > kFewTerms || kept_.result.load(std::memory_order_acquire)) return;
  const std::lock_guard<std::mutex> lock(kept_.making);
  if (kept_.result) return;
  kept_.list = all_terms();
  kept_.result.store(true, std::memory_order_release);
}

int64 Sums::nbytes() const {
  const auto bytes = [](const auto& list) { return static_cast<int64>(list.size() * sizeof(list[0])); };
  const int64 kept = terms() <= kFewTerms ? terms() * static_cast<int64>(sizeof(Term)) : 0;
  return bytes(a) + bytes(b) + bytes(sums) + bytes(meetings) + kept;
}

namespace {

// The rows of all `count` terms of a meeting; term k has those from -shift - k to inner - shift - k that the sum has.
int64 rows_met(const Sum& sum, int64 inner, int64 shift, int64 count) {
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
    for (int64 m = sum.meetings; m < sum.meetings_end; ++m) {
      count += meetings[m].count;
      work += rows_met(sum, inner, a[meetings[m].a].shift, meetings[m].count);
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
  const ByOffset place(c.spans);
  const Offsets within = offsets_in(c.rows, c.cols, triangle);
  // Every two strips once to count the meetings of each sum (as changes from one to the next), once to put them there.
  std::vector<int64> next(c.spans.size() + 1);
  for_each_two_strips(a, b, within, [&](const Strip&, const Strip&, Offsets on) {
    const int64 d = place.find(on.low);
    ++next[d];
    --next[d + on.high - on.low + 1];
  });
  int64 count = 0, all = 0;
  for (std::size_t d = 0; d < out.sums.size(); ++d) {
    count += next[d];
    out.sums[d].meetings = next[d] = all;
    out.sums[d].meetings_end = all += count;
  }
  out.meetings.resize(all);
  for_each_two_strips(a, b, within, [&](const Strip& x, const Strip& y, Offsets on) {
    int64* at = &next[place.find(on.low)];
    for (int64 offset = on.low; offset <= on.high; ++offset) {
      const int64 first = std::max(x.low, offset - y.high), last = std::min(x.high, offset - y.low);
      out.meetings[(*at++)++] = {static_cast<std::int32_t>(x.number + (first - x.low)),
                                 static_cast<std::int32_t>(y.number + (offset - first - y.low)),
                                 static_cast<std::int32_t>(last - first + 1)};
    }
  });
  out.finish();
  return out;
}

Sums elementwise_sums(const std::vector<Span>& a, const std::vector<Span>& b, const Layout& c) {
  Sums out;
  out.inner = std::numeric_limits<int64>::max();  // rows meet where they are, however far down
  out.a = diagonals_of(a);
  for (Diagonal& s : out.a) s.shift = 0;
  out.b = diagonals_of(b);
  std::size_t i = 0, j = 0;
  for (const Span& s : c.spans) {
    Sum sum = sum_of(s);
    sum.meetings = static_cast<int64>(out.meetings.size());
    while (i < a.size() && a[i].offset < s.offset) ++i;
    while (j < b.size() && b[j].offset < s.offset) ++j;
    if (i < a.size() && j < b.size() && a[i].offset == s.offset && b[j].offset == s.offset) {
      out.meetings.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), 1});
    }
    sum.meetings_end = static_cast<int64>(out.meetings.size());
    out.sums.push_back(sum);
  }
  out.finish();
  return out;
}

}  // namespace diagsparse
