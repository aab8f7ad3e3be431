// The structure of C = A B for csr: each row's columns, found once and used for any values.
#include <algorithm>
#include <optional>
#include <vector>

#include "core/plan.hpp"
#include "cpu/column_set.hpp"
#include "cpu/parallel.hpp"
#include "formats/csr/cpu_sum_places.hpp"
#include "formats/csr/layout.hpp"

namespace diagsparse {

namespace {

// What a row of A B has for columns, from the rows of B that A's row asks for.
class RowFinder {
 public:
  // Of the rows from `begin` to `end`. `follows[k]`: row k of B is the row before it, moved by one.
  RowFinder(const Csr<char>& a, const Csr<char>& b, const std::vector<char>& follows, int64 begin, int64 end)
      : a_(a), b_(b), follows_(follows) {
    sorts_ = b.cols > kWide && products(a.indptr[begin], a.indptr[end]) < b.cols / kWideShare;
  }

  // How many products the entries of A from `first` to `last` have.
  int64 products(int64 first, int64 last) const {
    int64 count = 0;
    for (int64 e = first; e < last; ++e) count += length(a_.indices[e]);
    return count;
  }
  int64 nbytes() const { return set_ ? set_->nbytes() : 0; }

  // Appends the columns of row i, ascending. `before` is where in `columns` those of row i - 1 begin, -1: not there.
  void find(int64 i, int64 before, std::vector<std::int32_t>& columns) {
    if (before >= 0 && follows(i)) return move_by_one(before, columns);
    const int64 first = a_.indptr[i], last = a_.indptr[i + 1];
    if (products(first, last) * (last - first) <= kMerged) return merge(first, last, columns);
    if (sorts_) return sort(first, last, columns);
    if (!set_) set_.emplace(b_.cols);
    for (int64 e = first; e < last; ++e) {
      if (const int64 count = length(a_.indices[e])) set_->insert(row_of(a_.indices[e]), count);
    }
    set_->move_to(columns);
  }

 private:
  static constexpr int64 kMerged = 96;  // steps of merging that take as long as the set
  // Columns of which a set is large, and how many of them a product has to be worth it.
  static constexpr int64 kWide = 1 << 23, kWideShare = 64;

  int64 length(std::int64_t k) const { return b_.indptr[k + 1] - b_.indptr[k]; }
  const std::int32_t* row_of(std::int64_t k) const { return b_.indices + b_.indptr[k]; }

  // Whether row i is row i - 1 moved by one, in A and in all that it asks for in B: so it is in A B.
  bool follows(int64 i) const {
    const int64 first = a_.indptr[i], count = a_.indptr[i + 1] - first;
    if (first - a_.indptr[i - 1] != count) return false;
    const std::int32_t *here = a_.indices + first, *there = here - count;
    bool same = true;
    for (int64 e = 0; e < count; ++e) same &= (here[e] == there[e] + 1) & (follows_[here[e]] != 0);
    return same;
  }

  static void move_by_one(int64 before, std::vector<std::int32_t>& columns) {
    const auto end = static_cast<int64>(columns.size());
    columns.resize(2 * end - before);
    for (int64 e = before; e < end; ++e) columns[e + end - before] = columns[e] + 1;
  }

  void sort(int64 first, int64 last, std::vector<std::int32_t>& columns) const {
    const auto before = static_cast<std::ptrdiff_t>(columns.size());
    for (int64 e = first; e < last; ++e) {
      const std::int32_t* const row = row_of(a_.indices[e]);
      columns.insert(columns.end(), row, row + length(a_.indices[e]));
    }
    std::sort(columns.begin() + before, columns.end());
    columns.erase(std::unique(columns.begin() + before, columns.end()), columns.end());
  }

  // Rows of B in turn into what came of those before. Neither of two heads is foreseeable, so nothing branches on them.
  void merge(int64 first, int64 last, std::vector<std::int32_t>& columns) {
    std::int32_t *merged = of_rows_[0], *next = of_rows_[1];
    int64 count = 0;
    for (std::int64_t e = first; e < last; ++e) {
      const std::int32_t *x = merged, *const x_end = merged + count;
      const std::int32_t *y = row_of(a_.indices[e]), *const y_end = y + length(a_.indices[e]);
      std::int32_t* to = next;
      while (x < x_end && y < y_end) {
        const std::int32_t u = *x, v = *y;
        *to++ = u < v ? u : v;
        x += u <= v;
        y += v <= u;
      }
      to = std::copy(y, y_end, std::copy(x, x_end, to));
      count = to - next;
      std::swap(merged, next);
    }
    columns.insert(columns.end(), merged, merged + count);
  }

