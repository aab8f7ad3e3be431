// Groups the diagonals of C into clusters, each of which is a band.
#include "kernels/band/clusters.hpp"

#include <algorithm>

namespace diagsparse::cuda::band {

namespace {

constexpr int64 kGap = 4;            // least offset difference between neighbouring diagonals of different bands
constexpr int64 kWidestBand = 50;    // most diagonals of a band, including those that are not stored
constexpr std::size_t kMost = 1024;  // most products of two bands

Diagonal diagonal_of(const Span& s) { return {s.start - s.row, s.row, s.row + s.length}; }

// Splits the diagonals into bands: a gap between neighbouring diagonals begins a new band.
std::vector<Band> bands_of(const std::vector<Span>& spans) {
  std::vector<Band> bands;
  int64 next = 0;
  for (const Span& s : spans) {
    if (bands.empty() || s.offset - next >= kGap - 1) bands.push_back({s.offset, {}, false});
    Band& band = bands.back();
    if (s.offset - band.low >= kWidestBand) return {};
    band.diagonals.resize(s.offset - band.low + 1, Diagonal{0, 0, 0});
    band.diagonals.back() = diagonal_of(s);
    next = s.offset + 1;
  }
  return bands;
}

bool full_enough(const std::vector<Band>& bands, std::size_t stored) {
  std::size_t positions = 0;
  for (const Band& band : bands) positions += band.diagonals.size();
  return positions > 0 && 5 * stored >= 3 * positions;
}

struct Pair {
  const Band *a, *b;

  int64 low() const { return a->low + b->low; }
  int64 high() const { return low() + a->width() + b->width() - 1; }  // one past the last offset
};

// All pairs of bands whose product has diagonals inside C, sorted by the first of these.
std::vector<Pair> pairs_of(const std::vector<Band>& a, const std::vector<Band>& b, int64 rows, int64 cols) {
  std::vector<Pair> pairs;
  for (const Band& x : a) {
    for (const Band& y : b) {
      if (const Pair pair{&x, &y}; pair.high() > 1 - rows && pair.low() < cols) pairs.push_back(pair);
    }
  }
  std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& x, const Pair& y) { return x.low() < y.low(); });
  return pairs;
}

// The band, extended to the `width` diagonals from offset `low` on.
Band within(const Band& band, int64 low, int64 width) {
  Band result{low, std::vector<Diagonal>(width, Diagonal{0, 0, 0}), false};
  std::copy(band.diagonals.begin(), band.diagonals.end(), result.diagonals.begin() + (band.low - low));
  return result;
}

}  // namespace

std::vector<Cluster> find_clusters(const Plan& plan) {
  if (diagonal_work(plan).triangle != Triangle::both || shares_rows(plan.a) || shares_rows(plan.b) ||
      shares_rows(plan.c)) {
    return {};
  }
  const std::vector<Span> a_spans = spans_of(layout_of(plan.a), plan.op_a),
                          b_spans = spans_of(layout_of(plan.b), plan.op_b);
  const std::vector<Band> a = bands_of(a_spans), b = bands_of(b_spans);
  if (a.size() * b.size() > kMost || !full_enough(a, a_spans.size()) || !full_enough(b, b_spans.size())) return {};
  const std::vector<Pair> pairs = pairs_of(a, b, plan.rows, plan.cols);
  struct Group {
    std::vector<Pair> pairs;
    int64 low, high;  // offsets of their diagonals of C; high: one past the last
  };
  std::vector<Group> groups;  // pairs that share diagonals of C
  int64 a_width = 0, b_width = 0;
  for (const Pair& pair : pairs) {
    if (groups.empty() || pair.low() >= groups.back().high) groups.push_back({{}, pair.low(), pair.high()});
    Group& group = groups.back();
    group.pairs.push_back(pair);
    group.high = std::max(group.high, pair.high());
    a_width = std::max<int64>(a_width, pair.a->width());
    b_width = std::max<int64>(b_width, pair.low() - group.low + pair.b->width());
  }
  if (std::max(a_width, b_width) > kWidestBand) return {};
  std::vector<Cluster> clusters;
  const std::vector<Span>& c = layout_of(plan.c).spans;
  auto next = c.begin();
  for (const Group& group : groups) {
    Cluster cluster;
    const int64 low = group.low;
    cluster.c = Band{low, std::vector<Diagonal>(a_width + b_width - 1, Diagonal{0, 0, 0}), false};
    if (next != c.end() && next->offset < low) return {};           // a diagonal without terms
    for (; next != c.end() && next->offset < group.high; ++next) {  // diagonals of the next group have higher offsets
      cluster.c.diagonals[next->offset - low] = diagonal_of(*next);
    }
    for (const Pair& pair : group.pairs) {
      cluster.products.push_back({within(*pair.a, pair.a->low, a_width), within(*pair.b, low - pair.a->low, b_width)});
    }
    clusters.push_back(std::move(cluster));
  }
  if (next != c.end()) return {};
  return clusters;
}

double work_per_product(const Plan& plan) {
  std::size_t products = 0;
  for (const Cluster& cluster : find_clusters(plan)) products += cluster.products.size();
  if (products == 0) return 0;
  return static_cast<double>(sums_of(plan).work) / (static_cast<double>(plan.rows) * static_cast<double>(products));
}

}  // namespace diagsparse::cuda::band
