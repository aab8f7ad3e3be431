// Statistics of a matrix: counts and positions of entries. Implemented in cpu/ for the CPU, in ../cuda for the GPU.
#pragma once

#include "core/columns.hpp"
#include "core/format.hpp"

namespace diagsparse {

// The number of stored values that are not 0. For diagonal formats: of each diagonal by ascending offset, including
// those that packed storage mirrors or repeats. For other formats, which must not have padding: a single number.
std::vector<int64> count_nonzero(const Matrix& a);

// A run of consecutive values; count_runs counts the nonzero values in each run. Implemented by each backend.
struct ValueRun {
  int64 start, length;
};
std::vector<int64> count_runs(const Matrix& a, const std::vector<ValueRun>& runs);

// ---- Positions of entries ---------------------------------------------------------------------------
// Statistics that depend only on the positions of the entries of op(a) are computed on csr once, and cached with the
// structure of `a`. For diagonal formats they would depend on the values, too: row_lengths reads these, and the other
// functions need csr.

// The offsets of the diagonals that have entries, ascending, and the number of entries on each.
const std::vector<int64>& occupied_diagonals(const Matrix& a, Op op);
const std::vector<int64>& entries_on_diagonals(const Matrix& a, Op op);
std::vector<int64> find_occupied_diagonals(const Matrix& csr);  // implemented by each backend
std::vector<int64> count_on_diagonals(const Matrix& csr);       // implemented by each backend

// The distinct lengths of the rows, ascending, and the number of rows of each length. For diagonals, zeros do not
// count.
using RowLengths = std::vector<std::pair<int64, int64>>;
RowLengths row_lengths(const Matrix& a, Op op);
int64 longest_row(const Matrix& csr);

// Selects the leading entries of each row: at most `entries`, in columns below `column`, up to the first entry more
// than `reach` columns after the first one of its chunk (core/columns.hpp). If `lower`, only entries below the
// diagonal, each of which also stands for its mirror image.
struct Leading {
  int64 entries = kAnyExtent;
  int64 column = kAnyExtent;
  int64 reach = kAnyExtent;
  bool lower = false;

  // The number of leading entries among the ascending columns of a row.
  constexpr int64 of(int64 row, const std::int32_t* columns, int64 count) const {
    const int64 end = lower && row < column ? row : column;
    count = count < entries ? count : entries;
    if (count > 0 && columns[count - 1] >= end) count = below(columns, 0, count, end);
    for (int64 chunk = 0; reach < kAnyExtent && chunk < count; chunk += kChunk) {
      const int64 end = chunk + kChunk < count ? chunk + kChunk : count, limit = columns[chunk] + reach + 1;
      if (columns[end - 1] >= limit) return below(columns, chunk, end, limit);
    }
    return count;
  }

  // The number of entries of the row that are stored: all but the mirror images of leading entries.
  constexpr int64 count_stored(int64 row, const std::int32_t* columns, int64 count) const {
    return lower && row < column ? below(columns, 0, count, row + 1) : count;
  }

 private:
  static constexpr int64 below(const std::int32_t* columns, int64 first, int64 last, int64 limit) {
    while (first < last) {
      const int64 middle = (first + last) / 2;
      if (columns[middle] < limit) first = middle + 1;
      else last = middle;
    }
    return first;
  }
};
// The number of leading entries in the row with the most of them, and in all rows.
struct LeadingEntries {
  int64 longest, all;
};
LeadingEntries leading_entries(const Matrix& a, Op op, Leading leading);
LeadingEntries count_leading(const Matrix& csr, Leading leading);  // implemented by each backend
RowLengths count_row_lengths(const Matrix& a, Op op);              // of csr or diagonals; implemented by each backend

// The number of size x size blocks that have entries; std::invalid_argument for sizes above 64.
constexpr int64 kLargestBlock = 64;
int64 occupied_blocks(const Matrix& a, Op op, int64 size);
int64 count_blocks(const Matrix& csr, int64 size);  // implemented by each backend

// The symmetries (core/symmetry.hpp) of the values of a csr matrix; stored zeros do not count.
unsigned symmetries(const Matrix& csr);
unsigned broken_symmetries(const Matrix& csr);  // of a square matrix; implemented by each backend

// Whether every diagonal of a csr matrix, including its zeros, repeats after `period` rows or is shorter than that. All
// NaNs count as the same.
bool repeats_after(const Matrix& csr, int64 period);
bool rows_repeat_after(const Matrix& csr, int64 period);  // period < rows and columns; implemented by each backend

// Whether a table of all diagonals is small compared to `entries`; otherwise the diagonals that occur are listed.
inline bool table_is_worthwhile(int64 rows, int64 cols, int64 entries) {
  return rows + cols <= 8 * entries + (1 << 16);
}

// compute(op(a) as csr), called once and cached for the lifetime of the structure.
template <class Compute>
auto& cached_statistic(const Matrix& a, Op op, const std::string& name, const Compute& compute) {
  using Statistic = decltype(compute(a));
  // The format is part of the key because csr and the csc of its transpose share a cache.
  const std::string key = name + (op.transposed ? " of the transpose of " : " of ") + a.format;
  return *a.cache().template get<Statistic>(key, [&] {
    return std::make_shared<Statistic>(compute(convert(a, {op.transposed, false}, common->name)));
  });
}

}  // namespace diagsparse
