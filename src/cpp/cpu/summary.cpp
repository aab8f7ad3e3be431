// What is asked of a matrix before it is converted, on the CPU.
#include "core/summary.hpp"

#include <algorithm>
#include <atomic>
#include <map>

#include "core/symmetry.hpp"
#include "cpu/parallel.hpp"
#include "formats/csr.hpp"

namespace diagsparse {

namespace {

constexpr int64 kRows = 16384;  // rows a task

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

// The offset of every entry, ascending.
std::vector<int64> sorted_offsets(const Csr<float>& a, int64 entries) {
  std::vector<int64> all;
  all.reserve(entries);
  for_each_offset(a, [&](int64 offset) { all.push_back(offset); });
  std::sort(all.begin(), all.end());
  return all;
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

LeadingEntries count_leading(const Matrix& csr, Leading leading) {
  const Csr<float> a = structure_of(csr);
  LeadingEntries found{0, 0};
  for (int64 i = 0; i < a.rows; ++i) {
    if (i % kRows == kRows - 1) checkpoint();
    const int64 count = leading.of(i, a.indices + a.indptr[i], a.indptr[i + 1] - a.indptr[i]);
    found = {std::max(found.longest, count), found.all + count};
  }
  return found;
}

std::vector<int64> find_occupied_diagonals(const Matrix& csr) {
  const Csr<float> a = structure_of(csr);
  std::vector<int64> found;
  if (!table_pays(a.rows, a.cols, csr.values.size())) {
    found = sorted_offsets(a, csr.values.size());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }
  std::vector<char> occupied(std::max<int64>(0, a.rows + a.cols - 1), 0);
  for_each_offset(a, [&](int64 offset) { occupied[offset + a.rows - 1] = 1; });
  for (int64 d = 0; d < static_cast<int64>(occupied.size()); ++d) {
    if (occupied[d]) found.push_back(d - a.rows + 1);
  }
  return found;
}

std::vector<int64> count_on_diagonals(const Matrix& csr) {
  const Csr<float> a = structure_of(csr);
  std::vector<int64> counts;
  if (!table_pays(a.rows, a.cols, csr.values.size())) {
    const std::vector<int64> all = sorted_offsets(a, csr.values.size());
    for (std::size_t e = 0, first = 0; e < all.size(); first = e) {
      while (e < all.size() && all[e] == all[first]) ++e;
      counts.push_back(static_cast<int64>(e - first));
    }
    return counts;
  }
  counts.resize(std::max<int64>(0, a.rows + a.cols - 1));
  for_each_offset(a, [&](int64 offset) { ++counts[offset + a.rows - 1]; });
  counts.erase(std::remove(counts.begin(), counts.end(), 0), counts.end());
  return counts;
}

int64 count_blocks(const Matrix& csr, int64 size) {
  const Csr<float> a = structure_of(csr);
  const int64 down = (a.rows + size - 1) / size, across = (a.cols + size - 1) / size, count = csr.values.size();
  const auto side = static_cast<std::uint32_t>(size);
  const auto column_of = [&](int64 e) { return static_cast<std::uint32_t>(a.indices[e]) / side; };
  if (!table_pays(down, across, count)) {
    std::vector<std::pair<int64, std::uint32_t>> all;
    for (int64 i = 0; i < a.rows; ++i) {
      if (i % kRows == kRows - 1) checkpoint();
      for (int64 e = a.indptr[i]; e < a.indptr[i + 1]; ++e) all.emplace_back(i / size, column_of(e));
    }
    std::sort(all.begin(), all.end());
    return std::unique(all.begin(), all.end()) - all.begin();
  }
  std::atomic<int64> blocks = 0;
  const int64 tasks = count < kSerialWork ? 1 : std::clamp<int64>(count / across, 1, concurrent_tasks());
  parallel_for(tasks, count, [&](int64 task) {
    std::vector<std::int32_t> last(across, -1);  // of each column of blocks: the last row of them with an entry there
    int64 mine = 0;
    for (int64 row = down * task / tasks; row < down * (task + 1) / tasks; ++row) {
      const int64 end = a.indptr[std::min(a.rows, (row + 1) * size)];
      for (int64 e = a.indptr[row * size]; e < end; ++e) {
        std::int32_t& met = last[column_of(e)];
        mine += met != row;
        met = static_cast<std::int32_t>(row);
      }
    }
    blocks += mine;
  });
  return blocks;
}

namespace {

// Entry (i, j) above the diagonal meets the first of row j that none has met: where there is a mirror image, it is
// that.
template <class T>
unsigned broken_by_entries(const Csr<T>& a) {
  std::vector<int64> next(a.indptr, a.indptr + a.rows);
  const auto first_unmet = [&](int64 i) {
    while (next[i] < a.indptr[i + 1] && is_zero(a.values[next[i]])) ++next[i];
    return next[i];
  };
  unsigned broken = 0;
  for (int64 i = 0; i < a.rows && broken != kEverySymmetry; ++i) {
    if (i % kRows == kRows - 1) checkpoint();
    const int64 end = a.indptr[i + 1];
    int64 e = first_unmet(i);
    if (e < end && a.indices[e] < i) return kEverySymmetry;
    for (; e < end; ++e) {
      if (is_zero(a.values[e])) continue;
      const int64 j = a.indices[e], mirror = j == i ? e : first_unmet(j);
      if (mirror == a.indptr[j + 1] || a.indices[mirror] != i) return kEverySymmetry;
      broken |= symmetries_broken_by(a.values[e], a.values[mirror]);
      if (j > i) ++next[j];
    }
  }
  return broken;
}

}  // namespace

unsigned broken_symmetries(const Matrix& csr) {
  return with_value_type(csr.dtype, [&](auto zero) { return broken_by_entries(Csr<decltype(zero)>::of(csr)); });
}

}  // namespace diagsparse
