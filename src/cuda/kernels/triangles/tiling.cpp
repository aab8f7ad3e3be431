// Finds grids in the distances of diagonals, and chooses tiles.
#include "kernels/triangles/tiling.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace diagsparse::cuda::triangles {

namespace {

constexpr int64 kShortest = 8, kFewestLines = 8;  // of a grid
constexpr int64 kMostAxes = 2;                    // distance of what a row depends on along y and z

int64 ceil_of(int64 a, int64 b) { return (a + b - 1) / b; }
int64 nearest_multiple(int64 v, int64 of) { return (v + of / 2) / of; }

// The coordinates of distances on lines of this length in planes of `lines` lines; 0 for one plane.
std::vector<Point> points_of(const std::vector<Term>& terms, int64 line, int64 lines) {
  std::vector<Point> points;
  for (const Term& term : terms) {
    const int64 all = nearest_multiple(term.distance, line), dz = lines > 0 ? nearest_multiple(all, lines) : 0;
    points.push_back({term.distance - all * line, all - dz * lines, dz});
  }
  return points;
}

// The least skew with which what rows depend on along an axis is computed before them.
int64 skew_along(const std::vector<Point>& points, int64 Point::* axis, const auto& earlier) {
  int64 skew = 0;
  for (const Point& p : points) {
    if (p.*axis > 0) skew = std::max(skew, ceil_of(std::max<int64>(0, 1 - earlier(p)), p.*axis));
  }
  return skew;
}

}  // namespace

std::vector<Axes> grids_of(int64 rows, const std::vector<Term>& terms) {
  std::vector<Axes> grids;
  if (terms.empty() || terms.size() > kMostInGrid || rows > std::numeric_limits<int>::max() * int64{4}) return {};
  const auto add = [&](int64 line, int64 lines) {
    const int64 all = ceil_of(rows, line);
    Axes axes{line, lines > 0 ? lines : all, lines > 0 ? ceil_of(all, lines) : 1, points_of(terms, line, lines)};
    const bool near = std::all_of(axes.points.begin(), axes.points.end(), [](const Point& p) {
      return std::abs(p.dx) < kMostDelay && std::abs(p.dy) <= kMostAxes && p.dz <= kMostAxes && p.dy + p.dz >= 0 &&
             (p.dz > 0 || p.dy > 0 || p.dx > 0);
    });
    if (!near) return;
    std::vector<Point> flat;
    std::copy_if(axes.points.begin(), axes.points.end(), std::back_inserter(flat),
                 [](const Point& p) { return p.dz == 0; });
    axes.skew_y = skew_along(flat, &Point::dy, [](const Point& p) { return p.dx; });
    axes.skew_z = skew_along(axes.points, &Point::dz, [&](const Point& p) { return p.dx + axes.skew_y * p.dy; });
    grids.push_back(std::move(axes));
  };
  for (std::size_t at = terms.size(); at-- > 0;) {
    const int64 line = terms[at].distance;
    if (line < kShortest || ceil_of(rows, line) < kFewestLines) continue;
    add(line, 0);
    int64 before = 0;
    for (std::size_t other = at; other-- > 0;) {
      const int64 lines = nearest_multiple(terms[other].distance, line);
      if (lines > kMostAxes && lines != before) add(line, lines);
      before = lines;
    }
  }
  return grids;
}

int shared_bytes(const Tiling& g, std::size_t terms, int item) {
  return (kRing * g.pitch + g.slots * static_cast<int>(terms + 2) * kSteps * (32 * g.warps + 16 / item)) * item;
}

bool make_tiling(const Axes& axes, const std::vector<Term>& terms, int item, int shared, Tiling& g,
                 GridTerm* of_terms) {
  if (axes.line > (1 << 30) || axes.lines > (1 << 30)) return false;
  g = {};
  g.line = static_cast<int>(axes.line);
  g.lines = static_cast<int>(axes.lines);
  g.planes = static_cast<int>(axes.planes);
  std::vector<Point> points = axes.points;
  for (const Point& p : points) {
    if (p.dy < 0) g.shear = 1;
    g.border_z = std::max(g.border_z, static_cast<int>(p.dz));
  }
  for (Point& p : points) {
    p.dy += g.shear * p.dz;
    g.border_y = std::max(g.border_y, static_cast<int>(p.dy));
  }
  g.skew_y = static_cast<int>(axes.skew_y);
  g.skew_z = static_cast<int>(skew_along(points, &Point::dz, [&](const Point& p) { return p.dx + g.skew_y * p.dy; }));
  g.start = g.skew_y * g.border_y + g.skew_z * g.border_z;
  if (g.skew_y * 32 > 8 * g.line) return false;

  // With two axes, tiles of few lines are faster, because those before a tile are waited for once for each line (0.46
  // ms with 32 lines and 0.63 ms with 128, for 5 points on 1000 x 1000 on an H200); with three axes, larger ones.
  const bool flat = g.planes == 1;
  g.team = flat ? 1 : 2;
  for (g.warps = flat ? 1 : 4; g.warps > 0; g.warps /= 2) {
    g.tile_y = flat ? 32 * g.warps : g.warps == 4 ? 16 : 8;
    g.tile_z = 32 * g.warps / g.tile_y;
    g.bits_y = std::countr_zero(static_cast<unsigned>(g.tile_y));
    g.border = g.border_y * g.tile_z + (g.tile_y + g.border_y) * g.border_z;
    g.pitch = (g.tile_y + g.border_y) * (g.tile_z + g.border_z) + 1;
    g.writers = std::max(1, g.warps / 2);
    g.readers = static_cast<int>(ceil_of(std::max(1, g.border), 32));
    for (g.slots = flat ? 4 : 3; g.slots >= 2; --g.slots) {
      if (shared_bytes(g, terms.size(), item) <= shared) break;
    }
    if (g.slots >= 2 && g.readers <= kMostReaders) break;
  }
  if (g.warps == 0) return false;
  g.tiles_y = static_cast<int>(ceil_of(g.lines + g.shear * (g.tile_z - 1), g.tile_y));
  g.tiles = g.tiles_y * static_cast<int>(ceil_of(g.planes, g.tile_z));
  g.chunks = static_cast<int>(ceil_of(axes.line + g.delay(g.tile_y - 1, g.tile_z - 1), kSteps));
  for (std::size_t k = 0; k < terms.size(); ++k) {
    const int64 delay = points[k].dx + g.skew_y * points[k].dy + g.skew_z * points[k].dz;
    if (delay < 1 || delay > kMostDelay) return false;
    of_terms[k] = {terms[k].distance, terms[k].first, static_cast<int>(delay),
                   static_cast<int>(points[k].dz * (g.tile_y + g.border_y) + points[k].dy)};
  }
  return true;
}

}  // namespace diagsparse::cuda::triangles
