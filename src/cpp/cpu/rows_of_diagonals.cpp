// The rows of a matrix of diagonals as csr, on the CPU: all of them, and some of them.
#include "cpu/rows_of_diagonals.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "core/arithmetic.hpp"
#include "core/convert.hpp"
#include "core/validation.hpp"
#include "cpu/count_zeros.hpp"
#include "cpu/entries_in_order.hpp"

namespace diagsparse {

namespace {

constexpr int64 kRows = 8192, kBlockRows = 64;  // rows of a task, and of a block
constexpr int64 kCopied = 1024;                 // entries of rows that are copied together, or of a single one

// What a diagonal has in a block of rows.
enum class Values : std::uint8_t { zeros, both, nonzeros };

// A diagonal that intersects some rows, with its index: its element in row i is values[from + i], in column i + offset.
struct Crossed {
  int64 from, offset, index;
  bool operator==(const Crossed&) const = default;
};
using Diagonals = std::vector<Crossed>;

// What each diagonal has in the blocks that it intersects.
class Blocks {
 public:
  explicit Blocks(const std::vector<Span>& spans) {
    int64 size = 0;
    for (const Span& s : spans) {
      first_.push_back(size - s.row / kBlockRows);
      size += (s.row + s.length) / kBlockRows - s.row / kBlockRows + 1;
    }
    all_.resize(size);
  }
  int64 size() const { return static_cast<int64>(all_.size()); }
  Values& at(int64 diagonal, int64 row) { return all_[first_[diagonal] + row / kBlockRows]; }
  Values at(int64 diagonal, int64 row) const { return all_[first_[diagonal] + row / kBlockRows]; }

