// Conversions between csr, csc and coo on the CPU, including those that change between rows and columns.
#include <algorithm>
#include <vector>

#include "cpu/csr_rows.hpp"
#include "cpu/parallel.hpp"
#include "cpu/values.hpp"

namespace diagsparse {

namespace {

constexpr int64 kPerCheckpoint = 1 << 12;  // lines between two checks for interrupts
constexpr int64 kLines = 1 << 14;          // lines of a task
constexpr int64 kVector = 8;               // entries that are numbered at once

// Sorted entries: line i (a row or a column) has the indices [indptr[i], indptr[i + 1]).
struct Lines {
  Array indptr, indices;
};

// The pointers to the start of each line, from ascending line numbers.
Array pointers_of(const Array& lines, int64 extent) {
  Array indptr = Array::empty(DType::i64, {extent + 1});
  int64* start = indptr.as<int64>();
  const auto* line = lines.as<std::int32_t>();
  int64 i = 0;
  for (int64 e = 0; e < lines.size(); ++e) {
    while (i <= line[e]) start[i++] = e;
  }
  while (i <= extent) start[i++] = lines.size();
  return indptr;
}

// The line number of each entry.
Array line_numbers(const Array& indptr, int64 count) {
  Array lines = Array::empty(DType::i32, {count});
  const int64* start = indptr.as<int64>();
  auto* line = lines.as<std::int32_t>();
  const int64 extent = indptr.size() - 1, tasks = (extent + kLines - 1) / kLines;
  parallel_for(tasks, count + extent, [&](int64 task) {
    const int64 last = std::min(extent, (task + 1) * kLines), end = start[last];
    for (int64 i = task * kLines; i < last; ++i) {
      const auto number = static_cast<std::int32_t>(i);
      // Whole vectors first: short lines need no loop, and the next ones overwrite what is too much.
      int64 e = start[i];
      do {
        if (e + kVector > end) {
          std::fill(line + e, line + start[i + 1], number);
          break;
        }
        std::fill_n(line + e, kVector, number);
      } while ((e += kVector) < start[i + 1]);
    }
  });
  return lines;
}

bool by_columns(const Matrix& a, Op op) { return entry_format(a.format).by_column != op.transposed; }

Lines lines_of(const Matrix& a) {
  if (!entry_format(a.format).pointers) return {pointers_of(a.index("row"), a.rows), a.index("col")};
  return {a.index("indptr"), a.index("indices")};
}

// Calls f(e, line) for each entry, in order.
template <class F>
void for_each_entry(const Matrix& a, const F& f) {
  const int64 count = a.values.size();
  if (!entry_format(a.format).pointers) {
    const auto* row = a.index("row").as<std::int32_t>();
    for (int64 e = 0; e < count; ++e) {
      if (e % kPerCheckpoint == 0) checkpoint();
      f(e, row[e]);
    }
    return;
  }
  const Array& indptr = a.index("indptr");
  const int64* start = indptr.as<int64>();
  for (int64 i = 0; i + 1 < indptr.size(); ++i) {
    if (i % kPerCheckpoint == 0) checkpoint();
    for (int64 e = start[i]; e < start[i + 1]; ++e) f(e, static_cast<std::int32_t>(i));
  }
}

// Sorts the entries by their other index, which is below `extent`, with a stable counting sort. The type I counts
// entries.
template <class T, class I>
Lines transpose_lines(const Matrix& a, Array& values, int64 extent) {
  const int64 count = values.size();
  Lines result{Array::empty(DType::i64, {extent + 1}), Array::empty(DType::i32, {count})};
  const auto* index = a.index(entry_format(a.format).pointers ? "indices" : "col").as<std::int32_t>();
  std::vector<I> next(extent, 0);
  for (int64 e = 0; e < count; ++e) ++next[index[e]];
  int64* start = result.indptr.as<int64>();
  int64 sum = 0;
  for (int64 i = 0; i < extent; ++i) {
    start[i] = sum;
    sum += next[i];
    next[i] = static_cast<I>(start[i]);
  }
  start[extent] = count;
  Array sorted = Array::empty(values.dtype, {count});
  const T* from = values.as<T>();
  auto* line = result.indices.as<std::int32_t>();
  T* to = sorted.as<T>();
  I* const position_of = next.data();
  for_each_entry(a, [=](int64 e, std::int32_t i) {
    const auto position = position_of[index[e]]++;
    line[position] = i;
    to[position] = from[e];
  });
  values = std::move(sorted);
  return result;
}

}  // namespace

Matrix convert_entries(const Matrix& a, Op op, const Format& target) {
  const auto& format = static_cast<const EntryFormat&>(target);
  const int64 rows = op.transposed ? a.cols : a.rows, cols = op.transposed ? a.rows : a.cols;
  Array values = op.conjugated ? values_as(a.dtype, a.values, true) : a.values;
  const Lines lines = with_value_type(a.dtype, [&]<class T>(T) {
    if (by_columns(a, op) == format.by_column) return lines_of(a);
    const int64 extent = format.by_column ? cols : rows;
    return values.size() < int64{1} << 32 ? transpose_lines<T, std::uint32_t>(a, values, extent)
                                          : transpose_lines<T, int64>(a, values, extent);
  });
  if (format.pointers) return compressed(format, rows, cols, lines.indices, lines.indptr, std::move(values));
  const int64 count = values.size();
  std::vector<Part> parts{{"row", line_numbers(lines.indptr, count)}, {"col", lines.indices}};
  return {std::make_shared<const Indices>(format.name, rows, cols, std::move(parts), count), std::move(values)};
}

Matrix rest_of_rows(const Matrix& csr, int64 width) {
  const auto* const from = csr.index("indptr").as<int64>();
  const auto count = [&](int64* lengths) {
    for (int64 i = 0; i < csr.rows; ++i) lengths[i] = std::max<int64>(0, from[i + 1] - from[i] - width);
  };
  const auto write = [&]<class T>(const int64* start, std::int32_t* columns, T* values) {
    const Csr<T> a = Csr<T>::of(csr);
    for (int64 i = 0; i < csr.rows; ++i) {
      if (i % kPerCheckpoint == 0) checkpoint();
      if (start[i] == start[i + 1]) continue;
      std::copy(a.indices + from[i] + width, a.indices + from[i + 1], columns + start[i]);
      std::copy(a.values + from[i] + width, a.values + from[i + 1], values + start[i]);
    }
  };
  return csr_by_rows(csr.rows, csr.cols, csr.dtype, count, write);
}

}  // namespace diagsparse
