// Statistics of windows of rows that represent a whole matrix.
#include "core/sample.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "core/backend.hpp"
#include "core/hash.hpp"

namespace diagsparse {

namespace {

constexpr int64 kWindows = 8;
constexpr int64 kRowsOfWindow = 64;  // windows begin at and contain multiples of it: complete slices, blocks and masks
constexpr int64 kFew = 4;            // windows with this many times fewer entries than wanted are not representative
constexpr int64 kLine = 64;          // bytes of a cache line
constexpr int64 kBlock = 8, kMaskRows = 32;
// Diagonals that are told apart, at least, and for each entry of a mean row; formats by diagonals are for fewer.
constexpr int64 kDiagonals = 1024, kDiagonalsPerEntry = 64;
constexpr int64 kUnrolled = 4;  // entries of a row that products process in one step

// ---- Reading -----------------------------------------------------------------------------------------

// Elements [first, last) of an array on any device.
template <class T>
std::vector<T> fetched(const Array& all, int64 first, int64 last) {
  std::vector<T> result(last - first);
  if (!result.empty()) copy_to_host(result.data(), all.as<const T>() + first, (last - first) * sizeof(T));
  return result;
}

struct Window {
  int64 first, last;          // rows
  std::vector<int64> indptr;  // of these rows, from the first to the end of the last
  int64 entries() const { return indptr.back() - indptr.front(); }
};

Window window(const Array& indptr, int64 first, int64 last) {
  return {first, last, fetched<int64>(indptr, first, last + 1)};
}

// Windows at equal distances.
std::vector<Window> windows_of(const Array& indptr, int64 rows, int64 entries) {
  const double mean = std::max(1.0, static_cast<double>(entries) / static_cast<double>(rows));
  const auto blocks = std::lround(kSampledEntries / kWindows / mean / kRowsOfWindow);
  const int64 height = std::max<int64>(1, blocks) * kRowsOfWindow;
  if (entries <= kSampledEntries || height * kWindows >= rows) return {window(indptr, 0, rows)};
  const auto wanted = std::lround(4 * kSampledEntries / mean / static_cast<double>(height));
  const int64 count = std::clamp<int64>(wanted, 2, kWindows);
  std::vector<Window> result;
  for (int64 w = 0; w < count; ++w) {
    const int64 first = (rows - height) * w / (count - 1) / kRowsOfWindow * kRowsOfWindow;
    result.push_back(window(indptr, first, first + height));
  }
  return result;
}

// Windows around entries at equal distances in storage.
std::vector<Window> windows_around_entries(const Array& indptr, int64 rows, int64 entries) {
  const std::vector<int64> all = fetched<int64>(indptr, 0, rows + 1);
  std::vector<Window> result;
  for (int64 w = 0; w < kWindows; ++w) {
    const int64 entry = (entries - 1) * w / (kWindows - 1);
    const int64 row = std::upper_bound(all.begin(), all.end(), entry) - all.begin() - 1;
    const int64 first = row / kRowsOfWindow * kRowsOfWindow, last = std::min(rows, first + kRowsOfWindow);
    if (!result.empty() && result.back().first == first) continue;
    result.push_back({first, last, {all.begin() + first, all.begin() + last + 1}});
  }
  return result;
}

std::vector<Window> representative_windows(const Array& indptr, int64 rows, int64 entries) {
  std::vector<Window> result = windows_of(indptr, rows, entries);
  int64 read = 0;
  for (const Window& w : result) read += w.entries();
  if (read >= std::min(entries, kSampledEntries) / kFew) return result;
  return windows_around_entries(indptr, rows, entries);
}

// ---- Counting ----------------------------------------------------------------------------------------

// How often numbers from 0 to limit - 1 were added since the last call of clear(); 255 times at most are told apart.
// The system provides zeroed pages only where numbers are added.
class Occurrences {
 public:
  explicit Occurrences(int64 limit) : times_(static_cast<std::uint8_t*>(std::calloc(limit, 1))) {
    if (!times_) throw std::bad_alloc();
  }

