// Entries that tasks write one behind another, when nobody knows beforehand how many of them stay.
#pragma once

#include <cstring>
#include <vector>

#include "core/array.hpp"
#include "cpu/parallel.hpp"

namespace diagsparse {

// How entries are shared out: task t writes room[t + 1] - room[t] of them at most, and lines [lines[t], lines[t + 1]).
struct LineShares {
  std::vector<int64> room{0}, lines{0};

  void add(int64 room_end, int64 line_end) {
    room.push_back(room_end);
    lines.push_back(line_end);
  }
  int64 tasks() const { return static_cast<int64>(room.size()) - 1; }
  int64 work() const { return 4 * (room.back() + lines.back()); }
};

// The first `count` entries: as they lie where they fill half of the arrays or more, else a copy.
inline Array shortened(const Array& loose, int64 count) {
  if (2 * count >= loose.size()) return loose.slice(0, {count});
  Array result = Array::empty(loose.dtype, {count});
  std::memcpy(result.data, loose.data, result.nbytes());
  return result;
}

// Arrays of these types. write(arrays, t, to) writes the entries of task t from `to` on, sets start[i + 1] of each of
// its lines to where the line ends (there may be no lines), and returns where it stopped.
template <class F>
std::vector<Array> entries_in_order(const std::vector<DType>& types, const LineShares& shares, int64* start,
                                    const F& write) {
  const std::vector<int64>& room = shares.room;
  const int64 tasks = shares.tasks();
  std::vector<Array> arrays;
  for (const DType type : types) arrays.push_back(Array::empty(type, {room.back()}));
  std::vector<int64> ends(tasks + 1, 0);
  if (start) start[0] = 0;
  const int threads = thread_count_for(tasks, shares.work());
  if (threads == 1) {  // then no task leaves a gap behind it
    parallel_for(
        tasks, shares.work(), [&](int64 t) { ends[t + 1] = write(arrays, t, ends[t]); }, 1);
    for (Array& array : arrays) array = shortened(array, ends[tasks]);
    return arrays;
  }
  parallel_for(
      tasks, shares.work(), [&](int64 t) { ends[t + 1] = write(arrays, t, room[t]) - room[t]; }, threads);
  for (int64 t = 0; t < tasks; ++t) ends[t + 1] += ends[t];
  if (ends[tasks] == room.back()) return arrays;
  std::vector<Array> result;
  for (const DType type : types) result.push_back(Array::empty(type, {ends[tasks]}));
  parallel_for(tasks, shares.work(), [&](int64 t) {
    for (std::size_t k = 0; k < result.size(); ++k) {
      const int64 item = item_size(types[k]), bytes = (ends[t + 1] - ends[t]) * item;
      if (bytes > 0) std::memcpy(result[k].as<char>() + ends[t] * item, arrays[k].as<char>() + room[t] * item, bytes);
    }
    for (int64 i = shares.lines[t]; start && i < shares.lines[t + 1]; ++i) start[i + 1] -= room[t] - ends[t];
  });
  return result;
}

}  // namespace diagsparse
