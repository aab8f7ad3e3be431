// Products of diagonals as if all diagonals between the outermost ones were stored: where these lie, and how many
// multiply-adds that takes.
#pragma once

#include <algorithm>

#include "core/plan.hpp"
#include "kernels/each_set/vec.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

// The offsets of diagonals from low to high, and the range of columns that they give to a range of rows.
struct Hull {
  int64 low, high, cols;

  Hull(const std::vector<Diagonal>& diagonals, int64 cols) : low(0), high(-1), cols(cols) {
    const auto less = [](const Diagonal& a, const Diagonal& b) { return a.shift < b.shift; };
    if (diagonals.empty()) return;
    const auto [first, last] = std::ranges::minmax_element(diagonals, less);
    low = first->shift;
    high = last->shift;
  }
  int64 width() const { return std::min(high - low + 1, cols); }
  int64 begin(int64 row) const { return std::clamp<int64>(row + low, 0, cols); }
  int64 end(int64 row) const { return std::clamp<int64>(row + high + 1, 0, cols); }
};

// Of A, of B, and of the diagonals of C that have terms.
struct Hulls {
  Hull a, b, c;

  explicit Hulls(const Plan& plan)
      : a(sums_of(plan).a, sums_of(plan).inner), b(sums_of(plan).b, plan.cols), c({}, plan.cols) {
    const Sums& sums = sums_of(plan);
    for (const Sum& sum : sums.sums) {
      if (sum.meetings == sum.meetings_end) continue;
      const int64 offset = offset_of(sums, sum);
      const bool first = c.high < c.low;
      c.low = first ? offset : std::min(c.low, offset);
      c.high = first ? offset : std::max(c.high, offset);
    }
  }
  static int64 offset_of(const Sums& sums, const Sum& sum) {
    const Meeting& first = sums.meetings[sum.meetings];
    return sums.a[first.a].shift + sums.b[first.b].shift;
  }
};

// The multiply-adds of a row of C in the tiles, about, from some of its terms.
inline double row_work(const Hulls& in, int64 row) {
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

// The same of all rows, from some of them.
inline double dense_work(const Plan& plan, const Hulls& in) {
  constexpr int64 kSamples = 64;
  double work = 0;
  for (int64 sample = 0; sample < kSamples; ++sample) {
    work += row_work(in, plan.rows * (2 * sample + 1) / (2 * kSamples));
  }
  return work / kSamples * static_cast<double>(plan.rows);
}

}  // namespace diagsparse::DIAGSPARSE_ISA
