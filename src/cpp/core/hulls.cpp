// The hulls of the operands of a product: the ranges of offsets that they span.
#include "core/hulls.hpp"

#include <algorithm>

namespace diagsparse {

Hull::Hull(const std::vector<Diagonal>& diagonals, int64 cols) : low(0), high(-1), cols(cols) {
  const auto less = [](const Diagonal& a, const Diagonal& b) { return a.shift < b.shift; };
  if (diagonals.empty()) return;
  const auto [first, last] = std::ranges::minmax_element(diagonals, less);
  low = first->shift;
  high = last->shift;
}

int64 Hull::width() const { return std::min(high - low + 1, cols); }
int64 Hull::begin(int64 row) const { return std::clamp<int64>(row + low, 0, cols); }
int64 Hull::end(int64 row) const { return std::clamp<int64>(row + high + 1, 0, cols); }

Hulls::Hulls(const Plan& plan)
    : a(sums_of(plan).a, sums_of(plan).inner), b(sums_of(plan).b, plan.cols), c({}, plan.cols) {
  const Sums& sums = sums_of(plan);
  for (const Sum& sum : sums.sums) {
    if (sum.pair_ranges == sum.pair_ranges_end) continue;
    const int64 offset = offset_of(sums, sum);
    const bool first = !has_terms();
    c.low = first ? offset : std::min(c.low, offset);
    c.high = first ? offset : std::max(c.high, offset);
  }
}

int64 Hulls::offset_of(const Sums& sums, const Sum& sum) {
  const PairRange& first = sums.pair_ranges[sum.pair_ranges];
  return sums.a[first.a].shift + sums.b[first.b].shift;
}

double row_work(const Hulls& in, int64 row) {
  constexpr int64 kSamples = 16;
  const int64 begin = in.a.begin(row), end = in.a.end(row);
  double work = 0;
  for (int64 sample = 0; sample < kSamples; ++sample) {
    const int64 k = begin + (end - begin) * (2 * sample + 1) / (2 * kSamples);
    const int64 from = std::max(in.b.begin(k), in.c.begin(row)), to = std::min(in.b.end(k), in.c.end(row));
    work += static_cast<double>(std::max<int64>(0, to - from));
  }
  return work / kSamples * static_cast<double>(end - begin);
}

double dense_work(const Plan& plan, const Hulls& in) {
  constexpr int64 kSamples = 64;
  double work = 0;
  for (int64 sample = 0; sample < kSamples; ++sample) {
    work += row_work(in, plan.rows * (2 * sample + 1) / (2 * kSamples));
  }
  return work / kSamples * static_cast<double>(plan.rows);
}

}  // namespace diagsparse
