// How kernel "staged" cuts a product of diagonals: tiles of C, and the stages in which a tile's operands come into
// shared memory.
//
// A tile is `rows` rows of neighbouring diagonals of C. A stage is neighbouring diagonals of B, and the diagonals of A
// that they meet on the tile's diagonals:
//
//     diagonals of C   d ... e        of B, from the highest down      of A, which they meet
//                                     stage 0:  b2 ... b3              d - b3 ... e - b2
//                                     stage 1:  b1 ... b2 - 1          d - b2 + 1 ... e - b1
//
// A diagonal of A comes for the tile's rows. One of B comes for these and for e - d rows more, in which it meets all of
// the tile's diagonals: row i of diagonal c of C needs its row i + c - b.
#pragma once

#include <vector>

#include "core/plan.hpp"

namespace diagsparse::cuda::matmul {

struct TileShape {
  int rows, diagonals;  // of C
  int item;             // bytes of a value
  int shared;           // bytes of shared memory for a stage
};

constexpr int kMostInStage = 256;  // diagonals of A, and of B, in one stage
constexpr int kMostSpan = 512;     // between the lowest and the highest offset of a tile

// Bytes between diagonals in shared memory that have so many rows there: runs begin as far behind a border of 32 bytes
// as in global memory, and are copied in pieces of 16.
constexpr int stage_stride(int rows, int item) { return (rows * item + 48 + 31) / 32 * 32; }

// The numbers of diagonals, of ascending offsets.
struct Stage {
  std::int32_t a, a_end, b, b_end;
};
struct Tile {
  std::int64_t low;                // the offset of its first diagonal
  std::int32_t first, last, span;  // diagonals first <= d < last of C; the highest offset less the lowest
  std::int32_t stage, stage_end;
};
struct Stages {
  std::vector<Tile> tiles;
  std::vector<Stage> stages;
};
// None where a stage has no room for one diagonal of B.
Stages cut_into_stages(const Plan& plan, const TileShape& shape);

}  // namespace diagsparse::cuda::matmul
