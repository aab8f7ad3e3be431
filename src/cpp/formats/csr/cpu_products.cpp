// The structure of C = A B for csr: the columns of each row, computed once and reused for any values.
#include <algorithm>
#include <optional>
#include <vector>

#include "core/plan.hpp"
#include "cpu/column_set.hpp"
#include "cpu/parallel.hpp"
#include "formats/csr/cpu_row_accumulators.hpp"
#include "formats/csr/layout.hpp"

namespace diagsparse {

namespace {

// Computes the columns of each row of A B as the union of the rows of B that the row of A selects.
class ProductRows {
 public:
  // For rows `begin` to `end`. If shifted[k] is set, row k of B is row k - 1 with all columns moved by one.
  ProductRows(const Csr<char>& a, const Csr<char>& b, const std::vector<char>& shifted, int64 begin, int64 end)
      : a_(a), b_(b), shifted_(shifted) {
    sorts_ = b.cols > kManyColumns && products(a.indptr[begin], a.indptr[end]) < b.cols / kColumnsPerProduct;
  }

  // The number of products of entries `first` to `last` of A.
  int64 products(int64 first, int64 last) const {
    int64 count = 0;
    for (int64 e = first; e < last; ++e) count += length(a_.indices[e]);
    return count;
  }
  int64 nbytes() const { return set_ ? set_->nbytes() : 0; }

  // Appends the columns of row i in ascending order. `before` is the position in `columns` where those of row i - 1
  // begin, or -1 if they are not there.
  void append_columns(int64 i, int64 before, std::vector<std::int32_t>& columns) {
    if (before >= 0 && shifted(i)) return shift_by_one(before, columns);
    const int64 first = a_.indptr[i], last = a_.indptr[i + 1];
    if (products(first, last) * (last - first) <= kMaxMergeSteps) return merge(first, last, columns);
    if (sorts_) return sort(first, last, columns);
    if (!set_) set_.emplace(b_.cols);
    for (int64 e = first; e < last; ++e) {
      if (const int64 count = length(a_.indices[e])) set_->insert(row_of(a_.indices[e]), count);
    }
    set_->move_to(columns);
  }

 private:
  static constexpr int64 kMaxMergeSteps = 96;  // at most this many steps of merging are faster than a set
  // Columns are sorted instead of inserted in a set if B has more than kManyColumns columns, and more than
  // kColumnsPerProduct for each product of the task, because a set needs memory for all columns.
  static constexpr int64 kManyColumns = 1 << 23, kColumnsPerProduct = 64;

  int64 length(std::int64_t k) const { return b_.indptr[k + 1] - b_.indptr[k]; }
  const std::int32_t* row_of(std::int64_t k) const { return b_.indices + b_.indptr[k]; }

  // Whether row i of A is row i - 1 moved by one, and so are all rows of B that it selects. Row i of A B is then the
  // previous row moved by one, too.
  bool shifted(int64 i) const {
    const int64 first = a_.indptr[i], count = a_.indptr[i + 1] - first;
    if (first - a_.indptr[i - 1] != count) return false;
    const std::int32_t *current = a_.indices + first, *previous = current - count;
    bool is_shifted = true;
    for (int64 e = 0; e < count; ++e) is_shifted &= (current[e] == previous[e] + 1) & (shifted_[current[e]] != 0);
    return is_shifted;
  }

