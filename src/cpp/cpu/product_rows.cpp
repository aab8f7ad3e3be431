// The structure of C = A B for csr: each row's columns, found once and used for any values.
#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "core/plan.hpp"
#include "cpu/column_set.hpp"
#include "cpu/parallel.hpp"
#include "cpu/sum_places.hpp"
#include "formats/csr.hpp"

namespace diagsparse {

namespace {

// What a row of A B has for columns, from the rows of B that A's row asks for.
class RowFinder {
 public:
  // `follows[k]`: row k of B is the row before it, moved by one. `products`: those of the rows before each row.
  RowFinder(const Csr<char>& a, const Csr<char>& b, const std::vector<char>& follows,
            const std::vector<int64>& products, int64 begin, int64 end)
      : a_(a), b_(b), follows_(follows), products_(products) {
    sorts_ = b.cols > kWide && products[end] - products[begin] < b.cols / kWideShare;
  }

  int64 nbytes() const { return set_ ? set_->nbytes() : 0; }

  // Appends the columns of row i, ascending. `before` is where in `columns` those of row i - 1 begin, -1: not there.
  void find(int64 i, int64 before, std::vector<std::int32_t>& columns) {
    if (before >= 0 && follows(i)) return move_by_one(before, columns);
    const int64 first = a_.indptr[i], last = a_.indptr[i + 1];
    if ((products_[i + 1] - products_[i]) * (last - first) <= kMerged) return merge(first, last, columns);
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
  const std::vector<int64>& products_;
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

// How many products of an entry of A and one of B the rows before each row of A B have.
std::vector<int64> products_before(const Csr<char>& a, const Csr<char>& b) {
  std::vector<int64> products(a.rows + 1);
  const int64 work = a.indptr[a.rows] + a.rows, tasks = tasks_for(work);
  const auto before = [&](int64 i) { return a.indptr[i] + i; };
  parallel_for(tasks, work, [&](int64 task) {
    const int64 last = border(a.rows, work, tasks, task + 1, before);
    for (int64 i = border(a.rows, work, tasks, task, before); i < last; ++i) {
      for (int64 e = a.indptr[i]; e < a.indptr[i + 1]; ++e) {
        products[i + 1] += b.indptr[a.indices[e] + 1] - b.indptr[a.indices[e]];
      }
    }
  });
  std::partial_sum(products.begin(), products.end(), products.begin());
  return products;
}

// What a task finds of its rows: their columns, row after row.
struct Found {
  std::vector<std::int32_t> columns;
  int64 set_nbytes = 0;
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
  const int64 finding = std::min<int64>(thread_count(), static_cast<int64>(found.size()));
  const int64 counts = static_cast<int64>(sizeof(int64)) * (rows + 1);
  return std::max(columns + finding * set + inner + counts - item * indices.size(),
                  std::min<int64>(thread_count(), tasks) * sums * item);
}

}  // namespace

RowsOfProduct product_rows(const Matrix& left, const Matrix& right) {
  const Csr<char> a = Csr<char>::of(left), b = Csr<char>::of(right);
  const int64 rows = a.rows;

  Array indptr = Array::zeros(DType::i64, {rows + 1});
  int64* start = indptr.as<int64>();
  const std::vector<int64> products = products_before(a, b);
  const auto before = [&](int64 i) { return products[i] + a.indptr[i] + i; };
  const int64 work = before(rows), tasks = tasks_for(work);
  const std::vector<char> follows = rows_that_follow(b);
  const auto first_row = [&](int64 task) { return border(rows, work, tasks, task, before); };
  std::vector<Found> found(tasks);
  parallel_for(tasks, work, [&](int64 task) {
    const int64 first = first_row(task), last = first_row(task + 1);
    std::vector<std::int32_t>& columns = found[task].columns;
    RowFinder row(a, b, follows, products, first, last);
    for (int64 i = first, above = -1; i < last; ++i) {
      const auto begin = static_cast<int64>(columns.size());
      row.find(i, above, columns);
      start[i + 1] = static_cast<int64>(columns.size()) - begin;
      above = begin;
    }
    found[task].set_nbytes = row.nbytes();
  });
  for (int64 i = 0; i < rows; ++i) start[i + 1] += start[i];
  Array indices = Array::empty(DType::i32, {start[rows]});
  std::int32_t* columns = indices.as<std::int32_t>();
  parallel_for(tasks, start[rows],
               [&](int64 task) { std::ranges::copy(found[task].columns, columns + start[first_row(task)]); });
  const int64 item = item_size(product_dtype(left.dtype, right.dtype));
  const int64 beside = bytes_beside(found, indptr, indices, item, b.rows, products[rows]);
  std::vector<Part> parts{{"indices", indices}, {"indptr", indptr}};
  return {std::make_shared<const Indices>(csr.name, rows, b.cols, std::move(parts), indices.size()), products[rows],
          beside};
}

}  // namespace diagsparse
