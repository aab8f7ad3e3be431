// Linear combinations of values on the CPU: a task computes a tile, term after term, while the tile is in the cache.
#include "core/linear_combination.hpp"

#include "core/arithmetic.hpp"
#include "cpu/parallel.hpp"

namespace diagsparse {

namespace {

template <class T, class F>
void each(T* out, int64 count, bool fresh, const F& term) {
  if (fresh) {
    for (int64 i = 0; i < count; ++i) out[i] = convert<T>(term(i));
  } else {
    for (int64 i = 0; i < count; ++i) out[i] += convert<T>(term(i));
  }
}

template <class T, class X>
void add_term(T* out, const X* x, int64 count, const Coefficient& c, bool fresh) {
  const auto re = static_cast<Real<T>>(c.re);
  if constexpr (is_complex<T>) {
    const T factor{re, static_cast<Real<T>>(c.im)};
    if (!c.is_real) return each(out, count, fresh, [&](int64 i) { return factor * x[i]; });
  }
  each(out, count, fresh, [&](int64 i) { return re * x[i]; });
}

}  // namespace

void LinearCombination::add(const Group& group, const Matrix& out, const Coefficient* coefficients) const {
  const auto* tiles = group.tiles.as<const CombinedRun>();
  const auto* pieces = group.pieces.as<const CombinedPiece>();
  const auto* sources = sources_.as<const CombinedSource>();
  with_value_type(out.dtype, [&]<class T>(T) {
    T* values = out.values.as<T>();
    parallel_for(group.tile_count, out.values.size() * group.count, [&](int64 task) {
      const CombinedRun tile = tiles[task];
      T* to = values + tile.first;
      bool fresh = group.first == 0;
      if (fresh && tile.begin == tile.end) std::fill_n(to, tile.length, T{});
      for (int64 p = tile.begin; p < tile.end; ++p, fresh = false) {
        const auto [start, term] = pieces[p];
        const CombinedSource& source = sources[term];
        const Coefficient& c = coefficients[term];
        if (source.is_real) add_term(to, static_cast<const Real<T>*>(source.values) + start, tile.length, c, fresh);
        else if constexpr (is_complex<T>) {
          add_term(to, static_cast<const T*>(source.values) + start, tile.length, c, fresh);
        }
      }
    });
  });
}

}  // namespace diagsparse
