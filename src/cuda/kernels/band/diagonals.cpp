// What the band kernels read from a plan: the diagonals of the operands and the rows that they cover.
#include "kernels/band/diagonals.hpp"

#include <algorithm>
#include <limits>

namespace diagsparse::cuda::band {

namespace {

constexpr int64 kWidest = 105;  // most offsets of an operand

// The diagonals of op(A), one for each offset from the first to the last that is stored.
Band diagonals_of(const std::vector<Span>& spans) {
  Band band;
  if (spans.empty()) return band;
  const int64 width = spans.back().offset - spans.front().offset + 1;
  if (width > 2 * kWidest) return band;
  band.low = spans.front().offset;
  band.diagonals.assign(width, Diagonal{0, 0, 0});
  for (const Span& s : spans) band.diagonals[s.offset - band.low] = {s.start - s.row, s.row, s.row + s.length};
  return band;
}

// The same for cdm, where offsets k and k - n form one diagonal that wraps around the border. The offset closer to 0 is
// used.
Band cyclic_diagonals_of(const Layout& layout, Op op) {
  const int64 n = layout.rows;
  std::vector<std::pair<int64, Diagonal>> found;
  for (std::size_t r = 0; r < layout.labels.size(); ++r) {
    int64 k = layout.labels[r];
    const int64 shift = op.transposed ? (n - k) % n : 0;
    if (op.transposed) k = (n - k) % n;
    if (2 * k > n) k -= n;
    const int64 base = static_cast<int64>(r) * n + shift;  // position of row 0
    found.push_back({k, 2 * shift > n ? Diagonal{base - n, n - shift, n} : Diagonal{base, 0, n - shift}});
  }
  Band band;
  band.cyclic = true;
  if (found.empty()) return band;
  const auto [low, high] =
      std::minmax_element(found.begin(), found.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  const int64 width = high->first - low->first + 1;
  if (width > 2 * kWidest) return band;
  band.low = low->first;
  band.diagonals.assign(width, Diagonal{0, 0, 0});
  for (const auto& [k, diagonal] : found) band.diagonals[k - band.low] = diagonal;
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
  if (shares_rows(plan.a) && shares_rows(plan.b) && shares_rows(plan.c)) {
    a = cyclic_diagonals_of(layout_of(plan.a), plan.op_a);
    b = cyclic_diagonals_of(layout_of(plan.b), plan.op_b);
    c = cyclic_diagonals_of(layout_of(plan.c), {});
    if (diagonal_work(plan).triangle != Triangle::both) return false;
    if (2 * (a.width() + b.width()) + 24 > plan.rows)
      return false;  // so that a block's diagonals wrap around at most
                     // once
  } else {
    a = diagonals_of(spans_of(layout_of(plan.a), plan.op_a));
    b = diagonals_of(spans_of(layout_of(plan.b), plan.op_b));
    c = diagonals_of(layout_of(plan.c).spans);
  }
  if (!dense_enough(a) || !dense_enough(b) || a.width() > kWidest || b.width() > kWidest) return false;
  // Every diagonal of C is within the range that the product reaches.
  const int64 low = a.low + b.low, high = low + a.width() + b.width() - 1;
  if (c.diagonals.empty() || c.low < low || c.low + c.width() > high) return false;
  Band complete;
  complete.low = low;
  complete.cyclic = c.cyclic;
  complete.diagonals.assign(high - low, Diagonal{0, 0, 0});
  std::copy(c.diagonals.begin(), c.diagonals.end(), complete.diagonals.begin() + (c.low - low));
  c = std::move(complete);
  return true;
}

}  // namespace diagsparse::cuda::band
