// What a summary asks of a matrix: counts, and where entries lie. On the CPU in cpu/, on the GPU in ../cuda.
#pragma once

#include "core/columns.hpp"
#include "core/format.hpp"

namespace diagsparse {

// How many stored values are not 0: of each diagonal of the matrix, those that packed storage mirrors or repeats among
// them, by ascending offset; of the other formats, which must have no padding, one number.
std::vector<int64> count_nonzero(const Matrix& a);

// Neighbouring values, and how many values that are not 0 each run holds. Each device's own.
struct ValueRun {
  int64 start, length;
};
std::vector<int64> count_runs(const Matrix& a, const std::vector<ValueRun>& runs);

// ---- Places of entries ------------------------------------------------------------------------------
// What follows from the places of the entries of op(a) alone is found on csr once, and kept with the structure of `a`.
// Of a matrix by diagonals the values count too: row_lengths reads them, for the rest it has to be csr.

// The offsets of the diagonals on which entries lie, ascending, and how many lie on each.
const std::vector<int64>& occupied_diagonals(const Matrix& a, Op op);
const std::vector<int64>& entries_on_diagonals(const Matrix& a, Op op);
std::vector<int64> find_occupied_diagonals(const Matrix& csr);  // each device's own
std::vector<int64> count_on_diagonals(const Matrix& csr);       // each device's own

// The distinct lengths of the rows, ascending, and how many rows have each; of diagonals zeros do not count.
using RowLengths = std::vector<std::pair<int64, int64>>;
RowLengths row_lengths(const Matrix& a, Op op);
int64 longest_row(const Matrix& csr);

// Which entries of a row lead: the first `entries`, as far as they lie in columns below `column`, and up to the first
// one that lies more than `reach` columns after the first of its chunk (core/columns.hpp). `lower`: those below the
// diagonal alone, each of which stands for its mirror image too.
struct Leading {
  int64 entries = kAnyExtent;
  int64 column = kAnyExtent;
  int64 reach = kAnyExtent;
  bool lower = false;

  // How many of the ascending columns of a row do.
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

  // How many of them are stored: all but the mirror images of those that lead.
  constexpr int64 kept(int64 row, const std::int32_t* columns, int64 count) const {
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
// How many lead of the row with most of them, and of all rows.
struct LeadingEntries {
  int64 longest, all;
};
LeadingEntries leading_entries(const Matrix& a, Op op, Leading leading);
LeadingEntries count_leading(const Matrix& csr, Leading leading);  // each device's own
RowLengths count_row_lengths(const Matrix& a, Op op);  // of csr as it is, or of diagonals; each device's own

// How many size x size blocks hold entries; std::invalid_argument for sizes beyond 64.
constexpr int64 kLargestBlock = 64;
int64 occupied_blocks(const Matrix& a, Op op, int64 size);
int64 count_blocks(const Matrix& csr, int64 size);  // each device's own

// Which of the symmetries of core/symmetry.hpp the values of a csr matrix have; stored zeros do not count.
unsigned symmetries(const Matrix& csr);
unsigned broken_symmetries(const Matrix& csr);  // of a square one; each device's own

// Whether every diagonal of a csr matrix, with its zeros, repeats after `period` rows; it may be shorter than that.
// What is no number is the same as any other.
bool repeats_after(const Matrix& csr, int64 period);
bool rows_repeat_after(const Matrix& csr, int64 period);  // shorter than both sides; each device's own

// Whether a table of all diagonals of a matrix is worth its bytes beside `entries`: else those that occur are listed.
inline bool table_pays(int64 rows, int64 cols, int64 entries) { return rows + cols <= 8 * entries + (1 << 16); }

// What `compute` returns for op(a) as csr, computed once and cached as long as the structure lives.
template <class Compute>
auto& cached_statistic(const Matrix& a, Op op, const std::string& name, const Compute& compute) {
  using Statistic = decltype(compute(a));
  // The format is part of the key, since csr and the csc of its transpose share their caches.
  const std::string key = name + (op.transposed ? " of the transpose of " : " of ") + a.format;
  return *a.cache().template get<Statistic>(key, [&] {
    return std::make_shared<Statistic>(compute(convert(a, {op.transposed, false}, common->name)));
  });
}

}  // namespace diagsparse
