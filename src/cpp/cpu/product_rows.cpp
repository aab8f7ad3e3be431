// The structure of C = A B for csr: each row's columns, found once and used for any values.
#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "core/plan.hpp"
#include "cpu/parallel.hpp"
#include "formats/csr.hpp"

namespace diagsparse {

namespace {

// A set of columns that gives them back in order: a bit for each column, and one for each word of these bits that is
// not 0.
//
//     columns 3 5 64 200      bits   ...101000 | ...1 | 0 | ...100000000      words 0 to 3
//                             words  ...1011
class ColumnSet {
 public:
  explicit ColumnSet(int64 cols) : bits_(cols / 64 + 1), words_(cols / 4096 + 1), touched_(words_.size() + 1) {}

  // `count` of them, at least one.
  void insert(const std::int32_t* columns, int64 count) {
    auto word = static_cast<std::uint32_t>(columns[0]) / 64;
    std::uint64_t found = 0;  // neighbours come to their word at once
    for (int64 e = 0; e < count; ++e) {
      const auto column = static_cast<std::uint32_t>(columns[e]);
      if (column / 64 != word) {
        add(word, found);
        word = column / 64, found = 0;
      }
      found |= std::uint64_t{1} << column % 64;
    }
    add(word, found);
    inserted_ += count;
  }

  // Appends the columns, ascending, and leaves the set empty.
  void move_to(std::vector<std::int32_t>& columns) {
    if (inserted_ == 0) return;
    const std::size_t before = columns.size();
    columns.resize(before + std::min(inserted_, 4096 * count_));
    std::int32_t* to = columns.data() + before;
    const auto first = touched_.begin(), last = first + count_;
    const auto [low, high] = std::minmax_element(first, last);
    if (*high - *low < kScan * count_) {
      for (std::uint32_t at = *low, end = *high; at <= end; ++at) to = take(at, to);
    } else {
      std::sort(first, last);
      for (auto at = first; at < last; ++at) to = take(*at, to);
    }
    columns.resize(to - columns.data());
    inserted_ = count_ = 0;
  }

 private:
  static constexpr std::uint32_t kScan = 16;  // words that are looked at in the time that it takes to sort one

  void add(std::uint32_t word, std::uint64_t found) {
    bits_[word] |= found;
    std::uint64_t& of = words_[word / 64];
    touched_[count_] = word / 64;
    count_ += of == 0;
    of |= std::uint64_t{1} << word % 64;
  }

  std::int32_t* take(std::uint32_t at, std::int32_t* to) {
    for (std::uint64_t words = words_[at]; words != 0; words &= words - 1) {
      const std::uint32_t word = at * 64 + std::countr_zero(words);
      for (std::uint64_t left = bits_[word]; left != 0; left &= left - 1) {
        *to++ = static_cast<std::int32_t>(word * 64 + std::countr_zero(left));
      }
      bits_[word] = 0;
    }
    words_[at] = 0;
    return to;
  }

  std::vector<std::uint64_t> bits_, words_;
  std::vector<std::uint32_t> touched_;  // where words_ is not 0, and one place more
  int64 count_ = 0, inserted_ = 0;      // of touched_; of columns, some more than once
};

// What a row of A B has for columns, from the rows of B that A's row asks for.
class RowFinder {
 public:
  // `follows[k]`: row k of B is the row before it, moved by one.
  RowFinder(const Csr<char>& a, const Csr<char>& b, const std::vector<char>& follows)
      : a_(a), b_(b), follows_(follows), set_(b.cols) {}

  // Appends the columns of row i, ascending. `before` is where in `columns` those of row i - 1 begin, -1: not there.
  void find(int64 i, int64 before, std::vector<std::int32_t>& columns) {
    if (before >= 0 && follows(i)) return move_by_one(before, columns);
    const int64 first = a_.indptr[i], last = a_.indptr[i + 1];
    int64 products = 0;
    for (int64 e = first; e < last; ++e) products += length(a_.indices[e]);
    if (products * (last - first) <= kMerged) return merge(first, last, columns);
    for (int64 e = first; e < last; ++e) {
      if (const int64 count = length(a_.indices[e])) set_.insert(row_of(a_.indices[e]), count);
    }
    set_.move_to(columns);
  }

 private:
  static constexpr int64 kMerged = 96;  // steps of merging that take as long as the set

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
  ColumnSet set_;
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

}  // namespace

RowsOfProduct product_rows(const Matrix& left, const Matrix& right) {
  const Csr<char> a = Csr<char>::of(left), b = Csr<char>::of(right);
  const int64 rows = a.rows;

  Array indptr = Array::zeros(DType::i64, {rows + 1});
  int64* start = indptr.as<int64>();
  const int64 tasks = std::min<int64>(rows, 16 * concurrent_tasks()), work = 4 * a.indptr[rows];
  const std::vector<char> follows = rows_that_follow(b);
  std::vector<std::vector<std::int32_t>> found(tasks);  // the columns of each task's rows, row after row
  std::vector<int64> products(tasks);
  parallel_for(tasks, work, [&](int64 task) {
    std::vector<std::int32_t>& columns = found[task];
    RowFinder row(a, b, follows);
    int64 count = 0, before = -1;
    for (int64 i = rows * task / tasks; i < rows * (task + 1) / tasks; ++i) {
      const auto begin = static_cast<int64>(columns.size());
      row.find(i, before, columns);
      for (int64 e = a.indptr[i]; e < a.indptr[i + 1]; ++e) count += b.indptr[a.indices[e] + 1] - b.indptr[a.indices[e]];
      start[i + 1] = static_cast<int64>(columns.size()) - begin;
      before = begin;
    }
    products[task] = count;
  });
  for (int64 i = 0; i < rows; ++i) start[i + 1] += start[i];
  Array indices = Array::empty(DType::i32, {start[rows]});
  std::int32_t* columns = indices.as<std::int32_t>();
  parallel_for(tasks, work, [&](int64 task) {
    std::copy(found[task].begin(), found[task].end(), columns + start[rows * task / tasks]);
  });
  std::vector<Part> parts{{"indices", indices}, {"indptr", indptr}};
  return {std::make_shared<const Indices>(csr.name, rows, b.cols, std::move(parts), indices.size()),
          std::accumulate(products.begin(), products.end(), int64{0})};
}

}  // namespace diagsparse
