// Concatenates entries that tasks write, when the number of entries of each task is not known in advance.
#pragma once

#include <cstring>
#include <vector>

#include "core/array.hpp"
#include "cpu/parallel.hpp"

namespace diagsparse {

// How entries are divided: task t writes lines [lines[t], lines[t + 1]), at most slots[t + 1] - slots[t] entries.
struct LineChunks {
  std::vector<int64> slots{0}, lines{0};

  void add(int64 slots_end, int64 line_end) {
    slots.push_back(slots_end);
    lines.push_back(line_end);
  }
  int64 tasks() const { return static_cast<int64>(slots.size()) - 1; }
  int64 work() const { return 4 * (slots.back() + lines.back()); }
};

// The first `count` entries: a view if they fill at least half of the array, otherwise a copy.
inline Array shortened(const Array& loose, int64 count) {
  if (2 * count >= loose.size()) return loose.slice(0, {count});
  Array result = Array::empty(loose.dtype, {count});
  std::memcpy(result.data, loose.data, result.nbytes());
  return result;
}

// Returns arrays of these types. write(arrays, t, to) writes the entries of task t to positions from `to` on, sets
// start[i + 1] to the end of each of its lines i (`start` is null if there are no lines), and returns the end position.
template <class F>
std::vector<Array> entries_in_order(const std::vector<DType>& types, const LineChunks& chunks, int64* start,
                                    const F& write) {
  const std::vector<int64>& slots = chunks.slots;
  const int64 tasks = chunks.tasks();
  std::vector<Array> arrays;
  for (const DType type : types) arrays.push_back(Array::empty(type, {slots.back()}));
  std::vector<int64> ends(tasks + 1, 0);
  if (start) start[0] = 0;
  const int threads = thread_count_for(tasks, chunks.work());
  if (threads == 1) {  // then no task leaves a gap
    parallel_for(
        tasks, chunks.work(), [&](int64 t) { ends[t + 1] = write(arrays, t, ends[t]); }, 1);
    for (Array& array : arrays) array = shortened(array, ends[tasks]);
    return arrays;
  }
  parallel_for(
      tasks, chunks.work(), [&](int64 t) { ends[t + 1] = write(arrays, t, slots[t]) - slots[t]; }, threads);
  for (int64 t = 0; t < tasks; ++t) ends[t + 1] += ends[t];
  if (ends[tasks] == slots.back()) return arrays;
  std::vector<Array> result;
  for (const DType type : types) result.push_back(Array::empty(type, {ends[tasks]}));
  parallel_for(tasks, chunks.work(), [&](int64 t) {
    for (std::size_t k = 0; k < result.size(); ++k) {
      const int64 item = item_size(types[k]), bytes = (ends[t + 1] - ends[t]) * item;
      if (bytes > 0) std::memcpy(result[k].as<char>() + ends[t] * item, arrays[k].as<char>() + slots[t] * item, bytes);
    }
    for (int64 i = chunks.lines[t]; start && i < chunks.lines[t + 1]; ++i) start[i + 1] -= slots[t] - ends[t];
  });
  return result;
}

}  // namespace diagsparse
