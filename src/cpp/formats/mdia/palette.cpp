// Chooses the tables of a palette, and lays out matrices with and without palettes.
#include "formats/mdia/palette.hpp"

#include <algorithm>
#include <cstring>

#include "core/summary.hpp"

namespace diagsparse {

namespace {

constexpr std::size_t kMostCounted = 4096;  // diagonals whose values are counted without building the matrix
constexpr int64 kSmall = 1 << 16;           // elements of a matrix that fits into caches without a palette

// The values of a table, sorted by their bits.
void sort_values(std::vector<char>& values, DType dtype) {
  with_bits(dtype, [&](auto zero) {
    using Bits = decltype(zero);
    std::vector<Bits> sorted(values.size() / sizeof(Bits));
    std::memcpy(static_cast<void*>(sorted.data()), values.data(), values.size());
    std::ranges::sort(sorted, [](const Bits& a, const Bits& b) { return a < b; });
    std::memcpy(values.data(), sorted.data(), values.size());
  });
}

// Without the palette's arrays, and with others in their place.
std::shared_ptr<Indices> with_arrays(const Indices& structure, Array begin, const std::vector<Part>& palette,
                                     int64 count) {
  std::vector<Part> arrays;
  for (const char* name : {"offsets", "mask"}) arrays.emplace_back(name, structure.at(name));
  arrays.emplace_back("block_indptr", std::move(begin));
  if (const Array* mirrored = structure.find("mirrored")) arrays.emplace_back("mirrored", *mirrored);
  arrays.insert(arrays.end(), palette.begin(), palette.end());
  return std::make_shared<Indices>(mdia.name, structure.rows, structure.cols, std::move(arrays), Shape{count, -1},
                                   structure.stored(), structure.symmetry());
}

}  // namespace

std::vector<Coding> codings_for(const std::vector<int64>& table_indptr) {
  std::vector<Coding> codings;
  std::uint32_t word = 0;
  for (std::size_t d = 0; d + 1 < table_indptr.size(); ++d) {
    const int bits = code_bits(table_indptr[d + 1] - table_indptr[d]);
    codings.push_back({table_indptr[d], word, bits});
    word += static_cast<std::uint32_t>(std::max(bits, 0));
  }
  return codings;
}

std::vector<int64> table_pointers(const Indices& arrays) {
  const Array& pointers = arrays.at("table_indptr");
  std::vector<int64> host(pointers.size());
  copy_to_host(host.data(), pointers.data, pointers.nbytes());
  return host;
}

int64 code_words(const std::string& format, const Indices& arrays, int64 diagonals) {
  const Array* const given = arrays.find("table_indptr");
  if (!given || given->dtype != DType::i64 || given->shape != Shape{diagonals + 1, -1}) return 0;  // rejected later
  const std::vector<int64> pointers = table_pointers(arrays);
  if (pointers.front() != 0) reject(format, "table_indptr[0] is " + std::to_string(pointers.front()) + ", expected 0");
  int64 words = 0;
  for (int64 d = 0; d < diagonals; ++d) {
    const int64 colors = pointers[d + 1] - pointers[d];
    if (colors < 0 || colors > kMostColors) {
      reject(format, element_name("table_indptr", d + 1) + " is " + std::to_string(pointers[d + 1]) + ", after " +
                         std::to_string(pointers[d]) + "; expected 0 to " + std::to_string(kMostColors) + " more");
    }
    words += std::max(code_bits(colors), 0);
  }
  return words;
}

std::vector<int64> colors_on_diagonals(const Matrix& csr) {
  const std::vector<int64>& offsets = occupied_diagonals(csr, {});
  if (offsets.empty() || offsets.size() > kMostCounted) return std::vector<int64>(offsets.size());
  return count_colors(csr, offsets);
}

Matrix with_palette(const Matrix& m, Palette wanted) {
  if (wanted == Palette::never || has_palette(*m.structure)) return m;
  const int64 item = item_size(m.dtype), bytes_of_values = item * m.values.size();
  const auto is_much = [&](int64 saved) { return 4 * saved >= m.nbytes(); };
  if (bytes_of_values == 0) return m;
  if (wanted == Palette::automatic && (m.values.size() < kSmall || !is_much(bytes_of_values))) return m;
  const auto& arrays = static_cast<const Indices&>(*m.structure);
  const Array& mask = arrays.at("mask");
  const int64 blocks = mask.shape.rows;
  std::vector<DistinctValues> tables = distinct_values(m);
  std::vector<int64> table_indptr{0};
  std::vector<char> colors;
  int64 saved = -static_cast<int64>(sizeof(int64) * (tables.size() + 1)), count = 0, words = 0;
  const auto bits_of = [&](const DistinctValues& t) { return code_bits(static_cast<int64>(t.values.size()) / item); };
  const auto fewer = [&](const DistinctValues& t) {
    const auto bytes = static_cast<int64>(t.values.size());
    return bits_of(t) < 0 ? 0 : item * t.elements - bytes - static_cast<int64>(sizeof(Mask)) * bits_of(t) * blocks;
  };
  int64 several_bits = 0;  // elements whose codes have several bits
  for (const DistinctValues& table : tables)
    several_bits += bits_of(table) > 1 && fewer(table) > 0 ? table.elements : 0;
  const int most_bits = wanted == Palette::automatic && 4 * several_bits > m.values.size() ? 1 : 8;
  for (DistinctValues& table : tables) {
    if (const int bits = bits_of(table); bits <= most_bits && fewer(table) > 0) {
      saved += fewer(table);
      words += bits;
      sort_values(table.values, m.dtype);
      colors.insert(colors.end(), table.values.begin(), table.values.end());
    } else {
      count += table.elements;
    }
    table_indptr.push_back(static_cast<int64>(colors.size()) / item);
  }
  if (saved <= 0 || (wanted == Palette::automatic && !is_much(saved))) return m;
  const int64 in_tables = table_indptr.back();
  const Array codes = Array::zeros(DType::u32, {blocks, words});
  const Array codings = Array::empty(DType::i64, {2 * static_cast<int64>(tables.size())});
  copy_from_host(codings.data, codings_for(table_indptr).data(), codings.nbytes());
  MaskedCounts counts = count_masked(mask, -1, codings.as<const Coding>(), in_tables);
  Matrix result(with_arrays(arrays, std::move(counts.begin),
                            {{"table_indptr", array_of(table_indptr)}, {"codes", codes}}, in_tables + count),
                Array::empty(m.dtype, {in_tables + count}));
  copy_from_host(result.values.data, colors.data(), static_cast<int64>(colors.size()));
  encode(m, result);
  return result;
}

Matrix without_palette(const Matrix& m) {
  if (!has_palette(*m.structure)) return m;
  const auto& arrays = static_cast<const Indices&>(*m.structure);
  // Kept with the palette, so that what kernels cache with it is computed once.
  const auto structure = m.structure->cache().get<const Indices>("without palette", [&] {
    MaskedCounts counts = count_masked(arrays.at("mask"), -1);
    m.structure->cache().count(counts.begin.nbytes());
    return with_arrays(arrays, std::move(counts.begin), {}, counts.all);
  });
  Matrix result(structure, Array::empty(m.dtype, structure->values_shape));
  decode(m, result);
  return result;
}

}  // namespace diagsparse