  static void shift_by_one(int64 before, std::vector<std::int32_t>& columns) {
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

  // Merges the rows of B one after another into the union of the previous ones. Comparisons are unpredictable, so the
  // loop has no branches that depend on them.
  void merge(int64 first, int64 last, std::vector<std::int32_t>& columns) {
    std::int32_t *merged = merge_buffers_[0], *next = merge_buffers_[1];
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
  const std::vector<char>& shifted_;
  bool sorts_;                    // instead of using a set
  std::optional<ColumnSet> set_;  // allocated at its first use
  std::int32_t merge_buffers_[2][kMaxMergeSteps];
};

// Which rows are the previous row moved by one.
std::vector<char> rows_shifted_by_one(const Csr<char>& b) {
  std::vector<char> shifted(b.rows);
  const int64 work = b.indptr[b.rows] + b.rows, tasks = tasks_for(work);
  parallel_for(tasks, work, [&](int64 task) {
    for (int64 k = std::max<int64>(1, b.rows * task / tasks); k < b.rows * (task + 1) / tasks; ++k) {
      const int64 count = b.indptr[k + 1] - b.indptr[k];
      if (b.indptr[k] - b.indptr[k - 1] != count) continue;
      const std::int32_t *current = b.indices + b.indptr[k], *previous = current - count;
      bool is_shifted = true;
      for (int64 e = 0; e < count; ++e) is_shifted &= current[e] == previous[e] + 1;
      shifted[k] = is_shifted;
    }
  });
  return shifted;
}

constexpr int64 kProductsPerCheckpoint = 1 << 22;  // of a task between two calls of checkpoint()

// The columns of the rows of a task, row after row.
struct TaskColumns {
  std::vector<std::int32_t> columns;
  int64 products = 0, set_nbytes = 0;
};

// The workspace in bytes: the maximum of what is needed to compute the structure, when the values of C are not
// allocated yet, and to sum the rows.
int64 workspace_nbytes(const std::vector<TaskColumns>& task_columns, const Array& indptr, const Array& indices,
                       int64 item, int64 inner, int64 products) {
  const int64 rows = indptr.size() - 1, tasks = tasks_of_sums(rows, products);
  int64 columns = 0, set = 0, sums = 0;
  for (const TaskColumns& task_result : task_columns) {
    columns += static_cast<int64>(task_result.columns.capacity() * sizeof(std::int32_t));
    set = std::max(set, task_result.set_nbytes);
  }
  for (int64 task = 0; task < tasks; ++task) {
    const int64 begin = rows * task / tasks, end = rows * (task + 1) / tasks;
    sums = std::max(sums, RowAccumulators::of(indptr.as<int64>(), indices.as<std::int32_t>(), begin, end).count);
  }
  const int64 threads = thread_count(), concurrent = std::min<int64>(threads, static_cast<int64>(task_columns.size()));
  return std::max(columns + concurrent * set + inner - item * indices.size(), std::min(threads, tasks) * sums * item);
}

}  // namespace

RowsOfProduct product_rows(const Matrix& left, const Matrix& right) {
  const Csr<char> a = Csr<char>::of(left), b = Csr<char>::of(right);
  const int64 rows = a.rows;

  Array indptr = Array::zeros(DType::i64, {rows + 1});
  int64* start = indptr.as<int64>();
  // An estimate which assumes that all rows of B have the same length. Each task therefore also counts its own products
  // between checkpoints, so that Ctrl-C takes effect soon.
  const int64 work = a.indptr[rows] * (b.indptr[b.rows] / std::max<int64>(1, b.rows) + 1);
  const int64 tasks = tasks_of_sums(rows, work);
  const std::vector<char> shifted = rows_shifted_by_one(b);
  std::vector<TaskColumns> task_columns(tasks);
  parallel_for(tasks, work, [&](int64 task) {
    const int64 first = rows * task / tasks, last = rows * (task + 1) / tasks;
    std::vector<std::int32_t>& columns = task_columns[task].columns;
    ProductRows row(a, b, shifted, first, last);
    int64 count = 0, last_checkpoint = 0, before = -1;
    for (int64 i = first; i < last; ++i) {
      const auto begin = static_cast<int64>(columns.size());
      row.append_columns(i, before, columns);
      count += row.products(a.indptr[i], a.indptr[i + 1]);
      start[i + 1] = static_cast<int64>(columns.size()) - begin;
      before = begin;
      if (count - last_checkpoint < kProductsPerCheckpoint) continue;
      checkpoint();
      last_checkpoint = count;
    }
    task_columns[task].products = count, task_columns[task].set_nbytes = row.nbytes();
  });
  for (int64 i = 0; i < rows; ++i) start[i + 1] += start[i];
  Array indices = Array::empty(DType::i32, {start[rows]});
  std::int32_t* columns = indices.as<std::int32_t>();
  parallel_for(tasks, start[rows], [&](int64 task) {
    std::ranges::copy(task_columns[task].columns, columns + start[rows * task / tasks]);
  });
  int64 products = 0;
  for (const TaskColumns& task_result : task_columns) products += task_result.products;
  const int64 item = item_size(product_dtype(left.dtype, right.dtype));
  const int64 workspace = workspace_nbytes(task_columns, indptr, indices, item, b.rows, products);
  std::vector<Part> parts{{"indices", indices}, {"indptr", indptr}};
  return {std::make_shared<const Indices>(csr.name, rows, b.cols, std::move(parts), indices.size()), products,
          workspace};
}

}  // namespace diagsparse
