// Which symmetries the values of csr have, on the CPU.
#include "core/symmetry.hpp"

#include <atomic>
#include <memory>

#include "core/summary.hpp"
#include "cpu/csr_rows.hpp"

namespace diagsparse {

namespace {

// Entries on the diagonal and above it, each beside its mirror image.
template <class T>
class Pairs {
 public:
  explicit Pairs(const Csr<T>& a) : a_(a), places_(a.rows, 0) {}

  // Looks at the rows [first, last), which come after all others, until all symmetries are broken.
  void add(int64 first, int64 last) {
    for_repeated_rows(a_, first, last, [this](int64 i, int64 repeated) {
      const int64 end = i + repeated;
      for (int64 rows; i < end && broken_ != kEverySymmetry; i += rows) {
        rows = std::min(kTogether, end - i);
        if (rows > 1 && mirrors_alike(i, rows, end)) add_alike(i, rows);
        else add_each(i, rows);
      }
    });
  }

  unsigned broken() const { return broken_; }
  // How many entries that are not 0 were met, their mirror images among them.
  int64 met() const { return met_; }

 private:
  static constexpr int64 kTogether = 16;  // rows that are alike, at once: their values stay in the caches

  [[gnu::noinline]] void add_each(int64 first, int64 rows) {
    const Csr<T> a = a_;
    std::int32_t* const places = places_.data();
    unsigned broken = 0;
    int64 met = 0;
    for (int64 i = first; i < first + rows; ++i) {
      const int64 end = a.indptr[i + 1];
      for (int64 e = a.indptr[i] + places[i]; e < end; ++e) {
        const int64 j = a.indices[e];
        if (j < i || is_zero(a.values[e])) continue;
        const T* const mirror = j == i ? a.values + e : value_at(a, j, i, places[j]);
        broken |= mirror ? symmetries_broken_by(a.values[e], *mirror) : kEverySymmetry;
        met += j == i ? 1 : 2;
      }
    }
    broken_ |= broken;
    met_ += met;
  }

  // Whether the rows in which the mirror images of these lie are alike, too: `rows` rows from row i on, which are so up
  // to row `end`.
  bool mirrors_alike(int64 i, int64 rows, int64 end) const {
    for (int64 e = a_.indptr[i + 1] - 1; e >= a_.indptr[i]; --e) {
      const int64 first = a_.indices[e], last = first + rows;
      if (last <= end) return true;
      if (last > a_.rows || !columns_repeat(a_, first, last - 1, 1)) return false;
    }
    return true;
  }

  // The same of rows that are alike, as their mirror images are: where one is, the others follow.
  void add_alike(int64 i, int64 rows) {
    const int64 begin = a_.indptr[i], end = a_.indptr[i + 1], step = end - begin;
    fetch(begin + rows * step, rows * step);
    for (int64 e = begin; e < end; ++e) {
      const int64 j = a_.indices[e];
      if (j < i) continue;
      const int64 mirror_step = a_.indptr[j + 1] - a_.indptr[j];
      const T *const value = a_.values + e, *const mirror = j == i ? value : value_at(a_, j, i, places_[j]);
      unsigned broken = 0;
      int64 met = 0;
      for (int64 t = 0; t < rows; ++t) {
        met += !is_zero(value[t * step]);
        broken |= symmetries_broken_by(value[t * step], mirror ? mirror[t * mirror_step] : T{});
      }
      broken_ |= broken;
      met_ += j == i ? met : 2 * met;
    }
  }

  // Calls for values that come next: those of a diagonal lie too far apart for the processor to foresee them.
  void fetch(int64 first, int64 count) const {
    constexpr int64 kLine = 64 / sizeof(T);
    const int64 last = std::min(first + count, a_.indptr[a_.rows]);
    for (int64 e = first; e < last; e += kLine) __builtin_prefetch(a_.values + e);
  }

  // The value in this column of a row, nullptr where there is none. Columns rise from call to call, so that a row is
  // walked but once: `place` is where in it.
  [[gnu::always_inline]] static const T* value_at(const Csr<T>& a, int64 row, int64 column, std::int32_t& place) {
    const int64 begin = a.indptr[row], count = a.indptr[row + 1] - begin;
    const std::int32_t* const columns = a.indices + begin;
    while (place < count && columns[place] < column) ++place;
    return place < count && columns[place] == column ? a.values + begin + place++ : nullptr;
  }

  const Csr<T> a_;
  unsigned broken_ = 0;
  int64 met_ = 0;
  std::vector<std::int32_t> places_;  // of each row, the first that may hold a mirror image yet to come
};

// Where every entry above the diagonal has a mirror image and no entry is left over, those below have theirs, too.
template <class T>
unsigned broken_by_entries(const Matrix& csr) {
  const Csr<T> a = Csr<T>::of(csr);
  const int64 entries = a.indptr[a.rows];
  if (entries == 0) return 0;
  std::vector<std::unique_ptr<Pairs<T>>> pairs(shares_for(2 * entries / a.rows));
  std::atomic<unsigned> broken = 0;
  for_rows(a, pairs.size(), 1, [&](int64 share, int64 first, int64 last) {
    if (broken == kEverySymmetry) return;
    if (!pairs[share]) pairs[share] = std::make_unique<Pairs<T>>(a);
    pairs[share]->add(first, last);
    broken |= pairs[share]->broken();
  });
  int64 met = 0;
  for (const auto& p : pairs) met += p ? p->met() : 0;
  if (broken == kEverySymmetry || met == entries) return broken;
  return met == count_runs(csr, {{0, entries}})[0] ? broken.load() : kEverySymmetry;
}

}  // namespace

unsigned broken_symmetries(const Matrix& csr) {
  return with_value_type(csr.dtype, [&](auto zero) { return broken_by_entries<decltype(zero)>(csr); });
}

}  // namespace diagsparse
