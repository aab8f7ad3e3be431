// Statistics of a matrix before a conversion, on the CPU.
#include "core/summary.hpp"

#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <numeric>

#include "cpu/csr_rows.hpp"

namespace diagsparse {

// ---- Diagonals ---------------------------------------------------------------------------------------

namespace {

using Number = std::int32_t;  // of entries on a diagonal

// A number for each diagonal in ascending order, and a flag for each part of the diagonals that has been written. The
// system provides zeroed pages only where numbers are written, and other parts are not read.
class Table {
 public:
  static constexpr int kBits = 14;
  static constexpr int64 kPart = 1 << kBits;  // diagonals

  explicit Table(int64 diagonals)
      : numbers_(static_cast<Number*>(std::calloc(diagonals, sizeof(Number)))), touched_(diagonals / kPart + 1, 0) {
    if (!numbers_) throw std::bad_alloc();
  }

  struct View {
    Number* numbers;
    std::uint16_t* touched;  // not bytes: they may alias anything, so the compiler would reload other values
    [[gnu::always_inline]] Number& at(int64 d) const {
      touched[static_cast<std::uint64_t>(d) >> kBits] = 1;
      return numbers[d];
    }
  };
  View view() { return {numbers_.get(), touched_.data()}; }
  const Number* part(int64 number) const { return touched_[number] ? numbers_.get() + number * kPart : nullptr; }

