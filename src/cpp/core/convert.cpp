#include "core/convert.hpp"

#include <algorithm>

namespace diagsparse {

std::vector<Move> shared_diagonals(const Matrix& from, Op op, const Matrix& to) {
  std::vector<Move> moves;
  const int64 to_period = to.layout->packing.period, from_period = from.layout->packing.period;
  auto target = to.layout->spans.begin();
  for (const Span& s : packed_spans_of(*from.layout, op)) {
    while (target != to.layout->spans.end() && target->offset < s.offset) ++target;
    if (target == to.layout->spans.end()) break;
    if (target->offset != s.offset) continue;
    const int64 first = std::max(s.row, target->row), last = std::min(s.row + s.length, target->row + target->length);
    const auto run = [first](const Span& span, int64 period) {
      const int64 skipped = first - span.row;
      return period > 0 ? Elements{span.start, (span.phase + skipped) % period, period}
                        : Elements{span.start + skipped, 0, 0};
    };
    moves.push_back({run(s, from_period), run(*target, to_period), s.offset,
                     to_period > 0 ? std::min(to_period, last - first) : last - first, op.conjugated != s.conjugated});
  }
  return moves;
}

}  // namespace diagsparse
