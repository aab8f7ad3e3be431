// How kernel "staged" divides a product of diagonals: tiles of C, and the stages in which a tile's operands are copied
// into shared memory.
//
// A tile consists of `rows` rows of neighbouring diagonals of C. A stage consists of neighbouring diagonals of B, and
// the diagonals of A whose products with them are on the tile's diagonals:
//
//     diagonals of C   d ... e        of B, from the highest down      corresponding ones of A
//                                     stage 0:  b2 ... b3              d - b3 ... e - b2
//                                     stage 1:  b1 ... b2 - 1          d - b2 + 1 ... e - b1
//
// A diagonal of A is copied for the tile's rows. A diagonal of B is copied for these and for e - d more rows, which
// covers all of the tile's diagonals: row i of diagonal c of C needs its row i + c - b.
#pragma once

#include <vector>

#include "core/plan.hpp"

namespace diagsparse::cuda::matmul {

struct TileShape {
  int rows, diagonals;  // rows and diagonals of C per tile
  int item;             // bytes of a value
  int shared;           // bytes of shared memory for a stage
};

constexpr int kMostInStage = 256;  // diagonals of A, and of B, in one stage
constexpr int kMostSpan = 512;     // between the lowest and the highest offset of a tile

// Distance in bytes between diagonals with so many rows in shared memory. A diagonal has the same misalignment to 32
// bytes as in global memory, and is copied in units of 16 bytes.
constexpr int stage_stride(int rows, int item) { return (rows * item + 48 + 31) / 32 * 32; }

// The indices of diagonals, sorted by offset.
struct Stage {
  std::int32_t a, a_end, b, b_end;
};
struct Tile {
  std::int64_t low;                // the offset of its first diagonal
  std::int32_t first, last, span;  // diagonals first <= d < last of C; the highest offset minus the lowest
  std::int32_t stage, stage_end;
};
struct Stages {
  std::vector<Tile> tiles;
  std::vector<Stage> stages;
};
// Empty if there is no space in a stage for a single diagonal of B.
Stages cut_into_stages(const Plan& plan, const TileShape& shape);

}  // namespace diagsparse::cuda::matmul
