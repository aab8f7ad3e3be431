// Palettes of masked diagonals on the CPU.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "core/compressed_rows.hpp"
#include "cpu/csr_rows.hpp"
#include "formats/mdia/cpu_masks.hpp"
#include "formats/mdia/palette.hpp"

namespace diagsparse {

namespace {

// The different values of one diagonal, in the order of their first elements; none if there are too many. The memory is
// proportional to their number, because matrices may have many diagonals with few elements each.
template <class Bits>
class Colors {
 public:
  std::vector<Bits> values;
  bool too_many = false;

  bool repeats(const Bits& value) const { return !values.empty() && value == last_; }
  void add(const Bits& value) {
    if (too_many || repeats(value)) return;
    last_ = value;
    if (2 * values.size() >= slots_.size()) grow();
    std::uint16_t& slot = slot_of(value);
    if (slot != 0) return;
    values.push_back(value);
    slot = static_cast<std::uint16_t>(values.size());
    too_many = static_cast<int64>(values.size()) > kMostColors;
    if (too_many) values = {}, slots_ = {};
  }
  void add(const Colors& other) {
    too_many |= other.too_many;
    if (too_many) values = {}, slots_ = {};
    for (const Bits& value : other.values) add(value);
  }

 private:
  // The slot of a value, or the free one for it.
  std::uint16_t& slot_of(const Bits& value) {
    std::uint64_t words[2] = {};
    std::memcpy(words, &value, sizeof value);
    const std::uint64_t hash = (words[0] ^ std::rotl(words[1], 32)) * 0x9e3779b97f4a7c15U;
    const std::size_t last = slots_.size() - 1;
    std::size_t slot = hash >> (64 - std::bit_width(last));  // the upper bits
    while (slots_[slot] != 0 && !(values[slots_[slot] - 1] == value)) slot = (slot + 1) & last;
    return slots_[slot];
  }
  void grow() {
    slots_.assign(std::max<std::size_t>(16, 2 * slots_.size()), 0);
    for (std::size_t k = 0; k < values.size(); ++k) slot_of(values[k]) = static_cast<std::uint16_t>(k + 1);
  }
  Bits last_{};                       // most values repeat the one before
  std::vector<std::uint16_t> slots_;  // a hash table, at most half full: 1 + the position of a value, or 0
};

template <class Bits>
std::vector<DistinctValues> distinct(const Matrix& m) {
  const auto a = Mdia<Bits>::over(*m.structure, m.values.as<Bits>());
  const int64 tasks = std::min(a.blocks(), tasks_for(a.count()));
  std::vector<std::vector<Colors<Bits>>> of_task(tasks);
  std::vector<std::vector<int64>> elements(tasks);
  parallel_for(tasks, 4 * a.count(), [&](int64 task) {
    auto& colors = of_task[task] = std::vector<Colors<Bits>>(a.diagonals);
    auto& counts = elements[task] = std::vector<int64>(a.diagonals);
    for (int64 b = a.blocks() * task / tasks; b < a.blocks() * (task + 1) / tasks; ++b) {
      if (b % 1024 == 0) checkpoint();
      const Bits* value = a.values + a.begin[b];
      for (int64 d = 0; d < a.diagonals; ++d) {
        const int count = std::popcount(a.mask[b * a.diagonals + d]);
        for (int i = 0; !colors[d].too_many && i < count; ++i) colors[d].add(value[i]);
        counts[d] += count;
        value += count;
      }
    }
  });
  std::vector<DistinctValues> all(a.diagonals);
  for (int64 d = 0; d < a.diagonals; ++d) {
    Colors<Bits> together;
    for (int64 task = 0; task < tasks; ++task) {
      all[d].elements += elements[task][d];
      together.add(of_task[task][d]);
    }
    if (together.too_many) continue;
    all[d].values.resize(sizeof(Bits) * together.values.size());
    std::memcpy(all[d].values.data(), together.values.data(), all[d].values.size());
  }
  return all;
}

// The diagonals that have too many values in some task, so that no task has to count them any longer.
class Closed {
 public:
  explicit Closed(std::size_t diagonals) : closed_(diagonals), open_(static_cast<int64>(diagonals)) {}
  bool operator[](std::size_t d) const { return closed_[d].load(std::memory_order_relaxed); }
  void close(std::size_t d) { open_ -= !closed_[d].exchange(true, std::memory_order_relaxed); }
  bool all() const { return open_.load(std::memory_order_relaxed) == 0; }

 private:
  std::vector<std::atomic<bool>> closed_;
  std::atomic<int64> open_;
};

// The number of each diagonal with entries. The system provides zeroed pages only where numbers are written.
class Numbers {
 public:
  Numbers(int64 rows, int64 cols, const std::vector<int64>& offsets)
      : main_(rows), numbers_(static_cast<std::int32_t*>(std::calloc(rows + cols, sizeof(std::int32_t)))) {
    if (!numbers_) throw std::bad_alloc();
    for (std::size_t d = 0; d < offsets.size(); ++d) numbers_[main_ + offsets[d]] = static_cast<std::int32_t>(d);
  }
  std::size_t operator[](int64 offset) const { return static_cast<std::size_t>(numbers_[main_ + offset]); }

