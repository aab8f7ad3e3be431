// Windows of x: selects the rows that share one in shared memory.
#include "kernels/window/slabs.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace diagsparse::cuda::window {

namespace {

constexpr int kMostRuns = 1024;  // most runs per block

// The most common distance between neighbouring groups of close diagonals: for a stencil, the distance between the
// strips of its grid. 0 if there is only one group.
int64 common_stride(const Term* begin, const Term* end) {
  constexpr int64 near = 64;
  std::map<int64, int> distances;
  int64 before = 0;
  for (const Term *t = begin, *stop; t != end; t = stop) {
    for (stop = t + 1; stop != end && stop->v - (stop - 1)->v <= near;) ++stop;
    const int64 middle = (t->v + (stop - 1)->v) / 2;
    if (t != begin) ++distances[middle - before];
    before = middle;
  }
  const auto rarer = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto most = std::max_element(distances.begin(), distances.end(), rarer);
  return most == distances.end() ? 0 : most->first;
}

}  // namespace

StagedList::StagedList(const Term* begin, const Term* end, const Slabs& slabs, int row) {
  struct Window {
    int64 from, to;
    int at;
  };
  std::vector<Window> all, windows;
  for (int strip = 0; strip < slabs.strips; ++strip) {
    for (const Term* t = begin; t != end; ++t) {
      const int64 from = strip * slabs.stride + t->v;
      all.push_back({from, from + slabs.segment, 0});
    }
  }
  std::sort(all.begin(), all.end(), [](const Window& a, const Window& b) { return a.from < b.from; });
  for (const Window& w : all) {
    if (windows.empty() || w.from > windows.back().to) windows.push_back(w);
    else windows.back().to = std::max(windows.back().to, w.to);
  }
  // All windows have the same misalignment to 32 bytes as in memory, or half of it. For narrower rows, the copies of
  // both neighbours may reach into the 16 bytes between windows.
  const int border = std::max(2, 32 / row), between = row < 16 ? 16 / row : 0;
  for (Window& w : windows) {
    if (rows > 0) rows += between;
    w.at = rows + static_cast<int>((w.from - rows) & (border - 1));
    rows = w.at + static_cast<int>(w.to - w.from);
  }
  for (int strip = 0; strip < slabs.strips; ++strip) {
    for (const Term* t = begin; t != end; ++t) {
      const int64 shift = strip * slabs.stride, from = shift + t->v;
      const auto behind = std::upper_bound(windows.begin(), windows.end(), from,
                                           [](int64 row, const Window& w) { return row < w.from; });
      const Window& window = *(behind - 1);
      items.push_back({t->u + shift, window.at + static_cast<int>(from - window.from), 0,
                       t != begin && t->v == (t - 1)->v + 1, static_cast<bool>(t->conjugated)});
    }
  }
  runs = static_cast<int>(items.size());
  for (const Window& w : windows) items.push_back({w.from, w.at, static_cast<int>(w.to - w.from), false, false});
}

SharedLayout::SharedLayout(const Slabs& slabs, const StagedList& list, int item, int row) : row(row) {
  const auto next = [](int64 bytes) { return (bytes + kSector - 1) / kSector * kSector; };
  const int64 begin = next((row < 16 ? kSector : kSector / 2) + static_cast<int64>(list.rows) * row);
  a_stride = static_cast<int>(next(slabs.segment * item)) + kSector;  // a run may be misaligned
  const int64 end = begin + static_cast<int64>(list.runs) * a_stride;
  const int64 all = end + static_cast<int64>(list.runs) * static_cast<int64>(sizeof(StagedTerm));
  a = static_cast<int>(begin);
  terms = static_cast<int>(end);
  total = static_cast<int>(std::min<int64>(all, std::numeric_limits<int>::max()));
}

Choice choose(const Policy& policy, const Term* begin, const Term* end, int64 first, int64 last, int64 rows, int item,
              int64 row) {
  Choice best{Slabs(rows, rows, 1, policy.step)};
  if (begin == end || row > policy.bytes) return best;
  const int64 stride = common_stride(begin, end);
  int64 least = std::numeric_limits<int64>::max();
  for (const int strips : {1, 4}) {
    if ((end - begin) * strips > kMostRuns || (strips > 1 && (stride == 0 || stride > rows / strips))) continue;
    for (int segment = policy.fewest / strips; segment <= policy.most; segment += policy.step) {
      Slabs slabs(rows, strips > 1 ? stride : rows, strips, segment);
      slabs.set_inside(first, last);
      const int64 blocks = slabs.blocks, inside = slabs.last - slabs.first;
      const SharedLayout shared_layout(slabs, StagedList(begin, end, slabs, static_cast<int>(row)), item,
                                       static_cast<int>(row));
      if (shared_layout.total > policy.bytes) break;
      if (4 * inside >= 3 * blocks && blocks * shared_layout.total < least) {
        best = {slabs, true};
        least = blocks * shared_layout.total;
      }
    }
  }
  return best;
}

}  // namespace diagsparse::cuda::window