  // Returns how often the number has been added by now.
  int add(std::int32_t number, int times = 1) {
    if (distinct_ == added_.size()) added_.resize(2 * distinct_);
    std::uint8_t& all = times_[number];
    added_[distinct_] = number;
    distinct_ += all == 0;
    return all = static_cast<std::uint8_t>(std::min(255, all + times));
  }
  int64 distinct() const { return static_cast<int64>(distinct_); }
  void clear() {
    for (; distinct_ > 0; --distinct_) times_[added_[distinct_ - 1]] = 0;
  }

 private:
  struct Free {
    void operator()(std::uint8_t* p) const { std::free(p); }
  };
  std::unique_ptr<std::uint8_t[], Free> times_;
  std::vector<std::int32_t> added_ = std::vector<std::int32_t>(256);
  std::size_t distinct_ = 0;
};

// A hash table of diagonals, each with its number of entries, and a mark.
class Diagonals {
 public:
  struct Slot {
    std::int32_t offset = 0, entries = 0, mark = -1;
  };

  explicit Diagonals(int64 most) : most_(most) {}

  // Adds an entry. Returns the slot of its diagonal, or nullptr for a new one if there are already `most`. `at` is a
  // guess of its position, and is set to it.
  Slot* add(std::int32_t offset, std::uint32_t& at) {
    if (at >= slots_.size() || slots_[at].entries == 0 || slots_[at].offset != offset) {
      Slot* slot = &find(offset);
      if (slot->entries == 0) {
        if (count_ >= most_) return nullptr;
        if (2 * static_cast<std::size_t>(++count_) > slots_.size()) grow(), slot = &find(offset);
        slot->offset = offset;
      }
      at = static_cast<std::uint32_t>(slot - slots_.data());
    }
    ++slots_[at].entries;
    return &slots_[at];
  }

  // Offsets, ascending, with their numbers of entries.
  std::vector<std::pair<int64, int64>> list() const {
    std::vector<std::pair<int64, int64>> result;
    for (const Slot& slot : slots_) {
      if (slot.entries > 0) result.emplace_back(slot.offset, slot.entries);
    }
    std::sort(result.begin(), result.end());
    return result;
  }

 private:
  Slot& find(std::int32_t offset) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (static_cast<std::uint32_t>(offset) * kSpread) >> 32 & mask;
    while (slots_[at].entries != 0 && slots_[at].offset != offset) at = (at + 1) & mask;
    return slots_[at];
  }

  void grow() {
    const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
    for (const Slot& slot : old) {
      if (slot.entries > 0) find(slot.offset) = slot;
    }
  }

  int64 most_, count_ = 0;
  std::vector<Slot> slots_ = std::vector<Slot>(256);
};

class Counts {
 public:
  explicit Counts(const Matrix& csr)
      : line_bits_(std::countr_zero(static_cast<unsigned>(kLine / item_size(csr.dtype)))),
        diagonals_(std::max(kDiagonals, kDiagonalsPerEntry * csr.values.size() / csr.rows)),
        blocks_(csr.cols / kBlock + 1),
        lines_((csr.cols >> line_bits_) + 1) {}

