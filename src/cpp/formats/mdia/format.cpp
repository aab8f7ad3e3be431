// Defines the Format of mdia, validates its arrays, and converts from and to csr.
#include <algorithm>

#include "core/convert.hpp"
#include "core/summary.hpp"
#include "formats/mdia/layout.hpp"
#include "formats/mdia/merges.hpp"
#include "formats/mdia/palette.hpp"
#include "formats/mdia/products.hpp"

namespace diagsparse {

namespace {

constexpr int64 kMaxDiagonals = (int64{1} << 32) / kMaskRows;

const Indices& arrays_of(const Structure& structure) { return static_cast<const Indices&>(structure); }

Symmetry symmetry_of(const std::vector<Part>& arrays) {
  const Array* const mirrored = find(arrays, "mirrored");
  if (mirrored == nullptr || mirrored->dtype != DType::u8 || mirrored->size() != 1) return Symmetry::none;
  return packing_from(element<std::uint8_t>(*mirrored, 0), 0).symmetry;
}

// There is a value for each bit that is set.
StructurePtr over(const Format& format, int64 rows, int64 cols, std::vector<Part> arrays) {
  const Symmetry symmetry = symmetry_of(arrays);
  const Array *const mask = find(arrays, "mask"), *const offsets = find(arrays, "offsets");
  const bool readable = mask && mask->dtype == DType::u32 && offsets && offsets->dtype == DType::i64 &&
                        offsets->size() > 0 && mask->shape.cols == offsets->size();  // others are rejected later
  const int64 count = last_pointer(arrays, "block_indptr");
  int64 stored = count;
  if ((symmetry != Symmetry::none || find(arrays, "table_indptr")) && readable) {
    const bool half = symmetry != Symmetry::none, has_main = element<std::int64_t>(*offsets, 0) == 0;
    const MaskedCounts counts = count_masked(*mask, half && has_main ? 0 : -1);
    stored = half ? 2 * counts.all - counts.on_diagonal : counts.all;
  }
  return std::make_shared<const Indices>(format.name, rows, cols, std::move(arrays), Shape{count, -1}, stored,
                                         symmetry);
}

// The number of elements of a block has to fit in 32 bits.
void check_count(int64 diagonals) {
  if (diagonals < kMaxDiagonals) return;
  reject(mdia.name, std::to_string(diagonals) + " diagonals, expected fewer than " + std::to_string(kMaxDiagonals));
}

void check_offsets(const Matrix& m) {
  const std::vector<int64>& offsets = offsets_of(*m.structure);
  const bool half = m.structure->symmetry() != Symmetry::none;
  for (std::size_t d = 0; d < offsets.size(); ++d) {
    const auto fail = [&](const std::string& why) {
      reject(m.format, element_name("offsets", static_cast<int64>(d)) + " is " + std::to_string(offsets[d]) + why);
    };
    if (offsets[d] <= -m.rows || offsets[d] >= m.cols) fail(", outside of a " + extents(m.rows, m.cols) + " matrix");
    if (half && offsets[d] < 0) fail("; symmetric storage holds the upper half, expected 0 or more");
    if (d > 0 && offsets[d] <= offsets[d - 1]) {
      fail(", after " + std::to_string(offsets[d - 1]) + "; expected ascending offsets");
    }
  }
}

void check(const Matrix& m) {
  const Indices& arrays = arrays_of(*m.structure);
  const int64 blocks = masks_along(m.rows), diagonals = arrays.at("offsets").size();
  std::vector<ExpectedPart> expected{{"offsets", DType::i64, {diagonals}},
                                     {"mask", DType::u32, {blocks, diagonals}},
                                     {"block_indptr", DType::i64, {blocks + 1}}};
  if (const Array* mirrored = arrays.find("mirrored")) {
    expected.push_back({"mirrored", DType::u8, {1}});
    if (mirrored->size() == 1 && m.structure->symmetry() == Symmetry::none) {
      reject(m.format, "mirrored is 0, expected 1 (symmetric), 2 (hermitian) or no such array");
    }
    check_square(m.format, "symmetric storage", m.rows, m.cols);
  }
  const bool palette = arrays.find("table_indptr") != nullptr;
  if (palette != (arrays.find("codes") != nullptr)) {
    reject(m.format, palette ? "table_indptr needs codes as well" : "codes need table_indptr as well");
  }
  if (palette) expected.push_back({"table_indptr", DType::i64, {diagonals + 1}});
  if (palette) expected.push_back({"codes", DType::u32, {blocks, code_words(m.format, arrays, diagonals)}});
  check_parts(m, expected);
  check_count(diagonals);
  check_offsets(m);
  const Fault fault = fault_in_masks(*m.structure);
  if (fault.kind == Fault::none) return;
  if (fault.kind == Fault::outside) {
    reject(m.format, element_name("mask", fault.at, diagonals) + " has elements outside of the " +
                         extents(m.rows, m.cols) + " matrix");
  }
  if (fault.kind == Fault::order) {
    reject(m.format, "a code of " + element_name("mask", fault.at, diagonals) + " exceeds the table of its diagonal");
  }
  const std::string counted = palette ? "how many values are in the tables and in the blocks before it"
                                      : "how many bits are set in the masks of the blocks before it";
  reject(m.format, element_name("block_indptr", fault.at) + " is " +
                       std::to_string(element<std::int64_t>(arrays.at("block_indptr"), fault.at)) + ", expected " +
                       counted);
}

Matrix from_csr(const Matrix& csr, const Format&, const Options& options) {
  const Symmetry symmetry = packing_from(static_cast<int>(option(options, "symmetry", 0)), 0).symmetry;
  if (symmetry != Symmetry::none) check_symmetry(mdia.name, csr, symmetry);
  std::vector<int64> offsets = occupied_diagonals(csr, {});
  if (symmetry != Symmetry::none) std::erase_if(offsets, [](int64 offset) { return offset < 0; });
  check_count(static_cast<int64>(offsets.size()));
  const Matrix result = masked_from_rows(csr, offsets, symmetry);
  if (result.structure->stored() != csr.values.size()) reject_zeros_without_mirror_images(mdia.name);
  return with_palette(result, static_cast<Palette>(option(options, "palette", static_cast<int64>(Palette::automatic))));
}

}  // namespace

StructurePtr mdia_structure(int64 rows, int64 cols, Array offsets, Array mask, Array begin, Symmetry symmetry,
                            int64 count, int64 stored) {
  std::vector<Part> arrays{
      {"offsets", std::move(offsets)}, {"mask", std::move(mask)}, {"block_indptr", std::move(begin)}};
  if (symmetry != Symmetry::none)
    arrays.emplace_back("mirrored", array_of(std::vector{static_cast<std::uint8_t>(symmetry)}));
  return std::make_shared<const Indices>(mdia.name, rows, cols, std::move(arrays), Shape{count, -1}, stored, symmetry);
}

StructurePtr mdia_structure(int64 rows, int64 cols, const std::vector<int64>& offsets, Array mask, Symmetry symmetry) {
  const bool half = symmetry != Symmetry::none, has_main = !offsets.empty() && offsets.front() == 0;
  MaskedCounts counts = count_masked(mask, half && has_main ? 0 : -1);
  return mdia_structure(rows, cols, array_of(offsets), std::move(mask), std::move(counts.begin), symmetry, counts.all,
                        half ? 2 * counts.all - counts.on_diagonal : counts.all);
}

const std::vector<int64>& offsets_of(const Structure& structure) {
  return *structure.cache().get<const std::vector<int64>>(
      "offsets on the host", [&] { return std::make_shared<std::vector<int64>>(stored_offsets(structure)); });
}

std::vector<MaskedDiagonal> masked_diagonals(const Structure& structure, Op op) {
  const std::vector<int64>& offsets = offsets_of(structure);
  const Symmetry symmetry = structure.symmetry();
  std::vector<MaskedDiagonal> all;
  for (std::size_t d = 0; d < offsets.size(); ++d) {
    const auto number = static_cast<std::int32_t>(d);
    if (symmetry == Symmetry::none) {
      all.push_back({op.transposed ? -offsets[d] : offsets[d], number, op.transposed, op.conjugated});
      continue;
    }
    // The transpose of a Hermitian matrix is its conjugate. Its main diagonal is real, and not conjugated.
    const bool hermitian = symmetry == Symmetry::hermitian && offsets[d] != 0;
    const bool conjugated = op.conjugated != (hermitian && op.transposed);
    all.push_back({offsets[d], number, false, conjugated});
    if (offsets[d] != 0) all.push_back({-offsets[d], number, true, conjugated != hermitian});
  }
  std::ranges::sort(all, {}, &MaskedDiagonal::offset);
  return all;
}

const Format mdia{.name = "mdia",
                  .extent = kIndexExtent,
                  .structure = over,
                  .check = check,
                  .real_diagonal = masked_diagonal_is_real,
                  .plan = plan_masked,
                  .halves = true,
                  .combine = combine_masked,
                  .from_csr = from_csr,
                  .to_csr = rows_from_masked};

}  // namespace diagsparse
