// What is asked of a matrix before it is converted, on the CPU.
#include <algorithm>
#include <atomic>
#include <map>

#include "core/convert.hpp"
#include "core/entry.hpp"
#include "cpu/parallel.hpp"

namespace diagsparse {

namespace {

constexpr int64 kRows = 16384;  // rows a task
constexpr int64 kAsked = 512;   // rows a task, where each entry looks for others

Csr<float> structure_of(const Matrix& csr) {
  return {csr.rows, csr.cols, csr.index("indptr").as<int64>(), csr.index("indices").as<std::int32_t>(), nullptr};
}

// Calls f(offset) for every entry.
template <class F>
void for_each_offset(const Csr<float>& a, const F& f) {
  for (int64 i = 0; i < a.rows; ++i) {
    if (i % kRows == kRows - 1) checkpoint();
    for (int64 e = a.indptr[i]; e < a.indptr[i + 1]; ++e) f(a.indices[e] - i);
  }
}

std::vector<std::int32_t> entries_of_rows(const Matrix& a, Op op) {
  std::vector<std::int32_t> counts(op.transposed ? a.cols : a.rows, 0);
  const auto rows = static_cast<int64>(counts.size());
  const int64 tasks = (rows + kRows - 1) / kRows;
  const auto* layout = dynamic_cast<const Layout*>(a.structure.get());
  if (layout == nullptr) {
    const int64* start = a.index("indptr").as<int64>();
    for (int64 i = 0; i < rows; ++i) counts[i] = static_cast<std::int32_t>(start[i + 1] - start[i]);
    return counts;
  }
  const std::vector<Span> spans = packed_spans_of(*layout, op);
  const int64 period = layout->packing.period;
  with_stored_type(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* values = a.values.as<const T>();
    parallel_for(tasks, a.structure->stored(), [&](int64 task) {
      for (const Span& s : spans) {
        const Elements elements{s.start, s.phase, period};
        const int64 first = std::max(task * kRows, s.row), last = std::min((task + 1) * kRows, s.row + s.length);
        for (int64 i = first; i < last; ++i) counts[i] += !is_zero(values[elements.at(i - s.row)]);
      }
    });
  });
  return counts;
}

}  // namespace

RowLengths count_row_lengths(const Matrix& a, Op op) {
  std::map<int64, int64> rows;
  const std::vector<std::int32_t> counts = entries_of_rows(a, op);
  for (std::size_t i = 0, first; i < counts.size(); rows[counts[first]] += static_cast<int64>(i - first)) {
    for (first = i; i < counts.size() && counts[i] == counts[first];) ++i;
  }
  return {rows.begin(), rows.end()};
}

OccupiedDiagonals find_occupied_diagonals(const Matrix& csr) {
  const Csr<float> a = structure_of(csr);
  OccupiedDiagonals found;
  if (!table_pays(a.rows, a.cols, csr.values.size())) {
    std::vector<int64> all;
    all.reserve(csr.values.size());
    for_each_offset(a, [&](int64 offset) { all.push_back(offset); });
    std::sort(all.begin(), all.end());
    for (std::size_t e = 0, first = 0; e < all.size(); first = e) {
      while (e < all.size() && all[e] == all[first]) ++e;
      found.offsets.push_back(all[first]);
      found.entries.push_back(static_cast<int64>(e - first));
    }
    return found;
  }
  std::vector<std::int32_t> counts(std::max<int64>(0, a.rows + a.cols - 1), 0);
  for_each_offset(a, [&](int64 offset) { ++counts[offset + a.rows - 1]; });
  for (int64 d = 0; d < static_cast<int64>(counts.size()); ++d) {
    if (counts[d] == 0) continue;
    found.offsets.push_back(d - a.rows + 1);
    found.entries.push_back(counts[d]);
  }
  return found;
}

int64 count_blocks(const Matrix& csr, int64 size) {
  std::atomic<int64> blocks = 0;
  const Csr<float> a = structure_of(csr);
  parallel_for((a.rows + kAsked - 1) / kAsked, 4 * csr.values.size(), [&](int64 task) {
    int64 mine = 0;
    for (int64 i = task * kAsked; i < std::min(a.rows, (task + 1) * kAsked); ++i) {
      for (int64 e = a.indptr[i]; e < a.indptr[i + 1]; ++e) mine += opens_block(a, i, e, size);
    }
    blocks += mine;
  });
  return blocks;
}

unsigned broken_symmetries(const Matrix& csr) {
  std::atomic<unsigned> broken = 0;
  with_value_type(csr.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto a = Csr<T>::of(csr);
    parallel_for((a.rows + kAsked - 1) / kAsked, 4 * csr.values.size(), [&](int64 task) {
      unsigned mine = broken;
      const int64 last = std::min(a.rows, (task + 1) * kAsked);
      for (int64 i = task * kAsked; i < last && mine != kEverySymmetry; ++i) {
        for (int64 e = a.indptr[i]; e < a.indptr[i + 1]; ++e) mine |= symmetries_broken_by(a, i, e);
      }
      broken |= mine;
    });
  });
  return broken;
}

}  // namespace diagsparse
