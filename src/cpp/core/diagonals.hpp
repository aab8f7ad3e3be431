// Where the diagonals of a matrix are stored: the idea behind `dia`, `hm` and `cdm`.
//
// A diagonal is a contiguous run of stored values. The three formats differ only in the order of the runs and in where
// each run starts:
//
//       matrix A (4 x 5)         dia: one row of 4 a diagonal    hm: true lengths, packed
//     | 1  5  .  .  . |          [ 5  6  7  8 ]   offset  1      [ 1 2 3 4 | 5 6 7 8 | 9 10 11 ]
//     | 9  2  6  .  . |          [ 1  2  3  4 ]   offset  0        offset 0     1        -1
//     | . 10  3  7  . |          [ *  9 10 11 ]   offset -1
//     | .  . 11  4  8 |
//
// Everything else (products, sums, conversions, transposes) is written once for a list of runs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/structure.hpp"

namespace diagsparse {

// values[start + t] == A[row + t, row + t + offset] for 0 <= t < length
struct Span {
  int64 offset, row, length, start;
  int64 phase = 0;          // with a period, the value is values[start + (t + phase) % period]
  bool conjugated = false;  // Hermitian storage: the values on this span are conjugated
};

// Consecutive elements of a diagonal: element t is values[at(t)].
struct Elements {
  int64 start, phase, period;  // period 0: the elements are contiguous

  constexpr int64 at(int64 t) const { return period > 0 ? start + (phase + t) % period : start + t; }
};

inline int64 first_row(int64 offset) { return offset < 0 ? -offset : 0; }
inline int64 diagonal_length(int64 rows, int64 cols, int64 offset) {
  const int64 below = rows - first_row(offset), right = cols - (offset > 0 ? offset : 0);
  const int64 n = below < right ? below : right;
  return n > 0 ? n : 0;
}

// Looks up spans by their offsets. The spans are in ascending order and owned by the caller. Uses a table if the range
// of offsets is small, otherwise bisection.
class ByOffset {
 public:
  explicit ByOffset(const std::vector<Span>& spans);
  int64 find(int64 offset) const;  // the index of the span, or -1

 private:
  const std::vector<Span>& spans_;
  int64 low_ = 0;
  std::vector<std::int32_t> table_;
};

// Options of a layout that save memory. A layout with any of them is "packed".
struct Packing {
  Symmetry symmetry = Symmetry::none;  // if not none, one of two opposite diagonals is stored
  int64 period = 0;                    // > 0: diagonals repeat after this number of rows, and one period is stored

  explicit operator bool() const { return symmetry != Symmetry::none || period > 0; }
  bool operator==(const Packing&) const = default;
};

// The structure of the diagonal formats.
class Layout : public Structure {
 public:
  const char* labels_name;    // the format's name for them: "offsets" or "rows"
  std::vector<int64> labels;  // as stored: the offsets (dia, hm) or the row indices (cdm)
  std::vector<int64> starts;  // hm: where each diagonal starts, and the end
  std::vector<Span> spans;    // every stored diagonal, by ascending offset
  Packing packing;
  int64 halves = 1;  // number of diagonals in a row of the array: 2 in cdm

  Layout(const char* format, const char* labels_name, int64 rows, int64 cols, std::vector<int64> labels)
      : Structure(format, rows, cols), labels_name(labels_name), labels(std::move(labels)) {}

  std::vector<Part> parts() const override;
  int64 nbytes() const override { return 8 * static_cast<int64>(labels.size() + starts.size()); }
  int64 stored() const override;
  Symmetry symmetry() const override { return packing.symmetry; }
  bool same_as(const Structure& other) const override;
  void clear_padding(Array& values) const override;
};
using LayoutPtr = std::shared_ptr<const Layout>;

// The diagonals of a matrix, or of the first child if it consists of several matrices; null if there are none.
const Layout* diagonals_of(const Structure& structure);

// The offsets of the stored diagonals, ascending; empty for formats without offsets.
std::vector<int64> stored_offsets(const Structure& structure);

// The spans of op(A), by ascending offset. A transpose only relabels them; no value moves. spans_of throws
// std::logic_error for a packed layout. Code that can read one calls packed_spans_of, which also lists the mirror image
// of each stored diagonal.
std::vector<Span> spans_of(const Layout& layout, Op op);
std::vector<Span> packed_spans_of(const Layout& layout, Op op);

// The packed layout with the same labels. For symmetric storage, only one of two opposite diagonals may be given.
Layout pack(Layout full, Packing packing);
// The labels of a full layout that a packed one needs; of two opposite diagonals, the upper one.
std::vector<int64> packed_labels(const Layout& full, Packing packing);

// Used by the place() functions of the formats: throws a readable error for labels that repeat or are out of range.
void check_labels(const char* format, const char* what, const std::vector<int64>& labels, int64 low, int64 high,
                  int64 rows, int64 cols);
// a * b; throws std::length_error if the product does not fit 63 bits.
int64 checked_product(int64 a, int64 b);
void sort_spans(Layout& layout);

}  // namespace diagsparse
