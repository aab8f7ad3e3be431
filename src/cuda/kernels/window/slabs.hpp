// Which rows of Y = A X a block of kernel rows_in_windows takes, and what it brings for them.
#pragma once

#include <algorithm>
#include <vector>

#include "core/sums.hpp"
#include "device/cuda.hpp"

namespace diagsparse::cuda::window {

// How the threads of a block share its rows: each takes a few, so far apart.
struct Share {
  int rows, apart;
  int step, fewest, most;  // rows a block takes of a strip: multiples of `step`; at least so many of all strips
  int bytes;               // of shared memory a block, at most
  int64 matrix_rows;       // that windows pay for
};
// An odd number of rows: lanes meet no bank twice. Four blocks a multiprocessor. 20000 rows, 9 diagonals, 8 columns of
// float64 take an H200 10.5 us with windows and 7.0 us without, 4096 x 4096 rows 0.80 and 1.27 ms.
constexpr Share kOfBlocks{3, 1, 24, 96, 512, 55 << 10, 1 << 17};
// Three blocks. 41 diagonals of float32 values and vectors of float64: 10^6 rows 64 us with windows and 59 us without
// (the blocks at the ends are slow), 3 10^6 rows 139 and 152 us; 9-point stencil, 4096 x 4096: 211 (four blocks: 232)
// and 243.
constexpr Share kOfVectors{2, 32, 64, 256, 1024, 74 << 10, 1 << 21};

// A block takes a stretch of each of a few strips of rows, `stride` rows apart: of a stencil the strips of its grid,
// else one strip. The strips of a block are a slab; the last stretch of a strip may reach past its end. Blocks are
// numbered along the strips, slab by slab; those from `first` to `last` meet the same diagonals, each in full.
struct Slabs {
  int64 rows, stride;
  int strips, stretch;         // rows a stretch
  unsigned stretches, blocks;  // stretches a strip
  unsigned first = 0, last = 0;

  Slabs(int64 rows, int64 stride, int strips, int stretch)
      : rows(rows), stride(stride), strips(strips), stretch(stretch) {
    stretches = static_cast<unsigned>((stride + stretch - 1) / stretch);
    blocks = static_cast<unsigned>((rows + strips * stride - 1) / (strips * stride)) * stretches;
  }

  // Whole blocks within these rows. Copies read up to 15 bytes beside a run, which are to lie in its diagonal too.
  void set_inside(int64 begin, int64 end) {
    constexpr int64 beside = 8;
    const int64 reach = (strips - 1) * stride + stretch;
    first = before(begin + beside);
    last = std::max(first, before(end - beside - reach + 1));
  }

 private:
  // Blocks that start before this row.
  unsigned before(int64 row) const {
    if (row <= 0) return 0;
    const int64 slab = row / (strips * stride), in_slab = row % (strips * stride);
    const int64 all = slab * stretches + std::min<int64>((in_slab + stretch - 1) / stretch, stretches);
    return static_cast<unsigned>(std::min<int64>(all, blocks));
  }
};

// For a block that starts at row 0: the values of a term for the rows of one strip, or neighbouring rows of X, a
// window.
struct Brought {
  int64 from;    // the first value; the first row of X
  int at, rows;  // among the rows of all windows: of a term, where the first row of the strip meets X
  bool follows;  // each row meets the row of X behind that which it meets in the term before
  bool conjugated;
};

// The terms of each strip, then the windows: every row of X that the block meets, once.
struct BroughtList {
  std::vector<Brought> items;
  int runs = 0, rows = 0;  // of the windows

  BroughtList(const Term* begin, const Term* end, const Slabs& slabs, int row);  // of rows of X of so many bytes
};

// A term in shared memory, for the rows of a strip.
struct alignas(16) BroughtTerm {
  int a, x;  // where its values lie, and X's row for the first of them: bytes from the beginning
  int follows, conjugated;
};

// A block's shared memory: windows, runs, and the terms of these. In bytes.
struct Room {
  int row, a, a_stride, terms, total;

  Room(const Slabs& slabs, const BroughtList& list, int item, int row);
};

// The rows of a block: those for which all blocks together bring the fewest bytes, of values of `item` bytes and rows
// of X of `row`. Rows first ... last - 1 of all meet these terms in full.
struct Choice {
  Slabs slabs;
  bool pay = false;
};
Choice choose(const Share& share, const Term* begin, const Term* end, int64 first, int64 last, int64 rows, int item,
              int64 row);

}  // namespace diagsparse::cuda::window
