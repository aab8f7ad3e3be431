// Which rows of Y = A X a block of kernel rows_in_windows takes, and what it brings for them.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include "core/diagonals.hpp"

namespace diagsparse::cuda {

// How the threads of a block share its rows: each takes a few, so far apart.
struct Share {
  int rows, apart;
  int step, fewest, most;  // rows a block takes of a line: multiples of `step`; at least so many of all lines
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

// A block takes a piece of each of a few lines of rows, `stride` rows apart: of a stencil the lines of its grid, else
// one line. The lines of a block are a slab; the last piece of a line may reach past its end. Blocks are numbered along
// the lines, slab by slab; those from `first` to `last` meet the same diagonals, each in full.
struct Slabs {
  int64 rows, stride;
  int lines, piece;         // rows a piece
  unsigned pieces, blocks;  // pieces a line
  unsigned first = 0, last = 0;

  Slabs(int64 rows, int64 stride, int lines, int piece) : rows(rows), stride(stride), lines(lines), piece(piece) {
    pieces = static_cast<unsigned>((stride + piece - 1) / piece);
    blocks = static_cast<unsigned>((rows + lines * stride - 1) / (lines * stride)) * pieces;
  }

  // Whole blocks within these rows. Copies read up to 15 bytes beside a run, which are to lie in its diagonal too.
  void set_inside(int64 begin, int64 end) {
    constexpr int64 beside = 8;
    const int64 reach = (lines - 1) * stride + piece;
    first = before(begin + beside);
    last = std::max(first, before(end - beside - reach + 1));
  }

 private:
  // Blocks that start before this row.
  unsigned before(int64 row) const {
    if (row <= 0) return 0;
    const int64 slab = row / (lines * stride), in_slab = row % (lines * stride);
    const int64 all = slab * pieces + std::min<int64>((in_slab + piece - 1) / piece, pieces);
    return static_cast<unsigned>(std::min<int64>(all, blocks));
  }
};

// For a block that starts at row 0: the values of a term for the rows of one line, or neighbouring rows of X, a window.
struct Brought {
  int64 from;    // the first value; the first row of X
  int at, rows;  // among the rows of all windows: of a term, where the first row of the line meets X
  bool follows;  // each row meets the row of X behind that which it meets in the term before
  bool conjugated;
};

// The terms of each line, then the windows: every row of X that the block meets, once.
struct BroughtList {
  std::vector<Brought> items;
  int runs = 0, rows = 0;  // of the windows

  // Rows of X of so many bytes.
  BroughtList(const Term* begin, const Term* end, const Slabs& slabs, int row) {
    struct Window {
      int64 from, to;
      int at;
    };
    std::vector<Window> all, windows;
    for (int line = 0; line < slabs.lines; ++line) {
      for (const Term* t = begin; t != end; ++t) {
        const int64 from = line * slabs.stride + t->v;
        all.push_back({from, from + slabs.piece, 0});
      }
    }
    std::sort(all.begin(), all.end(), [](const Window& a, const Window& b) { return a.from < b.from; });
    for (const Window& w : all) {
      if (windows.empty() || w.from > windows.back().to) windows.push_back(w);
      else windows.back().to = std::max(windows.back().to, w.to);
    }
    // All lie as far behind a 32-byte border as in memory, or half of it. Copies of both neighbours may reach into the
    // 16 bytes between windows of narrower rows.
    const int border = std::max(2, 32 / row), between = row < 16 ? 16 / row : 0;
    for (Window& w : windows) {
      if (rows > 0) rows += between;
      w.at = rows + static_cast<int>((w.from - rows) & (border - 1));
      rows = w.at + static_cast<int>(w.to - w.from);
    }
    for (int line = 0; line < slabs.lines; ++line) {
      for (const Term* t = begin; t != end; ++t) {
        const int64 shift = line * slabs.stride, from = shift + t->v;
        const auto behind = std::upper_bound(windows.begin(), windows.end(), from,
                                             [](int64 row, const Window& w) { return row < w.from; });
        const Window& window = *(behind - 1);
        items.push_back({t->u + shift, window.at + static_cast<int>(from - window.from), 0,
                         t != begin && t->v == (t - 1)->v + 1, static_cast<bool>(t->conjugated)});
      }
    }
    runs = static_cast<int>(items.size());
    for (const Window& w : windows) items.push_back({w.from, w.at, static_cast<int>(w.to - w.from), false, false});
  }
};

// The commonest distance of neighbouring groups of near diagonals: of a stencil, from line to line of its grid. 0:
// there is one group.
inline int64 common_stride(const Term* begin, const Term* end) {
  constexpr int64 near = 64;
  std::map<int64, int> distances;
  int64 before = 0;
  for (const Term *t = begin, *stop; t != end; t = stop) {
    for (stop = t + 1; stop != end && stop->v - (stop - 1)->v <= near;) ++stop;
    const int64 middle = (t->v + (stop - 1)->v) / 2;
    if (t != begin) ++distances[middle - before];
    before = middle;
  }
  const auto rarer = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto most = std::max_element(distances.begin(), distances.end(), rarer);
  return most == distances.end() ? 0 : most->first;
}

}  // namespace diagsparse::cuda