  // Adds the row i of a window, of which these columns were read.
  void add_row(int64 i, const std::int32_t* columns, int64 count) {
    rows += 1;
    if (in_window_) branches += (count / kUnrolled != before_ / kUnrolled) + (count % kUnrolled != before_ % kUnrolled);
    in_window_ = true;
    before_ = count;
    if (i % kBlock == 0) close_blocks();
    if (positions_.size() < static_cast<std::size_t>(count)) positions_.resize(count);
    const auto mask = static_cast<std::int32_t>(i / kMaskRows);
    std::int32_t block = -1, in_block = 0, line = -1;
    for (int64 e = 0; e < count; ++e) {
      const std::int32_t j = columns[e];
      if (Diagonals::Slot* const diagonal = diagonals_.add(static_cast<std::int32_t>(j - i), positions_[e])) {
        masks += diagonal->mark != mask;
        diagonal->mark = mask;
      } else {
        ++masks;
      }
      if (j / static_cast<std::int32_t>(kBlock) != block) {  // columns are ascending
        add_block(block, in_block);
        block = j / static_cast<std::int32_t>(kBlock), in_block = 0;
      }
      ++in_block;
      if (j >> line_bits_ != line) lines_.add(line = j >> line_bits_);
    }
    add_block(block, in_block);
    entries += count;
  }

  void close_window() {
    close_blocks();
    lines += lines_.distinct();
    lines_.clear();
    in_window_ = false;
  }

  std::vector<std::pair<int64, int64>> diagonals() const { return diagonals_.list(); }

  int64 rows = 0, entries = 0, blocks = 0, in_full_blocks = 0, masks = 0, lines = 0, branches = 0;

 private:
  void add_block(std::int32_t block, std::int32_t elements) {
    constexpr int full = kBlock * kBlock;
    if (elements > 0 && blocks_.add(block, elements) == full) in_full_blocks += full;
  }
  void close_blocks() {
    blocks += blocks_.distinct();
    blocks_.clear();
  }

  int line_bits_;
  Diagonals diagonals_;
  Occurrences blocks_, lines_;            // of a row of blocks, and of a window
  std::vector<std::uint32_t> positions_;  // of the diagonals of the previous row, which often are those of the next one
  bool in_window_ = false;
  int64 before_ = 0;  // entries of the previous row of the window
};

void add_window(const Window& w, const Array& indices, int64 most, Counts& counts) {
  bool all = true;
  for (std::size_t r = 1; r < w.indptr.size(); ++r) all &= w.indptr[r] - w.indptr[r - 1] <= most;
  const auto columns =
      all ? fetched<std::int32_t>(indices, w.indptr.front(), w.indptr.back()) : std::vector<std::int32_t>();
  for (int64 i = w.first; i < w.last; ++i) {
    const int64 begin = w.indptr[i - w.first], count = std::min(most, w.indptr[i - w.first + 1] - begin);
    if (all) counts.add_row(i, columns.data() + (begin - w.indptr.front()), count);
    else counts.add_row(i, fetched<std::int32_t>(indices, begin, begin + count).data(), count);
  }
  counts.close_window();
}

}  // namespace

Sample sample(const Matrix& csr) {
  const int64 entries = csr.values.size();
  Sample result;
  if (entries == 0) return result;
  const std::vector<Window> windows = representative_windows(csr.index("indptr"), csr.rows, entries);
  int64 rows = 0;
  for (const Window& w : windows) rows += w.last - w.first;
  const int64 most = entries <= kSampledEntries ? entries : std::max(kRowsOfWindow, 4 * kSampledEntries / rows);
  Counts counts(csr);
  for (const Window& w : windows) add_window(w, csr.index("indices"), most, counts);
  const auto read = static_cast<double>(std::max<int64>(1, counts.entries));
  const double scale = static_cast<double>(entries) / read;
  for (const auto& [offset, times] : counts.diagonals()) {
    result.offsets.push_back(offset);
    result.fill.push_back(std::max<int64>(1, std::lround(static_cast<double>(times) * scale)));
  }
  result.blocks = std::lround(static_cast<double>(counts.blocks) * scale);
  result.in_full_blocks = static_cast<double>(counts.in_full_blocks) / read;
  result.masks = static_cast<double>(counts.masks) / read;
  result.lines = static_cast<double>(counts.lines) / read;
  result.branches = static_cast<double>(counts.branches) / static_cast<double>(std::max<int64>(1, counts.rows));
  return result;
}

}  // namespace diagsparse
