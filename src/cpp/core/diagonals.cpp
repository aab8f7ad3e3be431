// Diagonals as contiguous runs of values: layouts, packed storage and transposes.
#include "core/diagonals.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "core/validation.hpp"

namespace diagsparse {

namespace {

// The span of the same values in the transpose.
Span transposed(Span s) {
  s.row += s.offset;
  s.offset = -s.offset;
  return s;
}

bool by_offset(const Span& a, const Span& b) { return a.offset < b.offset; }

}  // namespace

int64 Layout::stored() const {
  int64 n = 0;
  for (const Span& s : spans) n += s.length * (packing.symmetry != Symmetry::none && s.offset != 0 ? 2 : 1);
  return n;
}

std::vector<Part> Layout::parts() const {
  // Exposes a vector of the layout as an array, read-only because all matrices with this layout share it.
  const auto shared = [this](const std::vector<int64>& vector) {
    Array a;
    a.data = const_cast<int64*>(vector.data());
    a.dtype = DType::i64;
    a.shape.rows = static_cast<int64>(vector.size());
    a.owner = shared_from_this();
    a.writeable = false;
    a.on_host = true;
    return a;
  };
  std::vector<Part> all{{labels_name, shared(labels)}};
  if (!starts.empty()) all.emplace_back("starts", shared(starts));
  return all;
}

bool Layout::same_as(const Structure& other) const {
  if (this == &other) return true;
  const auto* given = dynamic_cast<const Layout*>(&other);
  return given != nullptr && format == given->format && rows == given->rows && cols == given->cols &&
         labels == given->labels && starts == given->starts && packing == given->packing &&
         values_shape.rows == given->values_shape.rows && values_shape.cols == given->values_shape.cols;
}

void Layout::clear_padding(Array& values) const {
  if (stored() == values.size()) return;
  const int64 item = item_size(values.dtype);
  std::vector<Bytes> gaps;
  int64 end = 0;
  for (const Span& s : spans) {
    if (end < s.start) gaps.push_back({end * item, s.start * item});
    end = s.start + s.length;
  }
  if (end < values.size()) gaps.push_back({end * item, values.nbytes()});
  fill_zero(values.data, gaps);
}

const Layout* diagonals_of(const Structure& structure) {
  if (const auto* several = dynamic_cast<const Several*>(&structure)) {
    return diagonals_of(*several->children().front().structure);
  }
  return dynamic_cast<const Layout*>(&structure);
}

std::vector<int64> stored_offsets(const Structure& structure) {
  std::vector<int64> offsets;
  const auto* const arrays = dynamic_cast<const Indices*>(&structure);
  if (const Array* const part = arrays ? arrays->find("offsets") : nullptr) {
    offsets.resize(part->size());
    copy_to_host(offsets.data(), part->data, part->nbytes());
  } else if (const Layout* const layout = diagonals_of(structure)) {
    for (const Span& s : layout->spans) offsets.push_back(s.offset);
  }
  return offsets;
}

std::vector<Span> spans_of(const Layout& layout, Op op) {
  if (layout.packing) throw std::logic_error(std::string(layout.format) + ": a packed layout was read as a full one");
  return packed_spans_of(layout, op);
}

std::vector<Span> packed_spans_of(const Layout& layout, Op op) {
  std::vector<Span> spans = layout.spans;
  if (layout.packing.symmetry != Symmetry::none) {
    for (const Span& s : layout.spans) {
      if (s.offset == 0) continue;
      Span mirror = transposed(s);
      mirror.conjugated = layout.packing.symmetry == Symmetry::hermitian;
      spans.push_back(mirror);
    }
    std::sort(spans.begin(), spans.end(), by_offset);
  }
  if (op.transposed) {
    std::reverse(spans.begin(), spans.end());
    for (Span& s : spans) s = transposed(s);
  }
  return spans;
}

namespace {

// The number of the label that a span belongs to.
std::size_t label_of(const Layout& layout, const Span& s) {
  if (layout.values_shape.cols >= 0) return static_cast<std::size_t>(s.start / layout.values_shape.cols);
  return std::lower_bound(layout.starts.begin(), layout.starts.end(), s.start) - layout.starts.begin();
}

// Keeps one of two opposite diagonals; throws if two labels store both. (In row n/2 of cdm, the two halves mirror each
// other.)
void drop_mirrored(Layout& full) {
  check_square(full.format, "symmetric storage", full.rows, full.cols);
  std::vector<Span> remaining;
  const ByOffset all(full.spans);
  for (const Span& s : full.spans) {
    const int64 opposite = s.offset < 0 ? all.find(-s.offset) : -1;
    if (opposite < 0) {
      remaining.push_back(s);
    } else if (label_of(full, s) != label_of(full, full.spans[opposite])) {
      reject(full.format, "diagonals " + std::to_string(-s.offset) + " and " + std::to_string(s.offset) +
                              " are both given; symmetric storage holds one of them");
    }
  }
  full.spans = std::move(remaining);
}

// Truncates every run to one period.
void truncate_to_period(Layout& full, int64 period) {
  const int64 row = full.values_shape.cols;
  if (row >= 0) {  // each label has a row of the array
    const int64 width = std::min(row, period);
    full.values_shape.cols = full.halves * width;
    for (Span& s : full.spans) {
      s.phase = s.start % row % period;
      s.start = s.start / row * full.values_shape.cols + (full.halves > 1 && s.offset < 0 ? width : 0);
    }
    return;
  }
  std::vector<int64> starts{0};
  for (std::size_t d = 1; d < full.starts.size(); ++d) {
    starts.push_back(starts.back() + std::min(full.starts[d] - full.starts[d - 1], period));
  }
  for (Span& s : full.spans) s.start = starts[label_of(full, s)];
  full.values_shape.rows = starts.back();
  full.starts = std::move(starts);
}

}  // namespace

Layout pack(Layout full, Packing packing) {
  if (packing.symmetry != Symmetry::none) drop_mirrored(full);
  if (packing.period > 0 && !full.spans.empty()) truncate_to_period(full, packing.period);
  full.packing = packing;
  return full;
}

std::vector<int64> packed_labels(const Layout& full, Packing packing) {
  if (packing.symmetry == Symmetry::none) return full.labels;
  std::vector<std::vector<int64>> offsets(full.labels.size());
  std::vector<Span> nearest_first = full.spans;
  for (const Span& s : full.spans) offsets[label_of(full, s)].push_back(s.offset);
  std::sort(nearest_first.begin(), nearest_first.end(), [](const Span& a, const Span& b) {
    return std::make_pair(std::abs(a.offset), -a.offset) < std::make_pair(std::abs(b.offset), -b.offset);
  });
  std::set<int64> covered;
  std::set<std::size_t> needed;
  for (const Span& s : nearest_first) {
    if (covered.count(s.offset) > 0) continue;
    needed.insert(label_of(full, s));
    for (const int64 k : offsets[label_of(full, s)]) covered.insert({k, -k});
  }
  std::vector<int64> remaining;
  for (const std::size_t d : needed) remaining.push_back(full.labels[d]);
  return remaining;
}

int64 checked_product(int64 a, int64 b) {
  int64 c;
  if (__builtin_mul_overflow(a, b, &c)) {
    throw std::length_error(std::to_string(a) + " x " + std::to_string(b) + " values do not fit 63 bits");
  }
  return c;
}

void sort_spans(Layout& layout) {
  if (!std::is_sorted(layout.spans.begin(), layout.spans.end(), by_offset)) {
    std::sort(layout.spans.begin(), layout.spans.end(), by_offset);
  }
}

void check_labels(const char* format, const char* what, const std::vector<int64>& labels, int64 low, int64 high,
                  int64 rows, int64 cols) {
  const auto fail = [&](int64 label, const std::string& why) {
    std::string message =
        std::string(format) + "_array: " + what + " [";  // no stream: they fail if libstdc++ is linked statically
    for (std::size_t i = 0; i < labels.size() && i < 8; ++i) message += (i ? ", " : "") + std::to_string(labels[i]);
    return std::invalid_argument(message + (labels.size() > 8 ? ", ...] " : "] ") + why + " " + std::to_string(label));
  };
  const bool empty = rows == 0 || cols == 0;  // an empty matrix has no diagonals
  for (int64 k : labels) {
    if (k < low || k > high || empty) {
      throw std::invalid_argument(fail(k, "hold").what() + std::string(", outside ") + std::to_string(low) + ".." +
                                  std::to_string(high) + " of a " + extents(rows, cols) + " matrix");
    }
  }
  std::vector<int64> sorted;
  if (!std::is_sorted(labels.begin(), labels.end())) {
    sorted = labels;
    const auto descent = std::is_sorted_until(sorted.begin(), sorted.end());
    std::reverse(descent, sorted.end());
    std::rotate(sorted.begin(), descent, sorted.end());
    if (!std::is_sorted(sorted.begin(), sorted.end())) std::sort(sorted.begin(), sorted.end());
  }
  const std::vector<int64>& s = sorted.empty() ? labels : sorted;
  const auto twice = std::adjacent_find(s.begin(), s.end());
  if (twice != s.end()) {
    throw std::invalid_argument(fail(*twice, "repeat").what() + std::string("; each diagonal may be given once"));
  }
}

ByOffset::ByOffset(const std::vector<Span>& spans) : spans_(spans) {
  if (spans.size() < 8) return;  // building a table would take longer
  low_ = spans.front().offset;
  const int64 reach = spans.back().offset - low_ + 1;
  if (reach > 64 * static_cast<int64>(spans.size()) + 1024) return;
  table_.assign(reach, -1);
  for (std::size_t i = 0; i < spans.size(); ++i) table_[spans[i].offset - low_] = static_cast<std::int32_t>(i);
}

int64 ByOffset::find(int64 offset) const {
  if (!table_.empty()) {
    const int64 at = offset - low_;
    return at >= 0 && at < static_cast<int64>(table_.size()) ? table_[at] : -1;
  }
  const auto position = std::lower_bound(spans_.begin(), spans_.end(), offset,
                                         [](const Span& s, int64 target) { return s.offset < target; });
  return position != spans_.end() && position->offset == offset ? position - spans_.begin() : -1;
}

}  // namespace diagsparse
