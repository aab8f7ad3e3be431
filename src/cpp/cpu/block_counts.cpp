// Counts blocks that are diagonals, and blocks of variable size, in a csr matrix.
#include "cpu/block_counts.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

#include "core/summary.hpp"
#include "cpu/csr_rows.hpp"

namespace diagsparse {

// ---- Blocks that are diagonals -----------------------------------------------------------------------

namespace {

// The blocks in the rows [first, last), which start with a strip. last_strip[d] is the last strip with an entry on
// diagonal d. Rows with the same offsets as the previous row are not read again.
int64 block_diagonals_in(const Csr<float> a, int64 first, int64 last, int64 height, std::int32_t* last_strip) {
  int64 blocks = 0;
  for_repeated_rows(a, first, last, [=, &blocks](int64 i, int64 rows) {
    const auto begin = static_cast<std::int32_t>(i / height), end = static_cast<std::int32_t>((i + rows - 1) / height);
    std::int32_t* const strips = last_strip + (a.rows - 1 - i);
    for (int64 e = a.indptr[i]; e < a.indptr[i + 1]; ++e) {
      std::int32_t& last_seen = strips[a.indices[e]];
      blocks += end - std::max(begin - 1, last_seen);
      last_seen = end;
    }
  });
  return blocks;
}

// Counts without a table of all diagonals, which would be large compared to the entries: sorts the entries by diagonal
// and row, once for all heights. The diagonal is stored above the 32 bits of the row in a key.
std::vector<int64> listed_block_diagonals(const Csr<float> a, const std::vector<int64>& heights) {
  const std::vector<std::uint64_t> keys = sorted_keys(a, [rows = a.rows](int64 i, int64 j) {
    return static_cast<std::uint64_t>(j - i + rows) << 32 | static_cast<std::uint64_t>(i);
  });
  std::vector<int64> result;
  for (const int64 height : heights) {
    const auto same_block = [height](std::uint64_t one, std::uint64_t other) {
      const auto strip = [height](std::uint64_t key) { return static_cast<int64>(key & 0xFFFFFFFF) / height; };
      return one >> 32 == other >> 32 && strip(one) == strip(other);
    };
    int64 blocks = keys.empty() ? 0 : 1;
    for (std::size_t k = 1; k < keys.size(); ++k) blocks += !same_block(keys[k - 1], keys[k]);
    result.push_back(blocks);
  }
  return result;
}

int64 block_diagonals(const Csr<float> a, int64 height) {
  const int64 diagonals = a.rows + a.cols;
  std::vector<int64> result(workers_for(a.indptr[a.rows] / diagonals), 0);
  std::vector<std::vector<std::int32_t>> last_strips(result.size());
  for_rows(a, result.size(), height, [&](int64 worker, int64 first, int64 last) {
    last_strips[worker].resize(diagonals, -1);
    result[worker] += block_diagonals_in(a, first, last, height, last_strips[worker].data());
  });
  return std::accumulate(result.begin(), result.end(), int64{0});
}

}  // namespace

std::vector<int64> count_block_diagonals(const Matrix& csr, const std::vector<int64>& heights) {
  for (const int64 height : heights) {
    if (height < 1) throw std::invalid_argument("strips of " + std::to_string(height) + " rows: expected 1 or more");
  }
  const Csr<float> a = structure_of(csr);
  const int64 count = csr.values.size();
  if (!table_is_worthwhile(a.rows, a.cols, count)) return listed_block_diagonals(a, heights);
  std::vector<int64> result;
  for (const int64 height : heights) result.push_back(count == 0 ? 0 : block_diagonals(a, height));
  return result;
}

// ---- Blocks of variable size -------------------------------------------------------------------------

namespace {

// The columns at which a block starts: column 0, and those where some run of consecutive entries in a row begins or has
// just ended. Stored in a table if that is worth the memory, otherwise in a list.
class FirstColumns {
 public:
  explicit FirstColumns(const Csr<float>& a) : cols_(a.cols), table_(table_is_worthwhile(0, a.cols, a.indptr[a.rows])) {
    if (table_) marks_.resize(a.cols + 1, 0);
    else list_.reserve(2 * a.indptr[a.rows] + 1);
    add(0);
    for (int64 i = 0; i < a.rows; ++i) {
      if (i % kRows == kRows - 1) checkpoint();
      const int64 end = a.indptr[i + 1];
      for (int64 e = a.indptr[i]; e < end; ++e) {
        if (e == a.indptr[i] || a.indices[e] != a.indices[e - 1] + 1) add(a.indices[e]);
        if (e + 1 == end || a.indices[e + 1] != a.indices[e] + 1) add(int64{a.indices[e]} + 1);
      }
    }
    std::sort(list_.begin(), list_.end());
    list_.erase(std::unique(list_.begin(), list_.end()), list_.end());
  }

  bool holds(int64 column) const {
    return table_ ? marks_[column] != 0 : std::binary_search(list_.begin(), list_.end(), column);
  }

  // The number of these columns in the matrix, not counting the end of its last column.
  int64 count() const {
    if (table_) return std::accumulate(marks_.begin(), marks_.end() - 1, int64{0});
    return std::lower_bound(list_.begin(), list_.end(), cols_) - list_.begin();
  }

 private:
  void add(int64 column) {
    if (table_) marks_[column] = 1;
    else list_.push_back(static_cast<std::uint32_t>(column));
  }

  int64 cols_;
  bool table_;
  std::vector<char> marks_;
  std::vector<std::uint32_t> list_;
};

bool same_columns(const Csr<float>& a, int64 i, int64 j) {
  return std::equal(a.indices + a.indptr[i], a.indices + a.indptr[i + 1], a.indices + a.indptr[j],
                    a.indices + a.indptr[j + 1]);
}

}  // namespace

VariableBlocks count_variable_blocks(const Matrix& csr) {
  const Csr<float> a = structure_of(csr);
  const FirstColumns first_columns(a);
  VariableBlocks result{0, first_columns.count(), 0};
  for (int64 i = 0; i < a.rows; ++i) {
    if (i % kRows == kRows - 1) checkpoint();
    if (i > 0 && same_columns(a, i - 1, i)) continue;
    ++result.rows;
    for (int64 e = a.indptr[i]; e < a.indptr[i + 1]; ++e) result.blocks += first_columns.holds(a.indices[e]);
  }
  return result;
}

}  // namespace diagsparse