 private:
  std::vector<int64> first_;  // the position of block 0 of each diagonal
  std::vector<Values> all_;
};

// The rows at which a diagonal begins or ends, within [first, last], ascending and without repetitions.
std::vector<int64> cuts_of(const std::vector<Span>& spans, int64 first, int64 last) {
  std::vector<int64> cuts{first, last};
  for (const Span& s : spans) {
    for (const int64 row : {s.row, s.row + s.length}) {
      if (first < row && row < last) cuts.push_back(row);
    }
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

// The diagonals that intersect a row, in ascending order of columns.
void find_crossed(const std::vector<Span>& spans, int64 row, Diagonals& crossed) {
  crossed.clear();
  int64 index = 0;
  for (const Span& s : spans) {
    if (s.row <= row && row < s.row + s.length) crossed.push_back({s.start - s.row, s.offset, index});
    ++index;
  }
}

// Whether a value is not 0, without a comparison of floats, which needs a branch or more for NaN.
template <class T>
bool is_entry(T v) {
  if constexpr (is_complex<T>) return is_entry(v.re) | is_entry(v.im);
  else if constexpr (std::is_same_v<T, double>) return std::bit_cast<std::uint64_t>(v) << 1 != 0;
  else if constexpr (std::is_same_v<T, float>) return std::bit_cast<std::uint32_t>(v) << 1 != 0;
  else return v != 0;
}

// Writes the nonzero elements of rows one after another, from position `to` on and below `end`, even if another thread
// changes zeros of the matrix meanwhile.
template <class T>
class RowWriter {
 public:
  RowWriter(const T* from, bool conjugated, const std::vector<Array>& arrays, int64 to, int64 end)
      : from_(from),
        conjugated_(conjugated),
        columns_(arrays[0].as<std::int32_t>()),
        values_(arrays[1].as<T>()),
        to_(to),
        end_(end) {}

  int64 to() const { return to_; }

  // Row i. Whether an element is 0 is no branch, because a processor cannot predict it.
  void write(const Diagonals& crossed, int64 i) {
    const Crossed *d = crossed.data(), *const last = d + crossed.size();
    if (end_ - to_ >= last - d) {
      for (; d != last; ++d) to_ += put(*d, i);
    } else {
      for (; d != last && to_ < end_; ++d) to_ += put(*d, i);
    }
  }

  // Rows [first, last), which intersect these diagonals; start[i] is set to the end of row i. Where each diagonal has
  // either zeros or no zeros in a block, entries are copied diagonal by diagonal.
  void write(const Diagonals& crossed, const Blocks& blocks, int64 first, int64 last, int64* start) {
    for (int64 i = first, end = 0; i < last; i = end) {
      end = std::min(last, (i / kBlockRows + 1) * kBlockRows);
      bool uniform = true;
      stored_.clear();
      for (const Crossed& d : crossed) {
        const Values values = blocks.at(d.index, i);
        if (values != Values::zeros) stored_.push_back(d);
        if (values == Values::both) uniform = false;
      }
      if (uniform && end_ - to_ >= (end - i) * width()) {
        copy(i, end, start);
      } else {
        for (int64 row = i; row < end; ++row) {
          write(stored_, row);
          start[row] = to_;
        }
      }
    }
  }

 private:
  int64 width() const { return static_cast<int64>(stored_.size()); }

  // Writes the element of a diagonal in row i to the next position; whether it is an entry.
  bool put(const Crossed& d, int64 i) {
    const T v = from_[d.from + i];
    columns_[to_] = static_cast<std::int32_t>(i + d.offset);
    values_[to_] = conjugate_if(conjugated_, v);
    return is_entry(v);
  }

  void copy(int64 first, int64 last, int64* start) {
    const int64 rows = std::clamp<int64>(kCopied / (width() + 1), 1, kBlockRows);
    const int64 together = std::min(rows, last - first);
    if (stored_ != pattern_of_ || static_cast<int64>(pattern_.size()) < together * width()) set_pattern(together);
    for (; first < last; first += rows) {
      const int64 count = std::min(rows, last - first), entries = count * width();
      int64 d = 0;
      for (; d + 4 <= width(); d += 4) interleave<4>(d, first, count);
      for (; d + 2 <= width(); d += 2) interleave<2>(d, first, count);
      for (; d < width(); ++d) interleave<1>(d, first, count);
      std::int32_t* const columns = columns_ + to_;
      const std::int32_t* const pattern = pattern_.data();
      const auto shift = static_cast<std::int32_t>(first);
      for (int64 e = 0; e < entries; ++e) columns[e] = pattern[e] + shift;
      for (int64 t = 0; t < count; ++t) start[first + t] = to_ + (t + 1) * width();
      to_ += entries;
    }
  }

  // Copies rows of several diagonals at once, from stored_[d] on.
  template <int kDiagonals>
  void interleave(int64 d, int64 first, int64 count) {
    const T* from[kDiagonals];
    for (int k = 0; k < kDiagonals; ++k) from[k] = from_ + stored_[d + k].from + first;
    T* to = values_ + to_ + d;
    const int64 step = width();
    const bool conjugated = conjugated_;
    for (int64 t = 0; t < count; ++t, to += step) {
      for (int k = 0; k < kDiagonals; ++k) to[k] = conjugate_if(conjugated, from[k][t]);
    }
  }

  // The columns of some rows, from the first of them on.
  void set_pattern(int64 rows) {
    pattern_of_ = stored_;
    pattern_.clear();
    pattern_.reserve(rows * width());
    for (int64 t = 0; t < rows; ++t) {
      for (const Crossed& d : stored_) pattern_.push_back(static_cast<std::int32_t>(t + d.offset));
    }
  }

  const T* from_;
  const bool conjugated_;
  std::int32_t* columns_;
  T* values_;
  int64 to_;
  const int64 end_;
  Diagonals stored_, pattern_of_;
  std::vector<std::int32_t> pattern_;
};

// Divides the rows into chunks, with space for their nonzero values, and describes all blocks.
template <class T>
LineChunks chunks_of_rows(const std::vector<Span>& spans, const T* values, int64 rows, Blocks& blocks) {
  const int64 tasks = (rows + kRows - 1) / kRows;
  std::vector<int64> counts(tasks, 0);
  parallel_for(tasks, blocks.size() * kBlockRows, [&](int64 task) {
    for (int64 d = 0; d < static_cast<int64>(spans.size()); ++d) {
      const Span& s = spans[d];
      const int64 last = std::min((task + 1) * kRows, s.row + s.length);
      for (int64 i = std::max(task * kRows, s.row), end = 0; i < last; i = end) {
        end = std::min(last, (i / kBlockRows + 1) * kBlockRows);
        const int64 zeros = count_zeros(values + s.start - s.row + i, end - i);
        counts[task] += end - i - zeros;
        blocks.at(d, i) = zeros == 0 ? Values::nonzeros : zeros == end - i ? Values::zeros : Values::both;
      }
    }
  });
  LineChunks chunks;
  for (int64 t = 0; t < tasks; ++t) chunks.add(chunks.slots.back() + counts[t], std::min(rows, (t + 1) * kRows));
  return chunks;
}

// The same for the rows with these numbers, with space for all of their stored values, and before they are read.
LineChunks chunks_of_rows(const std::vector<Span>& spans, const std::vector<int64>& cuts,
                          std::span<const int64> numbers) {
  std::vector<int64> widths(cuts.size(), 0);  // of the rows from a cut to the next
  for (const Span& s : spans) {
    const auto at = [&](int64 row) { return std::lower_bound(cuts.begin(), cuts.end(), row) - cuts.begin(); };
    ++widths[at(s.row)];
    --widths[at(s.row + s.length)];
  }
  for (std::size_t c = 1; c < widths.size(); ++c) widths[c] += widths[c - 1];
  LineChunks chunks;
  int64 slots = 0;
  std::size_t c = 0;
  const auto count = static_cast<int64>(numbers.size());
  for (int64 j = 0; j < count; ++j) {
    if (numbers[j] < cuts[c] || numbers[j] >= cuts[c + 1]) {
      c = std::upper_bound(cuts.begin(), cuts.end(), numbers[j]) - cuts.begin() - 1;
    }
    slots += widths[c];
    if ((j + 1) % kRows == 0 || j + 1 == count) chunks.add(slots, j + 1);
  }
  return chunks;
}

template <class F>
Matrix rows_as_csr(const Matrix& a, Op op, int64 rows, const F& write) {
  const int64 cols = op.transposed ? a.rows : a.cols;
  check_shape(*common, rows, cols);
  Array indptr = Array::empty(DType::i64, {rows + 1});
  std::vector<Array> arrays;
  const auto of_type = [&]<class T>(T) { arrays = write(a.values.as<const T>(), indptr.as<int64>()); };
  if (a.dtype == DType::u8) of_type(std::uint8_t{});
  else with_value_type(a.dtype, of_type);
  return compressed(*common, rows, cols, std::move(arrays[0]), std::move(indptr), std::move(arrays[1]));
}

}  // namespace

Matrix csr_from_diagonals(const Matrix& a, Op op) {
  const std::vector<Span> spans = spans_of(a.layout(), op);
  const int64 rows = op.transposed ? a.cols : a.rows;
  return rows_as_csr(a, op, rows, [&]<class T>(const T* values, int64* start) {
    Blocks blocks(spans);
    const LineChunks chunks = chunks_of_rows(spans, values, rows, blocks);
    return entries_in_order({DType::i32, a.dtype}, chunks, start, [&](const auto& arrays, int64 t, int64 to) {
      RowWriter<T> writer(values, op.conjugated, arrays, to, to + chunks.slots[t + 1] - chunks.slots[t]);
      const std::vector<int64> cuts = cuts_of(spans, chunks.lines[t], chunks.lines[t + 1]);
      Diagonals crossed;
      for (std::size_t c = 1; c < cuts.size(); ++c) {
        find_crossed(spans, cuts[c - 1], crossed);
        writer.write(crossed, blocks, cuts[c - 1], cuts[c], start + 1);
      }
      return writer.to();
    });
  });
}

Matrix rows_of_diagonals(const Matrix& a, Op op, std::span<const int64> numbers) {
  const std::vector<Span> spans = spans_of(a.layout(), op);
  const std::vector<int64> cuts = cuts_of(spans, 0, op.transposed ? a.cols : a.rows);
  for (const int64 row : numbers) {
    if (row < 0 || row >= cuts.back()) throw std::logic_error("rows_of_diagonals: no such row");
  }
  const LineChunks chunks = chunks_of_rows(spans, cuts, numbers);
  return rows_as_csr(a, op, static_cast<int64>(numbers.size()), [&]<class T>(const T* values, int64* start) {
    return entries_in_order({DType::i32, a.dtype}, chunks, start, [&](const auto& arrays, int64 t, int64 to) {
      RowWriter<T> writer(values, op.conjugated, arrays, to, to + chunks.slots[t + 1] - chunks.slots[t]);
      Diagonals crossed;
      int64 first = 0, last = 0;  // rows that intersect these diagonals
      for (int64 j = chunks.lines[t]; j < chunks.lines[t + 1]; ++j) {
        if (const int64 row = numbers[j]; row < first || row >= last) {
          const auto cut = std::upper_bound(cuts.begin(), cuts.end(), row);
          first = cut[-1];
          last = *cut;
          find_crossed(spans, row, crossed);
        }
        writer.write(crossed, numbers[j]);
        start[j + 1] = writer.to();
      }
      return writer.to();
    });
  });
}

}  // namespace diagsparse
