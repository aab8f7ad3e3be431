// Rows of csr on the CPU: as tasks, and those that repeat others.
#pragma once

#include <atomic>

#include "core/compressed_rows.hpp"
#include "cpu/parallel.hpp"

namespace diagsparse {

// What says where the entries lie.
inline Csr<float> structure_of(const Matrix& csr) {
  return {csr.rows, csr.cols, csr.index("indptr").as<int64>(), csr.index("indices").as<std::int32_t>(), nullptr};
}

// How many shares to look at rows in, `most` at most.
inline int64 shares_for(int64 most) { return std::clamp<int64>(most, 1, concurrent_tasks()); }

// Calls f(share, first, last) for pieces of all rows that hold about as many entries each. A share, of at most
// `shares`, has one thread and may have memory of its own: it takes piece after piece, in order, as long as there are
// any. So what is found must not depend on which share took a piece. Pieces start at multiples of `height`.
template <class T, class F>
void for_rows(const Csr<T>& a, int64 shares, int64 height, const F& f) {
  const int64 work = a.indptr[a.rows] + a.rows, pieces = tasks_for(work);
  const auto row = [&](int64 block) { return std::min(a.rows, block * height); };
  const auto before = [&](int64 block) { return a.indptr[row(block)] + row(block); };
  const auto start = [&](int64 p) { return row(border((a.rows + height - 1) / height, work, pieces, p, before)); };
  std::atomic<int64> next = 0;
  parallel_for(shares, work, [&](int64 share) {
    for (int64 p; (p = next.fetch_add(1, std::memory_order_relaxed)) < pieces;) {
      checkpoint();
      f(share, start(p), start(p + 1));
    }
  });
}

// Whether each of the rows [first, last) has its columns, `by` further, in the row `by` below it: in loops over all of
// their entries, since rows are often short.
template <class T>
[[gnu::always_inline]] inline bool columns_repeat(const Csr<T>& a, int64 first, int64 last, int64 by) {
  const int64 begin = a.indptr[first], end = a.indptr[last], ahead = a.indptr[first + by] - begin;
  for (int64 i = first + 1; i <= last; ++i) {
    if (a.indptr[i + by] - a.indptr[i] != ahead) return false;
  }
  const std::int32_t *here = a.indices, *there = here + ahead;
  std::uint32_t differ = 0;
  for (int64 e = begin; e < end; ++e) {
    differ |= static_cast<std::uint32_t>(there[e] - here[e]) ^ static_cast<std::uint32_t>(by);
  }
  return differ == 0;
}

constexpr int64 kRowsAtOnce = 64;

// Where the rows end that have the offsets of row `end` - 1, before row `last`.
template <class T>
[[gnu::noinline]] int64 end_of_repeated(const Csr<T>& a, int64 end, int64 last) {
  for (int64 step = 1; step > 0;) {
    if (end + step <= last && columns_repeat(a, end - 1, end - 1 + step, 1)) {
      end += step;
      step = std::min(2 * step, kRowsAtOnce);
    } else {
      step /= 2;
    }
  }
  return end;
}

// Calls f(i, rows) for all rows of [first, last): the rows from i on have the offsets of row i, `rows` of them.
template <class T, class F>
void for_repeated_rows(const Csr<T>& a, int64 first, int64 last, const F& f) {
  for (int64 i = first, end; i < last; i = end) {
    end = i + 1;
    if (end < last && columns_repeat(a, i, end, 1)) end = end_of_repeated(a, end + 1, last);
    f(i, end - i);
  }
}

}  // namespace diagsparse
