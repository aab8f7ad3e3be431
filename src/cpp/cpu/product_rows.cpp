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

}  // namespace

RowsOfProduct product_rows(const Matrix& left, const Matrix& right) {
  const int64 rows = left.rows, cols = right.cols;
  const int64 *a_ptr = left.index("indptr").as<int64>(), *b_ptr = right.index("indptr").as<int64>();
  const auto *a_col = left.index("indices").as<std::int32_t>(), *b_col = right.index("indices").as<std::int32_t>();

  Array indptr = Array::zeros(DType::i64, {rows + 1});
  int64* start = indptr.as<int64>();
  const int64 tasks = std::min<int64>(rows, 16 * concurrent_tasks()), work = 4 * a_ptr[rows];
  std::vector<std::vector<std::int32_t>> found(tasks);  // the columns of each task's rows, row after row
  std::vector<int64> products(tasks);
  parallel_for(tasks, work, [&](int64 task) {
    std::vector<std::int32_t>& columns = found[task];
    ColumnSet row(cols);
    int64 count = 0;
    for (int64 i = rows * task / tasks; i < rows * (task + 1) / tasks; ++i) {
      const std::size_t begin = columns.size();
      for (int64 e = a_ptr[i]; e < a_ptr[i + 1]; ++e) {
        const int64 from = b_ptr[a_col[e]], to = b_ptr[a_col[e] + 1];
        count += to - from;
        if (from < to) row.insert(b_col + from, to - from);
      }
      row.move_to(columns);
      start[i + 1] = static_cast<int64>(columns.size() - begin);
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
  return {std::make_shared<const Indices>(csr.name, rows, cols, std::move(parts), indices.size()),
          std::accumulate(products.begin(), products.end(), int64{0})};
}

}  // namespace diagsparse
