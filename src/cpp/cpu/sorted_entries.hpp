// The sorted entries of csr, csc and coo on the CPU, and how the work of merging them is divided.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "core/format.hpp"
#include "cpu/entries_in_order.hpp"

namespace diagsparse {

constexpr int64 kEntries = 1 << 15;  // entries of both operands plus lines of a task

// The positions of entries in lines of csr or csc.
struct InLines {
  using Key = std::int32_t;
  static constexpr bool in_lines = true;
  std::int32_t* index;

  explicit InLines(const std::vector<Array>& arrays) : index(arrays[0].as<std::int32_t>()) {}
  Key operator[](int64 e) const { return index[e]; }
  void set(int64 e, Key key) const { index[e] = key; }
};

// The positions of entries of coo: a single line of (row, col) pairs.
struct InPairs {
  using Key = int64;
  static constexpr bool in_lines = false;
  std::int32_t *row, *col;

  explicit InPairs(const std::vector<Array>& arrays)
      : row(arrays[0].as<std::int32_t>()), col(arrays[1].as<std::int32_t>()) {}
  Key operator[](int64 e) const { return static_cast<int64>(row[e]) << 32 | col[e]; }
  void set(int64 e, Key key) const {
    row[e] = static_cast<std::int32_t>(key >> 32);
    col[e] = static_cast<std::int32_t>(key);
  }
};

// The names of the arrays of positions.
inline std::vector<const char*> names_of_positions(const Matrix& m) {
  if (entry_format(m.format).pointers) return {"indices"};
  return {"row", "col"};
}

inline std::vector<Array> positions_of(const Matrix& m) {
  std::vector<Array> all;
  for (const char* name : names_of_positions(m)) all.push_back(m.index(name));
  return all;
}

// Sorted entries; `start` has the pointers to their lines, or is null for pairs.
template <class T, class Positions>
struct Entries {
  Positions positions;
  T* values;
  int64 count;
  int64* start = nullptr;

  explicit Entries(const Matrix& m) : positions(positions_of(m)), values(m.values.as<T>()), count(m.values.size()) {
    if (Positions::in_lines) start = m.index("indptr").as<int64>();
  }
  // The last array holds the values.
  Entries(const std::vector<Array>& arrays, int64* start)
      : positions(arrays), values(arrays.back().as<T>()), count(arrays.back().size()), start(start) {}
};

// The start of a task: the number of lines (of csr and csc) and of entries of a and b before it.
struct Cut {
  int64 line, a, b;
};
using Cuts = std::vector<Cut>;

inline int64 tasks_of(int64 work) { return work / kEntries + 1; }

// The first number in [low, high] for which before() is false; before() must be true for all smaller ones.
template <class F>
int64 bisect(int64 low, int64 high, const F& before) {
  while (low < high) {
    const int64 middle = low + (high - low) / 2;
    if (before(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Cuts between lines, given the pointers to the lines of a and b.
inline Cuts cuts_in_lines(const int64* a, const int64* b, int64 lines) {
  const auto work = [=](int64 line) { return a[line] + b[line] + line; };
  const int64 tasks = tasks_of(work(lines));
  Cuts cuts;
  for (int64 t = 0; t <= tasks; ++t) {
    const int64 target = work(lines) / tasks * t;
    const int64 line = t == tasks ? lines : bisect(0, lines, [&](int64 i) { return work(i) < target; });
    cuts.push_back({line, a[line], b[line]});
  }
  return cuts;
}

// Cuts that do not separate entries at the same position.
inline Cuts cuts_in_pairs(const InPairs& a, int64 a_count, const InPairs& b, int64 b_count) {
  const int64 tasks = tasks_of(a_count + b_count);
  Cuts cuts;
  for (int64 t = 0; t < tasks; ++t) {
    const int64 both = (a_count + b_count) / tasks * t;  // entries before the cut
    int64 i = bisect(std::max<int64>(0, both - b_count), std::min(both, a_count),
                     [&](int64 e) { return a[e] < b[both - 1 - e]; });
    const int64 j = both - i;
    if (i < a_count && j > 0 && a[i] == b[j - 1]) ++i;
    cuts.push_back({0, i, j});
  }
  cuts.push_back({0, a_count, b_count});
  return cuts;
}

// Writes the entries of task t to `arrays` (positions and values) from position `to` on, and the pointers to the ends
// of its lines to `start`; returns the end.
using WriteTask = std::function<int64(const std::vector<Array>& arrays, int64* start, int64 t, int64 to)>;

// A matrix in the format and shape of `a`, with values of this type, whose entries tasks write between two cuts each.
inline Matrix entries_by_tasks(const Matrix& a, DType dtype, const Cuts& cuts, const WriteTask& write_task) {
  const bool in_lines = entry_format(a.format).pointers;
  const std::vector<const char*> names = names_of_positions(a);
  LineChunks chunks;
  for (std::size_t t = 1; t < cuts.size(); ++t) chunks.add(cuts[t].a + cuts[t].b, cuts[t].line);
  std::vector<DType> types(names.size(), DType::i32);
  types.push_back(dtype);
  Array indptr;
  if (in_lines) indptr = Array::empty(DType::i64, a.index("indptr").shape);
  auto* const start = indptr.as<int64>();
  std::vector<Array> arrays = entries_in_order(
      types, chunks, start, [&](const auto& out, int64 t, int64 to) { return write_task(out, start, t, to); });
  Array values = std::move(arrays.back());
  std::vector<Part> parts;
  for (std::size_t k = 0; k < names.size(); ++k) parts.emplace_back(names[k], std::move(arrays[k]));
  if (in_lines) parts.emplace_back("indptr", std::move(indptr));
  return {std::make_shared<const Indices>(a.structure->format, a.rows, a.cols, std::move(parts), values.size()),
          std::move(values)};
}

}  // namespace diagsparse
