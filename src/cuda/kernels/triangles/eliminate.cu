// Incomplete factors of diagonals of a grid on a GPU, for any pattern: the rows of a level, which do not depend on each
// other, are eliminated by one kernel, a row by each thread, and the levels one after the other.
#include <algorithm>

#include "kernels/triangles/incomplete.cuh"
#include "kernels/triangles/tiling.hpp"

namespace diagsparse::cuda::triangles {

namespace {

constexpr int kMostDiagonals = 32, kMostMeetings = 512;

// Element i of diagonal k is at values[first[k] + i]. The diagonals up to `main` are those of L. While row i is
// eliminated by row j = i + offset[k], meetings begin[k] to begin[k + 1] happen: `to` of row i loses the product of
//   LU        the element of L, and `from` of row j;
//   Cholesky  `from` of row i, and the conjugate of `other` of row j, where `to` is k.
struct Pattern {
  int64 rows;
  int main;
  bool cholesky;
  int64 offset[kMostDiagonals], first[kMostDiagonals];
  short begin[kMostDiagonals + 1];
  signed char to[kMostMeetings], from[kMostMeetings], other[kMostMeetings];
};

// Row x + line (y + lines z) is in level x + skew_y y + skew_z z.
struct Level {
  int64 line, lines, all, skew_y, skew_z, number;
};

template <class T>
__global__ void __launch_bounds__(kBlock)
    eliminate(const __grid_constant__ Pattern p, Level level, T* values, T* inverse, unsigned long long* bad) {
  const int64 j_line = thread_index();
  if (j_line >= level.all) return;
  const int64 x = level.number - level.skew_y * (j_line % level.lines) - level.skew_z * (j_line / level.lines);
  const int64 i = j_line * level.line + x;
  if (x < 0 || x >= level.line || i >= p.rows) return;
  const auto at = [&](int k, int64 row) -> T& { return values[p.first[k] + row]; };
  const auto exists = [&](int k, int64 row) { return row + p.offset[k] >= 0 && row + p.offset[k] < p.rows; };
  T pivot = at(p.main, i);
  for (int k = 0; k < p.main; ++k) {
    if (!exists(k, i)) continue;
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

}  // namespace

int64 eliminate_by_levels(Matrix& a, bool cholesky) {
  std::vector<Span> spans = spans_of(a.layout(), {});
  std::sort(spans.begin(), spans.end(), [](const Span& x, const Span& y) { return x.offset < y.offset; });
  Pattern p{};
  if (!make_pattern(spans, a.rows, cholesky, p)) return kUnsuitable;
  std::vector<Term> terms;  // the farthest one first, as everywhere
  for (int k = 0; k < p.main; ++k) terms.push_back({-p.offset[k], p.first[k]});
  const std::optional<Axes> axes = grid_of({a.rows, true}, terms, a.values);
  if (!axes) return kUnsuitable;
  Level level{axes->line, axes->lines, ceil_div(a.rows, axes->line), axes->skew_y, axes->skew_z, 0};
  const int64 levels = axes->line + axes->skew_y * (axes->lines - 1) + axes->skew_z * (axes->planes - 1);
  const Array inverse = Array::empty(a.dtype, {a.rows});
  return with_value_type(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    return first_bad([&](unsigned long long* bad) {
      for (; level.number < levels; ++level.number) {
        launch("eliminate", eliminate<T>, blocks(level.all), dim3(kBlock), p, level, a.values.as<T>(), inverse.as<T>(),
               bad);
      }
    });
  });
}

}  // namespace diagsparse::cuda::triangles