  const Csr<char>&a_, &b_;
  const std::vector<char>& follows_;
  bool sorts_;                    // few columns of many
  std::optional<ColumnSet> set_;  // where it is needed
  std::int32_t of_rows_[2][kMerged];
};

// Which rows are the row before them, moved by one.
std::vector<char> rows_that_follow(const Csr<char>& b) {
  std::vector<char> follows(b.rows);
  const int64 work = b.indptr[b.rows] + b.rows, tasks = tasks_for(work);
  parallel_for(tasks, work, [&](int64 task) {
    for (int64 k = std::max<int64>(1, b.rows * task / tasks); k < b.rows * (task + 1) / tasks; ++k) {
      const int64 count = b.indptr[k + 1] - b.indptr[k];
      if (b.indptr[k] - b.indptr[k - 1] != count) continue;
      const std::int32_t *here = b.indices + b.indptr[k], *there = here - count;
      bool same = true;
      for (int64 e = 0; e < count; ++e) same &= here[e] == there[e] + 1;
      follows[k] = same;
    }
  });
  return follows;
}

constexpr int64 kProductsPerCheckpoint = 1 << 22;  // that a task comes by between two questions whether to go on

// What a task finds of its rows: their columns, row after row.
struct Found {
  std::vector<std::int32_t> columns;
  int64 products = 0, set_nbytes = 0;
};

// Bytes beside the result: while its structure is found, its values are not there; and while rows are summed.
int64 bytes_beside(const std::vector<Found>& found, const Array& indptr, const Array& indices, int64 item, int64 inner,
                   int64 products) {
  const int64 rows = indptr.size() - 1, tasks = tasks_of_sums(rows, products);
  int64 columns = 0, set = 0, sums = 0;
  for (const Found& of_task : found) {
    columns += static_cast<int64>(of_task.columns.capacity() * sizeof(std::int32_t));
    set = std::max(set, of_task.set_nbytes);
  }
  for (int64 task = 0; task < tasks; ++task) {
    const int64 begin = rows * task / tasks, end = rows * (task + 1) / tasks;
    sums = std::max(sums, SumPlaces::of(indptr.as<int64>(), indices.as<std::int32_t>(), begin, end).count);
  }
  const int64 threads = thread_count(), finding = std::min<int64>(threads, static_cast<int64>(found.size()));
  return std::max(columns + finding * set + inner - item * indices.size(), std::min(threads, tasks) * sums * item);
}

}  // namespace

RowsOfProduct product_rows(const Matrix& left, const Matrix& right) {
  const Csr<char> a = Csr<char>::of(left), b = Csr<char>::of(right);
  const int64 rows = a.rows;

  Array indptr = Array::zeros(DType::i64, {rows + 1});
  int64* start = indptr.as<int64>();
  // About, as if all rows of B were as long; so each task also counts its own, for Ctrl-C.
  const int64 work = a.indptr[rows] * (b.indptr[b.rows] / std::max<int64>(1, b.rows) + 1);
  const int64 tasks = tasks_of_sums(rows, work);
  const std::vector<char> follows = rows_that_follow(b);
  std::vector<Found> found(tasks);
  parallel_for(tasks, work, [&](int64 task) {
    const int64 first = rows * task / tasks, last = rows * (task + 1) / tasks;
    std::vector<std::int32_t>& columns = found[task].columns;
    RowFinder row(a, b, follows, first, last);
    int64 count = 0, asked = 0, before = -1;
    for (int64 i = first; i < last; ++i) {
      const auto begin = static_cast<int64>(columns.size());
      row.find(i, before, columns);
      count += row.products(a.indptr[i], a.indptr[i + 1]);
      start[i + 1] = static_cast<int64>(columns.size()) - begin;
      before = begin;
      if (count - asked < kProductsPerCheckpoint) continue;
      checkpoint();
      asked = count;
    }
    found[task].products = count, found[task].set_nbytes = row.nbytes();
  });
  for (int64 i = 0; i < rows; ++i) start[i + 1] += start[i];
  Array indices = Array::empty(DType::i32, {start[rows]});
  std::int32_t* columns = indices.as<std::int32_t>();
  parallel_for(tasks, start[rows],
               [&](int64 task) { std::ranges::copy(found[task].columns, columns + start[rows * task / tasks]); });
  int64 products = 0;
  for (const Found& of_task : found) products += of_task.products;
  const int64 item = item_size(product_dtype(left.dtype, right.dtype));
  const int64 beside = bytes_beside(found, indptr, indices, item, b.rows, products);
  std::vector<Part> parts{{"indices", indices}, {"indptr", indptr}};
  return {std::make_shared<const Indices>(csr.name, rows, b.cols, std::move(parts), indices.size()), products, beside};
}

}  // namespace diagsparse
