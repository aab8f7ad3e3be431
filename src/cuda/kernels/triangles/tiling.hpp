// How the points of a grid are divided into tiles, and the order in which they are computed.
//
// Point (x, y, z) of the grid is row x + line (y + lines z) in the order of substitution. A tile consists of lines:
// tile_y next to each other in each of tile_z planes. Line (y, z) of a tile starts in step start + skew_y y + skew_z z,
// which is 0 for the first line before the tile that it depends on. If rows
// depend on larger y of planes before their own, tiles are sheared: each of their planes starts one line earlier than
// the one before it.
#pragma once

#include <optional>
#include <vector>

#include "kernels/triangles/triangle.hpp"

namespace diagsparse::cuda::triangles {

constexpr int kMostInGrid = 13;  // diagonals, as of 27 points
constexpr int kSteps = 8;        // of a chunk
constexpr int kRing = 32;        // steps whose results are in shared memory
constexpr int kMostDelay = kSteps;
constexpr int kMostSlots = 4, kMostReaders = 4, kMostWriters = 4, kMostThreads = 512;

// What a row depends on is (x - dx, y - dy, z - dz).
struct Point {
  int64 dx, dy, dz;
};

// A grid on which the diagonals couple neighbours; one plane if it has two axes. Row (x, y, z) depends on rows with a
// smaller x + skew_y y + skew_z z alone.
struct Axes {
  int64 line, lines, planes;
  std::vector<Point> points;  // of each diagonal
  int64 skew_y = 0, skew_z = 0;
};

// A diagonal: a row depends on the one `distance` before it, which is computed `delay` steps earlier, in a line whose
// column in shared memory is `back` before that of the row.
struct GridTerm {
  int64 distance, first;
  int delay, back;
};

// Unused columns after the operands of a step, so that threads that load neighbouring steps use different banks.
template <class T>
constexpr int kGap = 16 / sizeof(T);

struct Tiling {
  int line, lines, planes;  // of the grid
  int tile_y, tile_z;       // powers of two
  int bits_y, skew_y, skew_z, start, shear;
  int border_y, border_z, border;  // lines before a tile that it depends on: in each plane; planes; all of them
  int tiles_y, tiles, chunks;
  int warps, writers, readers, slots, team;  // of a block: warps that compute, ...; of a team of loaders
  int pitch;                                 // columns of a step in shared memory; the last one is zero

  int threads() const { return 32 * (warps + writers + readers + slots * team); }
  // The place of line l of a tile in it.
  constexpr int y_of(int l) const { return l & (tile_y - 1); }
  constexpr int z_of(int l) const { return l >> bits_y; }
  constexpr int delay(int y, int z) const { return start + skew_y * y + skew_z * z; }
  constexpr int column(int y, int z) const { return (z + border_z) * (tile_y + border_y) + y + border_y; }
};

// The grids that the distances of the terms fit to; those with short lines come first.
std::vector<Axes> grids_of(int64 rows, const std::vector<Term>& terms);

// The first of them on which the diagonals are zero where they would lead from one side of the grid to the other.
std::optional<Axes> grid_of(const Rows& rows, const std::vector<Term>& terms, const Array& values);

// Tiles for values of `item` bytes in `shared` bytes of shared memory, and the terms on them; false if there are none.
bool make_tiling(const Axes& axes, const std::vector<Term>& terms, int item, int shared, Tiling& tiling,
                 GridTerm* of_terms);

// Bytes of shared memory of a block.
int shared_bytes(const Tiling& tiling, std::size_t terms, int item);

}  // namespace diagsparse::cuda::triangles
