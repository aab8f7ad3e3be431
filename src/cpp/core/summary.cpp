// Statistics of a matrix, each computed once.
#include "core/summary.hpp"

#include <stdexcept>
#include <string>

#include "core/symmetry.hpp"

namespace diagsparse {

namespace {

// Contiguous values of a diagonal, and how often the diagonal repeats them.
struct CountedRun {
  ValueRun run;
  int64 times;
  std::size_t diagonal;
};

std::vector<CountedRun> runs_of(const std::vector<Span>& spans, int64 period) {
  std::vector<CountedRun> runs;
  for (std::size_t d = 0; d < spans.size(); ++d) {
    const Span& s = spans[d];
    if (period == 0) {
      runs.push_back({{s.start, s.length}, 1, d});
      continue;
    }
    const int64 rest = s.length % period, before_wrap = std::min(rest, period - s.phase);
    if (s.length >= period) runs.push_back({{s.start, period}, s.length / period, d});
    runs.push_back({{s.start + s.phase, before_wrap}, 1, d});
    runs.push_back({{s.start, rest - before_wrap}, 1, d});
  }
  return runs;
}

}  // namespace

std::vector<int64> count_nonzero(const Matrix& a) {
  const auto* layout = dynamic_cast<const Layout*>(a.structure.get());
  if (layout == nullptr) {
    if (a.structure->stored() < a.values.size()) throw std::logic_error("count_nonzero: " + a.format + " has padding");
    return count_runs(a, {{0, a.values.size()}});
  }
  const std::vector<Span> spans = packed_spans_of(*layout, {});
  const std::vector<CountedRun> runs = runs_of(spans, layout->packing.period);
  std::vector<ValueRun> plain;
  for (const CountedRun& r : runs) plain.push_back(r.run);
  const std::vector<int64> nonzero = count_runs(a, plain);
  std::vector<int64> counts(spans.size(), 0);
  for (std::size_t r = 0; r < runs.size(); ++r) counts[runs[r].diagonal] += runs[r].times * nonzero[r];
  return counts;
}

const std::vector<int64>& occupied_diagonals(const Matrix& a, Op op) {
  return cached_statistic(a, op, "occupied diagonals", find_occupied_diagonals);
}

const std::vector<int64>& entries_on_diagonals(const Matrix& a, Op op) {
  return cached_statistic(a, op, "entries on diagonals", count_on_diagonals);
}

RowLengths row_lengths(const Matrix& a, Op op) {
  if (dynamic_cast<const Layout*>(a.structure.get())) return count_row_lengths(a, op);
  return cached_statistic(a, op, "row lengths", [](const Matrix& csr) { return count_row_lengths(csr, {}); });
}

int64 longest_row(const Matrix& csr) {
  const RowLengths lengths = row_lengths(csr, {});
  return lengths.empty() ? 0 : lengths.back().first;
}

LeadingEntries leading_entries(const Matrix& a, Op op, Leading leading) {
  const std::string which = std::to_string(leading.entries) + ", before " + std::to_string(leading.column) +
                            ", within " + std::to_string(leading.reach) + (leading.lower ? ", lower" : "");
  return cached_statistic(a, op, "leading " + which, [&](const Matrix& csr) { return count_leading(csr, leading); });
}

int64 occupied_blocks(const Matrix& a, Op op, int64 size) {
  if (size < 1 || size > kLargestBlock) {
    throw std::invalid_argument("blocks of " + std::to_string(size) + " x " + std::to_string(size) +
                                ": expected 1 to " + std::to_string(kLargestBlock) + " rows");
  }
  return cached_statistic(a, op, std::to_string(size) + "-blocks",
                          [size](const Matrix& csr) { return count_blocks(csr, size); });
}

unsigned symmetries(const Matrix& csr) { return csr.rows == csr.cols ? kEverySymmetry & ~broken_symmetries(csr) : 0; }

bool repeats_after(const Matrix& csr, int64 period) {
  if (period < 1) throw std::invalid_argument("period=" + std::to_string(period) + ": expected one row or more");
  return period >= csr.rows || period >= csr.cols || rows_repeat_after(csr, period);
}

}  // namespace diagsparse