 private:
  struct Free {
    void operator()(Number* p) const { std::free(p); }
  };
  std::unique_ptr<Number[], Free> numbers_;
  std::vector<std::uint16_t> touched_;
};

// Adds the entries of the rows [first, last).
void add_diagonals_of(const Csr<float> a, int64 first, int64 last, Table::View table) {
  for_repeated_rows(a, first, last, [=](int64 i, int64 rows) {
    const int64 main = a.rows - 1 - i;
    for (int64 e = a.indptr[i]; e < a.indptr[i + 1]; ++e) table.at(main + a.indices[e]) += static_cast<Number>(rows);
  });
}

struct Occupied {
  int64 offset, entries;
};

std::vector<Occupied> listed_diagonals(const Csr<float>& a) {
  const std::vector<int64> all = sorted_keys(a, [](int64 i, int64 j) { return j - i; });
  std::vector<Occupied> result;
  for (std::size_t e = 0, first = 0; e < all.size(); first = e) {
    while (e < all.size() && all[e] == all[first]) ++e;
    result.push_back({all[first], static_cast<int64>(e - first)});
  }
  return result;
}

// Adds up the tables; the first diagonal has offset `lowest`.
std::vector<Occupied> read_out(const std::vector<std::unique_ptr<Table>>& tables, int64 lowest, int64 diagonals) {
  constexpr int64 part = Table::kPart;
  const auto sum = std::make_unique<Number[]>(part);
  std::vector<Occupied> result;
  for (int64 first = 0; first < diagonals; first += part) {
    bool touched = false;
    for (const auto& table : tables) {
      const auto* const numbers = table->part(first / part);
      if (numbers == nullptr) continue;
      if (!touched) std::fill_n(sum.get(), part, Number{});
      touched = true;
      for (int64 d = 0; d < std::min(part, diagonals - first); ++d) sum[d] += numbers[d];
    }
    for (int64 d = 0; touched && d < part; ++d) {
      if (sum[d]) result.push_back({first + d + lowest, sum[d]});
    }
  }
  return result;
}

// The diagonals with entries, ascending.
std::vector<Occupied> occupied(const Csr<float>& a) {
  const int64 entries = a.indptr[a.rows], lowest = 1 - a.rows, diagonals = a.cols - lowest;
  if (entries == 0) return {};
  if (!table_is_worthwhile(a.rows, a.cols, entries)) return listed_diagonals(a);
  // Each worker has a table; together they need no more memory than the matrix.
  const int64 bytes = diagonals * static_cast<int64>(sizeof(Number));
  std::vector<std::unique_ptr<Table>> tables(workers_for(8 * entries / bytes));
  for_rows(a, tables.size(), 1, [&](int64 worker, int64 first, int64 last) {
    if (!tables[worker]) tables[worker] = std::make_unique<Table>(diagonals);
    add_diagonals_of(a, first, last, tables[worker]->view());
  });
  std::erase(tables, nullptr);
  return read_out(tables, lowest, diagonals);
}

// The same, computed once in a single pass: who needs the offsets often needs the numbers of entries as well.
const std::vector<Occupied>& occupied_once(const Matrix& csr) {
  return *csr.cache().get<std::vector<Occupied>>(
      "diagonals with entries", [&] { return std::make_shared<std::vector<Occupied>>(occupied(structure_of(csr))); });
}

}  // namespace

std::vector<int64> find_occupied_diagonals(const Matrix& csr) {
  std::vector<int64> offsets;
  for (const Occupied& d : occupied_once(csr)) offsets.push_back(d.offset);
  return offsets;
}

std::vector<int64> count_on_diagonals(const Matrix& csr) {
  std::vector<int64> counts;
  for (const Occupied& d : occupied_once(csr)) counts.push_back(d.entries);
  return counts;
}

// ---- Blocks ------------------------------------------------------------------------------------------

namespace {

// column / size by a multiplication, which is faster than a division.
struct BlockOf {
  double inverse;
  explicit BlockOf(int64 size) : inverse(1.0 / static_cast<double>(size)) {}
  std::int32_t operator()(int64 column) const {
    return static_cast<std::int32_t>((static_cast<double>(column) + 0.5) * inverse);
  }
};

// The blocks of the rows [first, last), which start with a block. last_row[c] is the last row of blocks with an entry
// in column c of blocks.
int64 blocks_in(const Csr<float> a, int64 first, int64 last, int64 size, std::int32_t* last_row) {
  const BlockOf block_of(size);
  int64 blocks = 0;
  for (int64 top = first; top < last; top += size) {
    const auto row = static_cast<std::int32_t>(top / size);
    const auto visit = [=, &blocks](std::int32_t block) {
      blocks += last_row[block] != row;
      last_row[block] = row;
    };
    for_repeated_rows(a, top, std::min(last, top + size), [=](int64 i, int64 rows) {
      for (int64 e = a.indptr[i]; e < a.indptr[i + 1]; ++e) visit(block_of(a.indices[e]));
      for (int64 e = a.indptr[i]; rows > 1 && e < a.indptr[i + 1]; ++e) visit(block_of(a.indices[e] + rows - 1));
    });
  }
  return blocks;
}

}  // namespace

int64 count_blocks(const Matrix& csr, int64 size) {
  const Csr<float> a = structure_of(csr);
  const int64 block_rows = (a.rows + size - 1) / size, block_cols = (a.cols + size - 1) / size,
              count = csr.values.size();
  const BlockOf block_of(size);
  if (!table_is_worthwhile(block_rows, block_cols, count)) {
    // The row of blocks is stored above the 32 bits of the column of blocks.
    std::vector<std::uint64_t> all = sorted_keys(
        a, [=](int64 i, int64 j) { return static_cast<std::uint64_t>(i / size) << 32 | std::uint64_t(block_of(j)); });
    return std::unique(all.begin(), all.end()) - all.begin();
  }
  if (count == 0) return 0;
  std::vector<int64> result(workers_for(count / block_cols), 0);
  // The last row of blocks with an entry, for each column of blocks.
  std::vector<std::vector<std::int32_t>> last_rows(result.size());
  for_rows(a, result.size(), size, [&](int64 worker, int64 first, int64 last) {
    last_rows[worker].resize(block_cols, -1);
    result[worker] += blocks_in(a, first, last, size, last_rows[worker].data());
  });
  return std::accumulate(result.begin(), result.end(), int64{0});
}

// ---- Rows --------------------------------------------------------------------------------------------

namespace {

// The row lengths of a diagonal matrix.
std::vector<std::int32_t> entries_of_rows(const Matrix& a, const Layout& layout, Op op) {
  std::vector<std::int32_t> counts(op.transposed ? a.cols : a.rows, 0);
  const auto rows = static_cast<int64>(counts.size());
  const int64 tasks = (rows + kRows - 1) / kRows;
  const std::vector<Span> spans = packed_spans_of(layout, op);
  const int64 period = layout.packing.period;
  with_stored_type(a.dtype, [&]<class T>(T) {
    const T* values = a.values.as<const T>();
    parallel_for(tasks, a.structure->stored(), [&](int64 task) {
      for (const Span& s : spans) {
        const Elements elements{s.start, s.phase, period};
        const int64 first = std::max(task * kRows, s.row), last = std::min((task + 1) * kRows, s.row + s.length);
        for (int64 i = first; i < last; ++i) counts[i] += !is_zero(values[elements.at(i - s.row)]);
      }
    });
  });
  return counts;
}

// The number of rows of each length.
template <class F>
RowLengths tally_of(int64 rows, const F& length_of) {
  constexpr int64 kShort = 256, kAtATime = 4;  // separate counters: no increment waits for the previous one
  const int64 tasks = (rows + kRows - 1) / kRows;
  std::vector<std::map<int64, int64>> result(tasks);
  parallel_for(tasks, rows, [&](int64 task) {
    std::array<int64, kShort * kAtATime> counts{};
    const int64 last = std::min(rows, (task + 1) * kRows);
    for (int64 i = task * kRows; i < last; ++i) {
      const int64 length = length_of(i);
      if (length < kShort) ++counts[length * kAtATime + i % kAtATime];
      else ++result[task][length];
    }
    for (std::size_t k = 0; k < counts.size(); ++k) {
      if (counts[k] > 0) result[task][static_cast<int64>(k) / kAtATime] += counts[k];
    }
  });
  std::map<int64, int64> all;
  for (const auto& lengths : result) {
    for (const auto& [length, count] : lengths) all[length] += count;
  }
  return {all.begin(), all.end()};
}

}  // namespace

RowLengths count_row_lengths(const Matrix& a, Op op) {
  if (const auto* layout = dynamic_cast<const Layout*>(a.structure.get())) {
    const std::vector<std::int32_t> counts = entries_of_rows(a, *layout, op);
    return tally_of(static_cast<int64>(counts.size()), [&](int64 i) { return counts[i]; });
  }
  const int64* const start = a.index("indptr").as<int64>();
  return tally_of(a.rows, [=](int64 i) { return start[i + 1] - start[i]; });
}

LeadingEntries count_leading(const Matrix& csr, Leading leading) {
  const Csr<float> a = structure_of(csr);
  const auto combined = [](LeadingEntries f, LeadingEntries g) {
    return LeadingEntries{std::max(f.longest, g.longest), f.all + g.all};
  };
  std::vector<LeadingEntries> result(workers_for(a.rows));
  for_rows(a, result.size(), 1, [&](int64 worker, int64 first, int64 last) {
    LeadingEntries partial{};
    for (int64 i = first; i < last; ++i) {
      const int64 count = leading.of(i, a.indices + a.indptr[i], a.indptr[i + 1] - a.indptr[i]);
      partial = combined(partial, {count, count});
    }
    result[worker] = combined(result[worker], partial);
  });
  return std::accumulate(result.begin(), result.end(), LeadingEntries{}, combined);
}

}  // namespace diagsparse
