// Rows of csr on the CPU: loops over chunks of rows, and detection of rows with the same offsets.
#pragma once

#include <atomic>
#include <cstring>
#include <numeric>

#include "core/compressed_rows.hpp"
#include "core/convert.hpp"
#include "cpu/parallel.hpp"

namespace diagsparse {

// The index arrays of a csr matrix, without values.
inline Csr<float> structure_of(const Matrix& csr) {
  return {csr.rows, csr.cols, csr.index("indptr").as<int64>(), csr.index("indices").as<std::int32_t>(), nullptr};
}

// Builds a csr matrix: count(lengths) sets the lengths of the rows, which are 0 before, and write(start, columns,
// values) writes the entries, those of row i from start[i] on.
template <class Count, class Write>
Matrix csr_by_rows(int64 rows, int64 cols, DType dtype, const Count& count, const Write& write) {
  Array indptr = Array::zeros(DType::i64, {rows + 1});
  int64* const start = indptr.as<int64>();
  count(start + 1);
  std::partial_sum(start, start + rows + 1, start);
  Array columns = Array::empty(DType::i32, {start[rows]}), values = Array::empty(dtype, {start[rows]});
  with_value_type(
      dtype, [&]<class T>(T) { write(static_cast<const int64*>(start), columns.as<std::int32_t>(), values.as<T>()); });
  return compressed(*common, rows, cols, std::move(columns), std::move(indptr), std::move(values));
}

constexpr int64 kRows = 16384;  // rows between two checks for interrupts, or of a task

// key(row, column) of every entry, sorted: for counting where a table of all keys would be large.
template <class Key>
auto sorted_keys(const Csr<float>& a, const Key& key) {
  std::vector<decltype(key(int64{}, int64{}))> keys;
  keys.reserve(a.indptr[a.rows]);
  for (int64 i = 0; i < a.rows; ++i) {
    if (i % kRows == kRows - 1) checkpoint();
    for (int64 e = a.indptr[i]; e < a.indptr[i + 1]; ++e) keys.push_back(key(i, int64{a.indices[e]}));
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

// The number of workers for a loop over rows, at most `most`.
inline int64 workers_for(int64 most) { return std::clamp<int64>(most, 1, concurrent_tasks()); }

// Calls f(worker, first, last) for chunks of rows that hold about the same number of entries. Each of at most `workers`
// workers runs on one thread, may have memory of its own, and processes chunks in ascending order until none is left.
// The result must not depend on which worker processed a chunk. Chunks start at multiples of `height`.
template <class T, class F>
void for_rows(const Csr<T>& a, int64 workers, int64 height, const F& f) {
  const int64 work = a.indptr[a.rows] + a.rows, chunks = tasks_for(work);
  const auto row = [&](int64 block) { return std::min(a.rows, block * height); };
  const auto before = [&](int64 block) { return a.indptr[row(block)] + row(block); };
  const auto start = [&](int64 p) { return row(border((a.rows + height - 1) / height, work, chunks, p, before)); };
  std::atomic<int64> next = 0;
  parallel_for(workers, work, [&](int64 worker) {
    for (int64 p; (p = next.fetch_add(1, std::memory_order_relaxed)) < chunks;) {
      checkpoint();
      f(worker, start(p), start(p + 1));
    }
  });
}

// Whether the columns of each of the rows [first, last), shifted by `by`, are the columns of the row `by` below it. The
// loops run over the entries of all rows at once, since rows are often short.
template <class T>
[[gnu::always_inline]] inline bool columns_repeat(const Csr<T>& a, int64 first, int64 last, int64 by) {
  const int64 begin = a.indptr[first], end = a.indptr[last], ahead = a.indptr[first + by] - begin;
  for (int64 i = first + 1; i <= last; ++i) {
    if (a.indptr[i + by] - a.indptr[i] != ahead) return false;
  }
  const std::int32_t *upper = a.indices, *lower = upper + ahead;
  std::uint32_t differ = 0;
  for (int64 e = begin; e < end; ++e) {
    differ |= static_cast<std::uint32_t>(lower[e] - upper[e]) ^ static_cast<std::uint32_t>(by);
  }
  return differ == 0;
}

// Whether each of the rows [first, last) equals the row `by` below it, bitwise and entirely.
template <class T>
[[gnu::always_inline]] inline bool rows_repeat(const Csr<T>& a, int64 first, int64 last, int64 by) {
  if (!columns_repeat(a, first, last, by)) return false;
  const int64 begin = a.indptr[first], count = a.indptr[last] - begin;
  return std::memcmp(a.values + begin, a.values + a.indptr[first + by], count * sizeof(T)) == 0;
}

constexpr int64 kRowsAtOnce = 64;

// The end of the run of rows that repeat row `end` - 1; at most `last`. repeat(first, last) is whether each of these
// rows repeats in the row below it.
template <class Repeat>
[[gnu::noinline]] int64 end_of_repeated(int64 end, int64 last, const Repeat& repeat) {
  for (int64 step = 1; step > 0;) {
    if (end + step <= last && repeat(end - 1, end - 1 + step)) {
      end += step;
      step = std::min(2 * step, kRowsAtOnce);
    } else {
      step /= 2;
    }
  }
  return end;
}

// Calls f(i, rows) for each run in [first, last): the `rows` rows from row i on have the same offsets.
template <class T, class F>
void for_repeated_rows(const Csr<T>& a, int64 first, int64 last, const F& f) {
  for (int64 i = first, end; i < last; i = end) {
    end = i + 1;
    const auto repeat = [&](int64 from, int64 to) { return columns_repeat(a, from, to, 1); };
    if (end < last && repeat(i, end)) end = end_of_repeated(end + 1, last, repeat);
    f(i, end - i);
  }
}

}  // namespace diagsparse
