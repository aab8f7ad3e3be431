// Divides products of scattered diagonals into tiles and stages.
#include "kernels/matmul/stages.hpp"

#include <algorithm>

#include "core/interrupt.hpp"

namespace diagsparse::cuda::matmul {

namespace {

// The index of the first diagonal whose offset is at least this one.
std::int32_t first_from(const std::vector<Diagonal>& diagonals, int64 offset) {
  const auto below = [](const Diagonal& d, int64 o) { return d.shift < o; };
  return static_cast<std::int32_t>(std::lower_bound(diagonals.begin(), diagonals.end(), offset, below) -
                                   diagonals.begin());
}

// Appends the stages of a tile. Returns false if they do not fit into shared memory.
bool append_stages(const Sums& sums, const TileShape& shape, const Tile& tile, std::vector<Stage>& stages) {
  const int64 a_bytes = stage_stride(shape.rows, shape.item),
              b_bytes = stage_stride(shape.rows + tile.span, shape.item);
  // The stage of B's diagonals b <= n < b_end.
  const auto stage_of = [&](std::int32_t b, std::int32_t b_end) -> Stage {
    return {first_from(sums.a, tile.low - sums.b[b_end - 1].shift),
            first_from(sums.a, tile.low + tile.span - sums.b[b].shift + 1), b, b_end};
  };
  const auto fits = [&](const Stage& s) {
    const int64 of_a = s.a_end - s.a, of_b = s.b_end - s.b;
    return of_a <= kMostInStage && of_b <= kMostInStage && of_a * a_bytes + of_b * b_bytes <= shape.shared;
  };
  if (sums.a.empty()) return true;
  // The diagonals of B that have products with diagonals of A on the tile.
  const std::int32_t b_first = first_from(sums.b, tile.low - sums.a.back().shift);
  for (auto b_end = first_from(sums.b, tile.low + tile.span - sums.a.front().shift + 1); b_end > b_first;) {
    Stage stage = stage_of(b_end - 1, b_end);
    if (!fits(stage)) return false;
    while (stage.b > b_first) {
      const Stage wider = stage_of(stage.b - 1, b_end);
      if (!fits(wider)) break;
      stage = wider;
    }
    if (stage.a < stage.a_end) stages.push_back(stage);
    b_end = stage.b;
  }
  return true;
}

}  // namespace

Stages cut_into_stages(const Plan& plan, const TileShape& shape) {
  const Sums& sums = sums_of(plan);
  const std::vector<Span>& spans = layout_of(plan.c).spans;
  const auto count = static_cast<std::int32_t>(spans.size());
  Stages cut;
  for (std::int32_t d = 0; d < count;) {
    checkpoint();
    Tile tile{spans[d].offset, d, d, 0, static_cast<std::int32_t>(cut.stages.size()), 0};
    while (tile.last < count && tile.last - d < shape.diagonals && spans[tile.last].offset - tile.low <= kMostSpan) {
      tile.span = static_cast<std::int32_t>(spans[tile.last++].offset - tile.low);
    }
    if (!append_stages(sums, shape, tile, cut.stages)) return {};
    tile.stage_end = static_cast<std::int32_t>(cut.stages.size());
    cut.tiles.push_back(tile);
    d = tile.last;
  }
  return cut;
}

}  // namespace diagsparse::cuda::matmul
