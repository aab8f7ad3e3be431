// Incomplete factors of diagonals of a grid on a GPU, for any pattern: the rows of a level, which do not depend on each
// other, are eliminated by one kernel, a row by each thread, and the levels one after the other.
#include <algorithm>

#include "kernels/triangles/incomplete.cuh"
#include "kernels/triangles/tiling.hpp"

namespace diagsparse::cuda::triangles {

namespace {

constexpr int kMostDiagonals = 32, kMostMeetings = 512;
constexpr int64 kFewLevels = 1000;  // which take no longer than a copy to the host and back
constexpr int64 kLeastAtOnce = 32;  // rows of a level on average, with fewer of which the host is faster

// Element i of diagonal k is at values[first[k] + i]. The diagonals up to `main` are those of L, and lead from (x, y)
// to (x - dx[k], y - dy[k]); elements for which this is not in the grid are zero, and are left out. While row i is
// eliminated by row j = i + offset[k], meetings begin[k] to begin[k + 1] happen: `to` of row i loses the product of
//   LU        the element of L, and `from` of row j;
//   Cholesky  `from` of row i, and the conjugate of `other` of row j, where `to` is k.
struct Pattern {
  int64 rows;
  int main;
  bool cholesky;
  int64 offset[kMostDiagonals], first[kMostDiagonals];
  int dx[kMostDiagonals], dy[kMostDiagonals];
  short begin[kMostDiagonals + 1];
  signed char to[kMostMeetings], from[kMostMeetings], other[kMostMeetings];
};

// Row x + line (y + lines z) is in level x + skew_y y + skew_z z. `count` lines from `begin` on may have one in it.
struct Level {
  int64 line, lines, skew_y, skew_z, number, begin, count;
};

template <class T>
__global__ void __launch_bounds__(kBlock)
    eliminate(const __grid_constant__ Pattern p, Level level, T* values, T* inverse, unsigned long long* bad) {
  if (thread_index() >= level.count) return;
  const int64 of_row = level.begin + thread_index(), y = of_row % level.lines;
  const int64 x = level.number - level.skew_y * y - level.skew_z * (of_row / level.lines);
  const int64 i = of_row * level.line + x;
  if (x < 0 || x >= level.line || i >= p.rows) return;
  const auto at = [&](int k, int64 row) -> T& { return values[p.first[k] + row]; };
  const auto exists = [&](int k, int64 row) { return row + p.offset[k] >= 0 && row + p.offset[k] < p.rows; };
  T pivot = at(p.main, i);
  for (int k = 0; k < p.main; ++k) {
    const int64 to_x = x - p.dx[k], to_y = y - p.dy[k];
    if (!exists(k, i) || to_x < 0 || to_x >= level.line || to_y < 0 || to_y >= level.lines) continue;
    const int64 j = i + p.offset[k];
    T element = at(k, i);
    if (p.cholesky) {
      for (int m = p.begin[k]; m < p.begin[k + 1]; ++m) {
        if (exists(p.from[m], i))
          element = minus_product(element, at(p.from[m], i), conjugate_if(true, at(p.other[m], j)));
      }
    }
    element = multiply(element, inverse[j]);
    at(k, i) = element;
    if (p.cholesky) pivot = minus_product(pivot, element, conjugate_if(true, element));
    for (int m = p.begin[k]; !p.cholesky && m < p.begin[k + 1]; ++m) {
      if (!exists(p.from[m], j)) continue;
      const T other = at(p.from[m], j);
      if (p.to[m] == p.main) pivot = minus_product(pivot, element, other);
      else at(p.to[m], i) = minus_product(at(p.to[m], i), element, other);
    }
  }
  bool fine = is_finite(pivot);
  if (p.cholesky) {
    fine &= real_part(pivot) > 0;
    pivot = convert<T>(sqrt(real_part(pivot)));
  }
  inverse[i] = reciprocal(pivot);
  at(p.main, i) = pivot;
  if (!fine || !is_finite(inverse[i])) atomicMin(bad, static_cast<unsigned long long>(i));
}

int find(const std::vector<Span>& spans, int64 offset) {
  for (std::size_t k = 0; k < spans.size(); ++k) {
    if (spans[k].offset == offset) return static_cast<int>(k);
  }
  return -1;
}

// The pattern of ascending spans; false if it is too large.
bool make_pattern(const std::vector<Span>& spans, int64 rows, bool cholesky, Pattern& p) {
  if (spans.size() > kMostDiagonals) return false;
  p.rows = rows;
  p.cholesky = cholesky;
  p.main = find(spans, 0);
  for (std::size_t k = 0; k < spans.size(); ++k) {
    p.offset[k] = spans[k].offset;
    p.first[k] = spans[k].start - spans[k].row;
  }
  int count = 0;
  for (int k = 0; k < p.main; ++k) {
    p.begin[k] = static_cast<short>(count);
    const int end = cholesky ? k : static_cast<int>(spans.size());
    for (int from = cholesky ? 0 : p.main + 1; from < end; ++from) {
      const int found =
          find(spans, cholesky ? spans[from].offset - spans[k].offset : spans[k].offset + spans[from].offset);
      if (found < 0) continue;
      if (count == kMostMeetings) return false;
      p.to[count] = static_cast<signed char>(cholesky ? k : found);
      p.from[count] = static_cast<signed char>(from);
      p.other[count++] = static_cast<signed char>(found);
    }
  }
  p.begin[p.main] = static_cast<short>(count);
  return true;
}

// Whether elimination leaves elements zero that would lead from one side of the grid to the other: what is met by two
// steps on the grid, is where they lead to.
bool stays_in(const Axes& axes, const Pattern& p) {
  for (int k = 0; k < p.main; ++k) {
    for (int m = p.begin[k]; m < p.begin[k + 1]; ++m) {
      const int first = p.cholesky ? p.other[m] : p.from[m], sum = p.cholesky ? p.from[m] : p.to[m];
      const Point a = axes.point_of(-p.offset[k]), b = axes.point_of(-p.offset[first]);
      const Point c = axes.point_of(-p.offset[sum]);
      if (a.dx + b.dx != c.dx || a.dy + b.dy != c.dy) return false;  // and dz, since the offsets add up
    }
  }
  return true;
}

// The lines that may have a row in a level: of all planes, or of the only one, those that it has reached and not left.
void find_lines(const Axes& axes, int64 all, Level& level) {
  const bool flat = axes.planes == 1;
  const int64 each = flat ? 1 : axes.lines, skew = flat ? axes.skew_y : axes.skew_z;
  const int64 steps = axes.line + (flat ? 0 : axes.skew_y * (axes.lines - 1));  // from the first row to the last
  level.begin = 0;
  level.count = all;
  if (skew == 0) return;
  level.begin = level.number < steps ? 0 : std::min(all, ((level.number - steps) / skew + 1) * each);
  level.count = std::min(all, (level.number / skew + 1) * each) - level.begin;
}

}  // namespace

int64 eliminate_by_levels(Matrix& a, bool cholesky) {
  std::vector<Span> spans = spans_of(a.layout(), {});
  std::sort(spans.begin(), spans.end(), [](const Span& x, const Span& y) { return x.offset < y.offset; });
  Pattern p{};
  if (!make_pattern(spans, a.rows, cholesky, p)) return kUnsuitable;
  std::vector<Term> below, above;  // the farthest one first, as everywhere
  for (int k = 0; k < static_cast<int>(spans.size()); ++k) {
    if (k != p.main) (k < p.main ? below : above).push_back({-p.offset[k], p.first[k]});
  }
  const std::optional<Axes> axes = grid_of({a.rows, true}, below, a.values, above);
  if (!axes || !stays_in(*axes, p)) return kUnsuitable;
  const int64 all = ceil_div(a.rows, axes->line);
  const int64 levels = axes->line + axes->skew_y * (axes->lines - 1) + axes->skew_z * (axes->planes - 1);
  if (levels > kFewLevels && a.rows < kLeastAtOnce * levels) return kUnsuitable;
  for (int k = 0; k < p.main; ++k) {
    p.dx[k] = static_cast<int>(axes->points[k].dx);
    p.dy[k] = static_cast<int>(axes->points[k].dy);
  }
  Level level{axes->line, axes->lines, axes->skew_y, axes->skew_z, 0, 0, 0};
  const Array inverse = Array::empty(a.dtype, {a.rows});
  return with_value_type(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    return first_bad([&](unsigned long long* bad) {
      for (; level.number < levels; ++level.number) {
        find_lines(*axes, all, level);
        if (level.count == 0) continue;
        launch("eliminate", eliminate<T>, blocks(level.count), dim3(kBlock), p, level, a.values.as<T>(),
               inverse.as<T>(), bad);
      }
    });
  });
}

}  // namespace diagsparse::cuda::triangles
