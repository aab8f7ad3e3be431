// Divides linear combinations into tiles, and those of many terms into groups.
#include "core/linear_combination.hpp"

#include <algorithm>
#include <stdexcept>

namespace diagsparse {

namespace {

template <class T>
Array on_device(const std::vector<T>& items) {
  Array result = Array::empty(DType::u8, {static_cast<int64>(items.size() * sizeof(T))});
  copy_from_host(result.data, items.data(), result.nbytes());
  return result;
}

void require_within(int64 first, int64 length, int64 size, const char* what) {
  if (first < 0 || length < 0 || first > size - length) {
    throw std::invalid_argument(std::string("linear_combination: a run is outside of ") + what);
  }
}

}  // namespace

LinearCombination::LinearCombination(StructurePtr structure, std::vector<Array> terms,
                                     const std::vector<CombinedRun>& runs, const std::vector<CombinedPiece>& pieces)
    : structure_(std::move(structure)), terms_(std::move(terms)) {
  const auto count = static_cast<int64>(terms_.size());
  std::vector<CombinedSource> sources;
  for (const Array& values : terms_) {
    with_value_type(values.dtype, [](auto) {});  // throws for other types
    sources.push_back({values.data, !has_complex_values(values.dtype)});
    nbytes_ += values.nbytes();
  }
  sources_ = on_device(sources);
  nbytes_ += sources_.nbytes();
  for (int64 first = 0; first == 0 || first < count; first += kCombinedTerms) {
    Group group{first, std::min(kCombinedTerms, count - first), {}, {}};
    std::vector<CombinedRun> tiles;
    std::vector<CombinedPiece> of_tiles;
    for (const CombinedRun& run : runs) {
      require_within(run.first, run.length, structure_->values_shape.size(), "the matrix");
      require_within(run.begin, run.end - run.begin, static_cast<int64>(pieces.size()), "the pieces");
      for (int64 done = 0; done < run.length; done += kCombinedTile) {
        const auto begin = static_cast<int64>(of_tiles.size());
        for (int64 p = run.begin; p < run.end; ++p) {
          const auto [start, term] = pieces[p];
          require_within(term, 1, count, "the terms");
          require_within(start, run.length, terms_[term].size(), "the values of a term");
          if (term >= first && term < first + group.count) of_tiles.push_back({start + done, term});
        }
        const auto end = static_cast<int64>(of_tiles.size());
        if (begin == end && first > 0) continue;  // nothing to add
        tiles.push_back({run.first + done, std::min(kCombinedTile, run.length - done), begin, end});
      }
    }
    group.tile_count = static_cast<int64>(tiles.size());
    group.tiles = on_device(tiles);
    group.pieces = on_device(of_tiles);
    nbytes_ += group.tiles.nbytes() + group.pieces.nbytes();
    groups_.push_back(std::move(group));
  }
}

void LinearCombination::fill(const Matrix& out, const std::vector<Coefficient>& coefficients) const {
  if (out.structure != structure_ || !out.values.writeable) {
    throw std::invalid_argument("linear_combination: out has another structure");
  }
  if (coefficients.size() != terms_.size()) throw std::logic_error("linear_combination: the number of coefficients");
  for (const Array& values : terms_) {
    if (out.dtype != values.dtype && out.dtype != product_dtype(values.dtype, DType::c64)) {
      throw std::invalid_argument("linear_combination: out has another dtype");
    }
  }
  for (const Group& group : groups_) add(group, out, coefficients.data());
}

}  // namespace diagsparse
