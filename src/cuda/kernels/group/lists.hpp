// A product of scattered diagonals, cut so that operands are read into shared memory once for many uses.
//
// A group is neighbouring diagonals of C; its pairs (a, b) are taken in bunches of neighbouring diagonals of A. A bunch
// needs its diagonals of A for the block's rows, and of each diagonal of B a window: the block's rows, shifted by the
// offsets of A that it meets. The more of C's diagonals a group has, the more often a window is used.
#pragma once

#include "core/plan.hpp"

namespace diagsparse::cuda::group {

// Rows and diagonals of C that a block takes.
struct GroupShape {
  int rows, diagonals;
};
// Few diagonals (stencils): more rows; a window serves more pairs the more diagonals there are.
constexpr GroupShape kManyDiagonals{128, 64}, kFewDiagonals{256, 32};

// For row x of C, or of a window's rows that come after C's, it is values[base + x] for first <= x < last. A block
// takes `length` rows from its first one on; they lie at `place` in shared memory.
struct Section {
  std::int64_t base, first, last;
  std::int32_t length, place;
};
struct Bunch {
  std::int32_t a, a_end, b, b_end;  // its sections of A and of B
  std::int32_t pairs, pairs_end;    // its pairs, by diagonal of C
  std::int32_t starts;              // where each diagonal's pairs begin: shape.diagonals + 1 numbers, from 0
  std::int32_t b_at, pairs_at,
      list_at;  // where windows, pairs and a list of both and the sections lie in shared memory
};
struct Group {
  std::int32_t c, c_end;  // sections of C
  std::int32_t bunch, bunch_end;
};
struct alignas(16) Pair {
  std::int32_t a, b;          // places of the first row's factors
  std::int32_t block, count;  // of rows, in which the two meet
};

struct Lists {
  GroupShape shape;
  std::vector<Group> groups;
  std::vector<Bunch> bunches;
  std::vector<Section> a, b, c;
  std::vector<Pair> pairs;
  std::vector<std::int32_t> starts;
  std::int32_t most_bytes = 0;  // of shared memory, of a bunch
};

// `budget`: bytes of shared memory for sections of `a_item`- and `b_item`-byte values, for the pairs and the list.
Lists make_lists(const Plan& plan, int a_item, int b_item, int budget);

}  // namespace diagsparse::cuda::group
