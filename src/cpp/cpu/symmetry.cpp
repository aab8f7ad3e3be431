// The symmetries of the values of a csr matrix, on the CPU.
#include "core/symmetry.hpp"

#include <atomic>
#include <memory>

#include "core/summary.hpp"
#include "cpu/csr_rows.hpp"

namespace diagsparse {

namespace {

// Compares entries on and above the diagonal with their mirror images.
template <class T>
class Pairs {
 public:
  explicit Pairs(const Csr<T>& a) : a_(a), positions_(a.rows, 0) {}

  // Checks the rows [first, last), which follow all previous ones, until all symmetries are broken.
  void add(int64 first, int64 last) {
    for_repeated_rows(a_, first, last, [this](int64 i, int64 repeated) {
      const int64 end = i + repeated;
      for (int64 rows; i < end && broken_ != kEverySymmetry; i += rows) {
        rows = std::min(kRowsAtATime, end - i);
        if (rows > 1 && mirrors_repeat(i, rows, end)) add_repeated(i, rows);
        else add_each(i, rows);
      }
    });
  }

  unsigned broken() const { return broken_; }
  // The number of nonzero entries that were checked, including their mirror images.
  int64 checked() const { return checked_; }

 private:
  static constexpr int64 kRowsAtATime = 16;  // rows with equal offsets at a time: their values stay in the cache

  [[gnu::noinline]] void add_each(int64 first, int64 rows) {
    const Csr<T> a = a_;
    std::int32_t* const positions = positions_.data();
    unsigned broken = 0;
    int64 checked = 0;
    for (int64 i = first; i < first + rows; ++i) {
      const int64 end = a.indptr[i + 1];
      for (int64 e = a.indptr[i] + positions[i]; e < end; ++e) {
        const int64 j = a.indices[e];
        if (j < i || is_zero(a.values[e])) continue;
        const T* const mirror = j == i ? a.values + e : value_at(a, j, i, positions[j]);
        broken |= mirror ? symmetries_broken_by(a.values[e], *mirror) : kEverySymmetry;
        checked += j == i ? 1 : 2;
      }
    }
    broken_ |= broken;
    checked_ += checked;
  }

  // Whether the rows that contain the mirror images of rows i to i + rows - 1 have the same offsets, too. The rows from
  // row i to `end` do.
  bool mirrors_repeat(int64 i, int64 rows, int64 end) const {
    for (int64 e = a_.indptr[i + 1] - 1; e >= a_.indptr[i]; --e) {
      const int64 first = a_.indices[e], last = first + rows;
      if (last <= end) return true;
      if (last > a_.rows || !columns_repeat(a_, first, last - 1, 1)) return false;
    }
    return true;
  }

  // The same for rows with equal offsets whose mirror images are in such rows, too: one look-up gives the positions for
  // all.
  void add_repeated(int64 i, int64 rows) {
    const int64 begin = a_.indptr[i], end = a_.indptr[i + 1], step = end - begin;
    prefetch(begin + rows * step, rows * step);
    for (int64 e = begin; e < end; ++e) {
      const int64 j = a_.indices[e];
      if (j < i) continue;
      const int64 mirror_step = a_.indptr[j + 1] - a_.indptr[j];
      const T *const value = a_.values + e, *const mirror = j == i ? value : value_at(a_, j, i, positions_[j]);
      unsigned broken = 0;
      int64 checked = 0;
      for (int64 t = 0; t < rows; ++t) {
        checked += !is_zero(value[t * step]);
        broken |= symmetries_broken_by(value[t * step], mirror ? mirror[t * mirror_step] : T{});
      }
      broken_ |= broken;
      checked_ += j == i ? checked : 2 * checked;
    }
  }

  // Prefetches the next values. Those of a diagonal are too far apart for the hardware prefetcher.
  void prefetch(int64 first, int64 count) const {
    constexpr int64 kLine = 64 / sizeof(T);
    const int64 last = std::min(first + count, a_.indptr[a_.rows]);
    for (int64 e = first; e < last; e += kLine) __builtin_prefetch(a_.values + e);
  }

  // The value in a column of a row, nullptr if there is none. Columns ascend from call to call, so each row is
  // traversed only once; `position` is the current position in it.
  [[gnu::always_inline]] static const T* value_at(const Csr<T>& a, int64 row, int64 column, std::int32_t& position) {
    const int64 begin = a.indptr[row], count = a.indptr[row + 1] - begin;
    const std::int32_t* const columns = a.indices + begin;
    while (position < count && columns[position] < column) ++position;
    return position < count && columns[position] == column ? a.values + begin + position++ : nullptr;
  }

  const Csr<T> a_;
  unsigned broken_ = 0;
  int64 checked_ = 0;
  std::vector<std::int32_t> positions_;  // of each row, the first entry that may be a later mirror image
};

// If every entry above the diagonal has a mirror image and no entry is left, all entries below it have one, too.
template <class T>
unsigned broken_by_entries(const Matrix& csr) {
  const Csr<T> a = Csr<T>::of(csr);
  const int64 entries = a.indptr[a.rows];
  if (entries == 0) return 0;
  std::vector<std::unique_ptr<Pairs<T>>> pairs(workers_for(2 * entries / a.rows));
  std::atomic<unsigned> broken = 0;
  for_rows(a, pairs.size(), 1, [&](int64 worker, int64 first, int64 last) {
    if (broken == kEverySymmetry) return;
    if (!pairs[worker]) pairs[worker] = std::make_unique<Pairs<T>>(a);
    pairs[worker]->add(first, last);
    broken |= pairs[worker]->broken();
  });
  int64 checked = 0;
  for (const auto& p : pairs) checked += p ? p->checked() : 0;
  if (broken == kEverySymmetry || checked == entries) return broken;
  return checked == count_runs(csr, {{0, entries}})[0] ? broken.load() : kEverySymmetry;
}

}  // namespace

unsigned broken_symmetries(const Matrix& csr) {
  return with_value_type(csr.dtype, [&]<class T>(T) { return broken_by_entries<T>(csr); });
}

}  // namespace diagsparse
