// Selects the rows of Y = A X that a block of kernel rows_in_windows computes, and what it copies for them.
#pragma once

#include <algorithm>
#include <vector>

#include "core/sums.hpp"
#include "device/cuda.hpp"

namespace diagsparse::cuda::window {

// How the rows of a block are divided among its threads: `rows` per thread, `apart` rows apart.
struct Policy {
  int rows, apart;
  int step, fewest, most;  // rows of a strip per block: multiples of `step`; at least `fewest` of all strips
  int bytes;               // most shared memory per block
  int64 matrix_rows;       // rows of the matrix from which windows are faster
};
// The number of rows is odd, which avoids bank conflicts. Four blocks per multiprocessor. 20000 rows, 9 diagonals, 8
// columns of float64 on an H200: 10.5 us with windows and 7.0 us without; 4096 x 4096 rows 0.80 and 1.27 ms.
constexpr Policy kOfBlocks{3, 1, 24, 96, 512, 55 << 10, 1 << 17};
// Three blocks. 41 diagonals of float32 values and vectors of float64: 10^6 rows 64 us with windows and 59 us without
// (the blocks at the ends are slow), 3 10^6 rows 139 and 152 us; 9-point stencil, 4096 x 4096: 211 (four blocks: 232)
// and 243.
constexpr Policy kOfVectors{2, 32, 64, 256, 1024, 74 << 10, 1 << 21};

// A block processes a segment of each of a few strips of rows, which are `stride` rows apart: the strips of a stencil's
// grid, otherwise one strip. The strips of a block form a slab. The last segment of a strip may extend past its end.
// Blocks are numbered along the strips, slab by slab; in those from `first` to `last`, the same diagonals are complete.
struct Slabs {
  int64 rows, stride;
  int strips, segment;        // rows per segment
  unsigned segments, blocks;  // segments per strip
  unsigned first = 0, last = 0;

  Slabs(int64 rows, int64 stride, int strips, int segment)
      : rows(rows), stride(stride), strips(strips), segment(segment) {
    segments = static_cast<unsigned>((stride + segment - 1) / segment);
    blocks = static_cast<unsigned>((rows + strips * stride - 1) / (strips * stride)) * segments;
  }

  // The blocks that are completely within these rows. Copies read up to 15 bytes outside of a run, which have to belong
  // to its diagonal, too.
  void set_inside(int64 begin, int64 end) {
    constexpr int64 margin = 8;
    const int64 reach = (strips - 1) * stride + segment;
    first = before(begin + margin);
    last = std::max(first, before(end - margin - reach + 1));
  }

 private:
  // Number of blocks that start before this row.
  unsigned before(int64 row) const {
    if (row <= 0) return 0;
    const int64 slab = row / (strips * stride), in_slab = row % (strips * stride);
    const int64 all = slab * segments + std::min<int64>((in_slab + segment - 1) / segment, segments);
    return static_cast<unsigned>(std::min<int64>(all, blocks));
  }
};

// For a block that starts at row 0: the values of a term for the rows of one strip, or a window, which is a range of
// rows of X.
struct StagedItem {
  int64 from;    // the first value; the first row of X
  int at, rows;  // position among the rows of all windows; for a term, that of the row of X for the first row of the
                 // strip
  bool follows;  // the rows of X are those of the previous term, shifted by one
  bool conjugated;
};

// The terms of each strip, followed by the windows: every row of X that the block needs, once.
struct StagedList {
  std::vector<StagedItem> items;
  int runs = 0, rows = 0;  // number of runs; rows of all windows

  StagedList(const Term* begin, const Term* end, const Slabs& slabs, int row);  // row: bytes of a row of X
};

// A term in shared memory, for the rows of a strip.
struct alignas(16) StagedTerm {
  int a, x;  // positions of its values, and of X's row for the first of them, in bytes
  int follows, conjugated;
};

// The shared memory of a block: windows, runs, and the terms of these. In bytes.
struct SharedLayout {
  int row, a, a_stride, terms, total;

  SharedLayout(const Slabs& slabs, const StagedList& list, int item, int row);
};

// The rows of a block, chosen so that all blocks together copy the fewest bytes, for values of `item` bytes and rows of
// X of `row` bytes. In rows first ... last - 1 of the matrix, all of these terms are complete.
struct Choice {
  Slabs slabs;
  bool worthwhile = false;
};
Choice choose(const Policy& policy, const Term* begin, const Term* end, int64 first, int64 last, int64 rows, int item,
              int64 row);

}  // namespace diagsparse::cuda::window