 private:
  struct Free {
    void operator()(std::int32_t* p) const { std::free(p); }
  };
  int64 main_;  // position of the main diagonal
  std::unique_ptr<std::int32_t[], Free> numbers_;
};

template <class Bits>
void add_row(const Csr<Bits>& a, int64 i, const Numbers& number, std::vector<Colors<Bits>>& colors, Closed& closed) {
  for (int64 e = a.indptr[i]; e < a.indptr[i + 1]; ++e) {
    const std::size_t d = number[a.indices[e] - i];
    if (colors[d].repeats(a.values[e]) || closed[d]) continue;
    colors[d].add(a.values[e]);
    if (colors[d].too_many) closed.close(d);
  }
}

// Rows that repeat the row above are skipped.
template <class Bits>
std::vector<int64> colors_of(const Matrix& csr, const std::vector<int64>& offsets) {
  const auto a = Csr<Bits>::of(csr);
  const auto repeat = [&](int64 from, int64 to) { return rows_repeat(a, from, to, 1); };
  const int64 tasks = std::max<int64>(1, std::min(a.rows, tasks_for(csr.values.size())));
  std::vector<std::vector<Colors<Bits>>> of_task(tasks);
  Closed closed(offsets.size());
  const Numbers number(a.rows, a.cols, offsets);
  parallel_for(tasks, 4 * csr.values.size(), [&](int64 task) {
    if (closed.all()) return;
    auto& colors = of_task[task] = std::vector<Colors<Bits>>(offsets.size());
    const int64 last = a.rows * (task + 1) / tasks;
    for (int64 i = a.rows * task / tasks; i < last && !closed.all(); i = end_of_repeated(i + 1, last, repeat)) {
      if (i % 1024 == 0) checkpoint();
      add_row(a, i, number, colors, closed);
    }
  });
  std::vector<int64> counts;
  for (std::size_t d = 0; d < offsets.size(); ++d) {
    Colors<Bits> together;
    for (const auto& colors : of_task) {
      if (!closed[d] && !colors.empty()) together.add(colors[d]);
    }
    counts.push_back(static_cast<int64>(together.values.size()));
  }
  return counts;
}

}  // namespace

Array codings_of(const Structure& structure) {
  return *structure.cache().get<const Array>("codings", [&] {
    const std::vector<Coding> host = codings_for(table_pointers(static_cast<const Indices&>(structure)));
    const Array list = Array::empty(DType::i64, {2 * static_cast<int64>(host.size())});
    std::memcpy(list.data, host.data(), list.nbytes());
    structure.cache().count(list.nbytes());
    return std::make_shared<Array>(list);
  });
}

std::vector<DistinctValues> distinct_values(const Matrix& m) {
  return with_bits(m.dtype, [&](auto zero) { return distinct<decltype(zero)>(m); });
}

std::vector<int64> count_colors(const Matrix& csr, const std::vector<int64>& offsets) {
  return with_bits(csr.dtype, [&](auto zero) { return colors_of<decltype(zero)>(csr, offsets); });
}

void encode(const Matrix& plain, const Matrix& coded) {
  with_bits(plain.dtype, [&](auto zero) {
    using Bits = decltype(zero);
    const auto a = Mdia<Bits>::over(*plain.structure, plain.values.as<Bits>());
    const auto c = Mdia<Bits>::over(*coded.structure, coded.values.as<Bits>());
    const std::vector<int64> tables = table_pointers(static_cast<const Indices&>(*coded.structure));
    auto* const codes = coded.index("codes").as<std::uint32_t>();
    for_each_block(a.rows, 4 * a.count(), [&](int64 b) {
      const Bits* value = a.values + a.begin[b];
      Bits* to = coded.values.as<Bits>() + c.begin[b];
      for (int64 d = 0; d < a.diagonals; ++d) {
        const Mask rows = a.mask[b * a.diagonals + d];
        const int count = std::popcount(rows);
        const Coding& coding = c.codings[d];
        if (coding.is_stored()) {
          to = std::copy_n(value, count, to);
        } else if (coding.bits > 0) {
          std::uint32_t* const words = codes + b * c.words + coding.word;
          const Bits *const table = c.values + coding.table, *next = value;
          const auto colors = static_cast<std::uint32_t>(tables[d + 1] - tables[d]);
          for_each_row(rows, [&](int i) {
            const int bit = i * coding.bits;
            words[bit / 32] |= position_in(table, colors, *next++) << bit % 32;
          });
        }
        value += count;
      }
    });
  });
}

void decode(const Matrix& coded, const Matrix& plain) {
  with_bits(plain.dtype, [&](auto zero) {
    using Bits = decltype(zero);
    const auto c = Mdia<Bits>::over(*coded.structure, coded.values.as<Bits>());
    const auto* const begin = plain.index("block_indptr").as<std::int64_t>();
    for_each_block(c.rows, 4 * plain.values.size(), [&](int64 b) {
      const Bits* stored = c.values + c.begin[b];
      Bits* to = plain.values.as<Bits>() + begin[b];
      Bits buffer[kPackedRows];
      for (int64 d = 0; d < c.diagonals; ++d) {
        const Mask rows = c.mask[b * c.diagonals + d];
        if (rows == 0) continue;
        const int count = std::popcount(rows);
        to = std::copy_n(packed_values(c, b, d, rows, stored, buffer), count, to);
        if (!c.is_coded(d)) stored += count;
      }
    });
  });
}

}  // namespace diagsparse
