// The diagonals of a matrix as the blocks of a chain read them: by where a row finds its partner.
#pragma once

#include <map>

#include "core/recurrence.hpp"
#include "launch.cuh"

namespace diagsparse::cuda {

// The diagonals on which row i meets v[i + offset]: one, or two that share the rows where indices go around.
struct alignas(16) Line {
  int64 offset = 0;
  int64 at[2] = {}, first[2] = {}, last[2] = {};  // rows first <= i < last; at + i is where the value of row i lies
  int count = 0;

  // Where the value of this row is stored, -1 if it is not.
  __device__ int64 place(int64 i) const {
    if (i >= first[0] && i < last[0]) return at[0] + i;
    return i >= first[1] && i < last[1] ? at[1] + i : -1;
  }
  __device__ bool holds(int64 begin, int64 end, int64 n) const {
    if (last[0] - first[0] + (last[1] - first[1]) == n) return true;
    return (begin >= first[0] && end <= last[0]) || (begin >= first[1] && end <= last[1]);
  }
};

// What a matrix keeps for its chains.
struct Lines {
  Array lines;
  int64 count, below, above;
  bool around;

  explicit Lines(const Neighbours& near) : below(near.below), above(near.above), around(near.around) {
    std::map<int64, Line> by_offset;
    for (const Term& t : near.terms) {
      Line& line = by_offset[t.v];
      line.offset = t.v;
      line.at[line.count] = t.u;
      line.first[line.count] = t.first;
      line.last[line.count++] = t.last;
    }
    std::vector<Line> all;
    for (const auto& [offset, line] : by_offset) all.push_back(line);
    count = static_cast<int64>(all.size());
    lines = upload(all);
  }
  const Line* begin() const { return lines.as<const Line>(); }
  template <class F>
  void visit(const F& f) const {
    f(lines);
  }
};

}  // namespace diagsparse::cuda
