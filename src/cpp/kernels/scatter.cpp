// Products with a transpose of formats that store rows: sums of several threads, added in order.
#include "kernels/scatter.hpp"

namespace diagsparse {

namespace {

constexpr int64 kEntriesASum = 8;  // for each sum that is made aside there are so many entries at least

// `count` shares of as many pieces each.
Shares cut_into(int64 count, const std::vector<int64>& begins, const std::vector<int64>& low,
                const std::vector<int64>& high, int64 rows) {
  const auto pieces = static_cast<int64>(high.size());
  Shares result{begins, std::vector<char>(pieces), {}, 0};
  std::vector<int64> own = low;  // no entry of piece k or later ones lies before own[k]
  for (int64 k = pieces - 1; k-- > 0;) own[k] = std::min(own[k], own[k + 1]);
  own.front() = 0;
  own.push_back(rows);
  for (int64 p = 0; p < count; ++p) {
    const int64 first = pieces * p / count, last = pieces * (p + 1) / count;
    Share share{first, last, own[first], own[last], rows, 0, result.sums};
    for (int64 k = share.first; k < share.last; ++k) {
      if (high[k] < share.own_end) continue;
      result.aside[k] = 1;
      share.aside = std::min(share.aside, low[k]);
      share.aside_end = std::max(share.aside_end, high[k] + 1);
    }
    if (share.aside > share.aside_end) share.aside_end = share.aside;
    result.sums += share.aside_end - share.aside;
    result.shares.push_back(share);
  }
  return result;
}

}  // namespace

Shares shares_of(const std::vector<int64>& begins, const std::vector<int64>& low, const std::vector<int64>& high,
                 int64 rows, int64 stored) {
  for (int64 count = std::min<int64>(kMostShares, high.size());; count /= 2) {
    Shares result = cut_into(count, begins, low, high, rows);
    if (count == 1 || result.sums <= stored / kEntriesASum) return result;
  }
}

}  // namespace diagsparse
