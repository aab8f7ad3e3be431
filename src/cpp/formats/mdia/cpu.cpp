// mdia on the CPU: conversions from and to csr, counts, and validation.
#include <algorithm>
#include <numeric>

#include "core/summary.hpp"
#include "cpu/csr_rows.hpp"
#include "formats/mdia/cpu_masks.hpp"
#include "formats/mdia/layout.hpp"
#include "formats/mdia/palette.hpp"

namespace diagsparse {

namespace {

// Maps offsets to the numbers of diagonals, with a table of all offsets if it is worth its memory, else by bisection.
class DiagonalNumbers {
 public:
  DiagonalNumbers(const std::vector<int64>& offsets, const Matrix& m) : offsets_(offsets), low_(1 - m.rows) {
    if (!table_is_worthwhile(m.rows, m.cols, m.values.size())) return;
    table_.resize(std::max<int64>(0, m.rows + m.cols - 1), -1);
    for (std::size_t d = 0; d < offsets.size(); ++d) table_[offsets[d] - low_] = static_cast<std::int32_t>(d);
  }
  // Returns a negative number if there is no such diagonal.
  int64 find(int64 offset) const {
    if (!table_.empty()) return table_[offset - low_];
    const auto match = std::ranges::lower_bound(offsets_, offset);
    return match != offsets_.end() && *match == offset ? match - offsets_.begin() : -1;
  }

 private:
  const std::vector<int64>& offsets_;
  int64 low_;
  std::vector<std::int32_t> table_;
};

int64 count_bits(const Mask* mask, int64 count) {
  return std::transform_reduce(mask, mask + count, int64{0}, std::plus<>(), [](Mask m) { return std::popcount(m); });
}

}  // namespace

MaskedCounts count_masked(const Array& mask, int64 diagonal, const Coding* codings, int64 tables) {
  const int64 blocks = mask.shape.rows, diagonals = mask.shape.cols;
  MaskedCounts counts{Array::zeros(DType::i64, {blocks + 1}), 0, 0};
  auto* const begin = counts.begin.as<std::int64_t>();
  const Mask* const masks = mask.as<Mask>();
  for_each_block(kMaskRows * blocks, mask.size(), [&](int64 b) {
    begin[b + 1] = count_bits(masks + b * diagonals, diagonals);
    for (int64 d = 0; codings != nullptr && d < diagonals; ++d) {
      if (!codings[d].is_stored()) begin[b + 1] -= std::popcount(masks[b * diagonals + d]);
    }
  });
  begin[0] = tables;
  std::partial_sum(begin, begin + blocks + 1, begin);
  counts.all = begin[blocks] - tables;
  for (int64 b = 0; diagonal >= 0 && b < blocks; ++b)
    counts.on_diagonal += count_bits(masks + b * diagonals + diagonal, 1);
  return counts;
}

std::shared_ptr<const ValueStarts> value_starts(const Structure& structure) {
  return structure.cache().get<const ValueStarts>("value starts", [&] {
    const auto a = Mdia<char>::over(structure, nullptr);
    const auto result = std::make_shared<ValueStarts>(Array::empty(DType::u32, {a.blocks() * a.diagonals}));
    for_each_block(a.rows, a.blocks() * a.diagonals, [&](int64 b) {
      std::uint32_t before = 0;
      for (int64 at = b * a.diagonals; at < (b + 1) * a.diagonals; ++at) {
        result->from_block.as<std::uint32_t>()[at] = before;
        before += a.is_coded(at - b * a.diagonals) ? 0 : std::popcount(a.mask[at]);
      }
    });
    structure.cache().count(result->from_block.nbytes());
    return result;
  });
}

Matrix masked_from_rows(const Matrix& m, const std::vector<int64>& offsets, Symmetry symmetry) {
  const auto diagonals = static_cast<int64>(offsets.size()), blocks = masks_along(m.rows), stored = m.values.size();
  const DiagonalNumbers numbers(offsets, m);
  const Csr<char> pattern = Csr<char>::of(m);
  Array mask = Array::zeros(DType::u32, {blocks, diagonals});
  const int64 work = 4 * stored + mask.size();
  // Calls f(entry, row in the block, number of the diagonal) for each entry of a block, row by row.
  const auto for_each_entry = [&](int64 b, const auto& f) {
    for (int64 i = kMaskRows * b; i < std::min(m.rows, kMaskRows * (b + 1)); ++i) {
      for (int64 e = pattern.indptr[i]; e < pattern.indptr[i + 1]; ++e) {
        const int64 d = numbers.find(pattern.indices[e] - i);
        if (d >= 0) f(e, i - kMaskRows * b, d);
      }
    }
  };
  for_each_block(m.rows, work, [&](int64 b) {
    Mask* const masks = mask.as<Mask>() + b * diagonals;
    for_each_entry(b, [&](int64, int64 row, int64 d) { masks[d] |= Mask{1} << row; });
  });
  const StructurePtr structure = mdia_structure(m.rows, m.cols, offsets, mask, symmetry);
  const Matrix result(structure, Array::empty(m.dtype, structure->values_shape));
  const auto* const begin = result.index("block_indptr").as<std::int64_t>();
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* const from = m.values.as<T>();
    for_each_block(m.rows, work, [&](int64 b) {
      std::vector<T*> next(diagonals);
      T* at = result.values.as<T>() + begin[b];
      for (int64 d = 0; d < diagonals; ++d) {
        next[d] = at;
        at += std::popcount(mask.as<Mask>()[b * diagonals + d]);
      }
      for_each_entry(b, [&](int64 e, int64, int64 d) { *next[d]++ = from[e]; });
    });
  });
  return result;
}

