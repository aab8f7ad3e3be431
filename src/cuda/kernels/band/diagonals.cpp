// What the band kernels read from a plan: the diagonals of the operands and the rows that they cover.
#include "kernels/band/diagonals.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace diagsparse::cuda::band {

namespace {

constexpr int64 kWidest = 105;  // largest range of offsets of an operand

// Diagonals and their offsets, in any order.
using Found = std::vector<std::pair<int64, Diagonal>>;

Found diagonals_of(const std::vector<Span>& spans) {
  Found found;
  for (const Span& s : spans) found.push_back({s.offset, {s.start - s.row, s.row, s.row + s.length}});
  return found;
}

// The same for cdm, where offsets k and k - n form one diagonal that wraps around the border. The offset closer to 0 is
// used.
Found cyclic_diagonals_of(const Layout& layout, Op op) {
  const int64 n = layout.rows;
  Found found;
  for (std::size_t r = 0; r < layout.labels.size(); ++r) {
    int64 k = layout.labels[r];
    const int64 shift = op.transposed ? (n - k) % n : 0;
    if (op.transposed) k = (n - k) % n;
    if (2 * k > n) k -= n;
    const int64 base = static_cast<int64>(r) * n + shift;  // position of row 0
    found.push_back({k, 2 * shift > n ? Diagonal{base - n, n - shift, n} : Diagonal{base, 0, n - shift}});
  }
  return found;
}

// The greatest common divisor of `apart` and of the distances between these offsets.
int64 common_distance(const Found& found, int64 apart) {
  for (const auto& [k, diagonal] : found) apart = std::gcd(apart, k - found.front().first);
  return apart;
}

// One diagonal for each offset from the first to the last that is stored; none if they are too many.
Band band_of(const Found& found, int64 apart, bool cyclic) {
  Band band;
  band.cyclic = cyclic;
  band.apart = apart;
  if (found.empty()) return band;
  const auto [low, high] =
      std::minmax_element(found.begin(), found.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  const int64 width = (high->first - low->first) / apart + 1;
  if (width > 2 * kWidest) return band;
  band.low = low->first;
  band.diagonals.assign(width, Diagonal{0, 0, 0});
  for (const auto& [k, diagonal] : found) band.diagonals[(k - band.low) / apart] = diagonal;
  return band;
}

bool dense_enough(const Band& band) {
  const auto stored = std::count_if(band.diagonals.begin(), band.diagonals.end(), std::mem_fn(&Diagonal::stored));
  return band.width() > 0 && 5 * stored >= 3 * band.width();
}

}  // namespace

int64 Band::first() const {
  int64 row = 0;
  for (const Diagonal& diagonal : diagonals) {
    if (diagonal.stored()) row = std::max(row, diagonal.first);
  }
  return row;
}

int64 Band::last() const {
  int64 row = std::numeric_limits<int64>::max();
  for (const Diagonal& diagonal : diagonals) {
    if (diagonal.stored()) row = std::min(row, diagonal.last);
  }
  return row;
}

bool find_bands(const Plan& plan, Band& a, Band& b, Band& c) {
  for (const Span& s : layout_of(plan.c).spans) {  // diagonals outside of the triangle have no sums
    if (diagonal_work(plan).triangle == Triangle::lower
            ? s.offset > 0
            : diagonal_work(plan).triangle == Triangle::upper && s.offset < 0)
      return false;
  }
  const bool cyclic = shares_rows(plan.a) && shares_rows(plan.b) && shares_rows(plan.c);
  Found of_a, of_b, of_c;
  if (cyclic) {
    of_a = cyclic_diagonals_of(layout_of(plan.a), plan.op_a);
    of_b = cyclic_diagonals_of(layout_of(plan.b), plan.op_b);
    of_c = cyclic_diagonals_of(layout_of(plan.c), {});
    if (diagonal_work(plan).triangle != Triangle::both) return false;
  } else {
    of_a = diagonals_of(spans_of(layout_of(plan.a), plan.op_a));
    of_b = diagonals_of(spans_of(layout_of(plan.b), plan.op_b));
    of_c = diagonals_of(layout_of(plan.c).spans);
  }
  if (of_a.empty() || of_b.empty()) return false;
  int64 apart = common_distance(of_b, common_distance(of_a, cyclic ? plan.rows : 0));
  // C may have diagonals between those of the product, to which another matrix is added.
  for (const auto& [k, diagonal] : of_c) apart = std::gcd(apart, k - of_a.front().first - of_b.front().first);
  apart = std::max<int64>(1, apart);
  if (apart > kMostApart) return false;
  a = band_of(of_a, apart, cyclic);
  b = band_of(of_b, apart, cyclic);
  // So that a block's diagonals wrap around at most once.
  if (cyclic && apart * (2 * (a.width() + b.width()) + 24) > plan.rows) return false;
  if (!dense_enough(a) || !dense_enough(b) || apart * std::max(a.width(), b.width()) > kWidest) return false;
  // Every diagonal of C is within the range that the product reaches.
  c = band_of(of_c, apart, cyclic);
  const int64 before = (c.low - a.low - b.low) / apart, width = a.width() + b.width() - 1;
  if (c.diagonals.empty() || c.low < a.low + b.low || before + c.width() > width) return false;
  Band complete;
  complete.low = a.low + b.low;
  complete.apart = apart;
  complete.cyclic = cyclic;
  complete.diagonals.assign(width, Diagonal{0, 0, 0});
  std::copy(c.diagonals.begin(), c.diagonals.end(), complete.diagonals.begin() + before);
  c = std::move(complete);
  return true;
}

}  // namespace diagsparse::cuda::band