Matrix rows_from_masked(const Matrix& m, Op op) {
  const MaskedOperand<char> pattern(*m.structure, nullptr, masked_diagonals(*m.structure, op));
  const int64 rows = op.transposed ? m.cols : m.rows, cols = op.transposed ? m.rows : m.cols;
  const int64 work = 4 * m.structure->stored() + masks_along(rows) * static_cast<int64>(pattern.diagonals.size());
  const auto count = [&](int64* lengths) {
    for_each_block(rows, work, [&](int64 b) {
      for (const MaskedDiagonal& d : pattern.diagonals) {
        for_each_row(pattern.mask(d, kMaskRows * b), [&](int i) { ++lengths[kMaskRows * b + i]; });
      }
    });
  };
  const auto write = [&]<class T>(const int64* start, std::int32_t* columns, T* values) {
    const MaskedOperand<T> a(m, op);
    for_each_block(rows, work, [&](int64 b) {
      const int64 row = kMaskRows * b;
      int64 next[kMaskRows];
      std::copy_n(start + row, std::min(kMaskRows, rows - row), next);
      for (const MaskedDiagonal& d : a.diagonals) {
        a.visit_runs(d, row, [&](Mask rows_with_entries, const T* value) {
          for_each_row(rows_with_entries, [&](int i) {
            columns[next[i]] = static_cast<std::int32_t>(row + i + d.offset);
            values[next[i]++] = conjugate_if(d.conjugated, *value++);
          });
        });
      }
    });
  };
  return csr_by_rows(rows, cols, m.dtype, count, write);
}

Fault fault_in_masks(const Structure& structure) {
  const auto a = Mdia<char>::over(structure, nullptr);
  const auto& arrays = static_cast<const Indices&>(structure);
  const std::vector<int64> tables = a.codings ? table_pointers(arrays) : std::vector<int64>{0};
  const auto exceeds = [&](int64 b, int64 d) {
    for (int i = 0; a.is_coded(d) && a.codings[d].bits > 0 && i < kMaskRows; ++i) {
      if (a.in_table(a.codings[d], b, i) >= tables[d + 1]) return true;
    }
    return false;
  };
  int64 before = tables.back();
  for (int64 b = 0; b < a.blocks(); ++b) {
    if (b % 1024 == 0) checkpoint();
    if (a.begin[b] != before) return {Fault::pointers, b};
    for (int64 d = 0; d < a.diagonals; ++d) {
      const Mask mask = a.mask[b * a.diagonals + d];
      if (mask & ~rows_within(a.rows, a.cols, a.offsets[d], kMaskRows * b))
        return {Fault::outside, b * a.diagonals + d};
      if (exceeds(b, d)) return {Fault::order, b * a.diagonals + d};
      if (!a.is_coded(d)) before += std::popcount(mask);
    }
  }
  if (a.begin[a.blocks()] != before) return {Fault::pointers, a.blocks()};
  return {};
}

// The main diagonal has the lowest offset, so its table is the first one, or its values are the first ones of each
// block.
bool masked_diagonal_is_real(const Matrix& m) {
  const auto a = Mdia<char>::over(*m.structure, nullptr);
  if (a.diagonals == 0 || a.offsets[0] != 0) return true;
  if (a.is_coded(0)) return all_real(m.values, 0, table_pointers(static_cast<const Indices&>(*m.structure))[1]);
  for (int64 b = 0; b < a.blocks(); ++b) {
    if (!all_real(m.values, a.begin[b], std::popcount(a.mask[b * a.diagonals]))) return false;
  }
  return true;
}

}  // namespace diagsparse
