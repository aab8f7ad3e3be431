// Defines the Format of mdia, validates its arrays, and converts from and to csr.
#include <algorithm>

#include "core/convert.hpp"
#include "core/summary.hpp"
#include "core/symmetry.hpp"
#include "formats/mdia/layout.hpp"
#include "formats/mdia/merges.hpp"
#include "formats/mdia/products.hpp"

namespace diagsparse {

namespace {

[[noreturn]] void reject(const std::string& what) { throw std::invalid_argument("mdia_array: " + what); }

constexpr int64 kMaxDiagonals = (int64{1} << 32) / kMaskRows;

const Indices& arrays_of(const Structure& structure) { return static_cast<const Indices&>(structure); }

Symmetry symmetry_of(const std::vector<Part>& arrays) {
  for (const auto& [name, array] : arrays) {
    if (name != "mirrored" || array.dtype != DType::u8 || array.size() != 1) continue;
    return packing_from(element<std::uint8_t>(array, 0), 0).symmetry;
  }
  return Symmetry::none;
}

// There is a value for each bit that is set. Their number is the last pointer; `check` validates the arrays later.
StructurePtr over(const Format& format, int64 rows, int64 cols, std::vector<Part> arrays) {
  const Symmetry symmetry = symmetry_of(arrays);
  const Array *mask = nullptr, *begin = nullptr, *offsets = nullptr;
  for (const auto& [name, array] : arrays) {
    if (name == "mask" && array.dtype == DType::u32) mask = &array;
    if (name == "block_indptr" && array.dtype == DType::i64 && array.size() > 0) begin = &array;
    if (name == "offsets" && array.dtype == DType::i64 && array.size() > 0) offsets = &array;
  }
  const int64 last_pointer = begin ? element<std::int64_t>(*begin, begin->size() - 1) : 0;
  const int64 count = std::clamp<int64>(last_pointer, 0, kAnyExtent / 2);  // so that twice the count does not overflow
  int64 stored = count;
  if (symmetry != Symmetry::none && mask && offsets && mask->shape.cols == offsets->size()) {
    const bool has_main = element<std::int64_t>(*offsets, 0) == 0;
    stored = 2 * count - (has_main ? count_masked(*mask, 0).on_diagonal : 0);
  }
  return std::make_shared<const Indices>(format.name, rows, cols, std::move(arrays), Shape{count, -1}, stored,
                                         symmetry);
}

// The number of elements of a block has to fit in 32 bits.
void check_count(int64 diagonals) {
  if (diagonals < kMaxDiagonals) return;
  reject(std::to_string(diagonals) + " diagonals, expected fewer than " + std::to_string(kMaxDiagonals));
}

void check_offsets(const Matrix& m) {
  const std::vector<int64>& offsets = offsets_of(*m.structure);
  const bool half = m.structure->symmetry() != Symmetry::none;
  for (std::size_t d = 0; d < offsets.size(); ++d) {
    const std::string which = "offsets[" + std::to_string(d) + "] is " + std::to_string(offsets[d]);
    if (offsets[d] <= -m.rows || offsets[d] >= m.cols) {
      reject(which + ", outside of a " + std::to_string(m.rows) + " x " + std::to_string(m.cols) + " matrix");
    }
    if (half && offsets[d] < 0) reject(which + "; symmetric storage holds the upper half, expected 0 or more");
    if (d > 0 && offsets[d] <= offsets[d - 1]) {
      reject(which + ", after " + std::to_string(offsets[d - 1]) + "; expected ascending offsets");
    }
  }
}

void check(const Matrix& m) {
  check_shape(mdia, m.rows, m.cols);
  const Indices& arrays = arrays_of(*m.structure);
  const int64 blocks = masks_along(m.rows), diagonals = arrays.at("offsets").size();
  std::vector<ExpectedPart> expected{{"offsets", DType::i64, {diagonals}},
                                     {"mask", DType::u32, {blocks, diagonals}},
                                     {"block_indptr", DType::i64, {blocks + 1}}};
  if (const Array* mirrored = arrays.find("mirrored")) {
    expected.push_back({"mirrored", DType::u8, {1}});
    if (mirrored->size() == 1 && m.structure->symmetry() == Symmetry::none) {
      reject("mirrored is 0, expected 1 (symmetric), 2 (hermitian) or no such array");
    }
    if (m.rows != m.cols) {
      reject("symmetric storage is for square matrices, got " + std::to_string(m.rows) + " x " +
             std::to_string(m.cols));
    }
  }
  check_parts(m, expected);
  check_count(diagonals);
  check_offsets(m);
  const Fault fault = fault_in_masks(*m.structure);
  if (fault.kind == Fault::none) return;
  if (fault.kind == Fault::outside) {
    reject("mask[" + std::to_string(fault.at / diagonals) + ", " + std::to_string(fault.at % diagonals) +
           "] has elements outside of the " + std::to_string(m.rows) + " x " + std::to_string(m.cols) + " matrix");
  }
  reject("block_indptr[" + std::to_string(fault.at) + "] is " +
         std::to_string(element<std::int64_t>(arrays.at("block_indptr"), fault.at)) +
         ", expected how many bits are set in the masks of the blocks before it");
}

// Raises an error if a csr matrix does not have the symmetry.
void check_symmetry(const Matrix& csr, Symmetry symmetry) {
  const bool hermitian = symmetry == Symmetry::hermitian;
  if (csr.rows != csr.cols) {
    reject(std::string(hermitian ? "hermitian" : "symmetric") + " storage is for square matrices, got " +
           std::to_string(csr.rows) + " x " + std::to_string(csr.cols));
  }
  if (!(symmetries(csr) & (hermitian ? kHermitian : kSymmetric))) {
    reject(std::string("the values are not ") + (hermitian ? "Hermitian" : "symmetric"));
  }
}

Matrix from_csr(const Matrix& csr, const Format&, const Options& options) {
  const Symmetry symmetry = packing_from(static_cast<int>(option(options, "symmetry", 0)), 0).symmetry;
  if (symmetry != Symmetry::none) check_symmetry(csr, symmetry);
  std::vector<int64> offsets = occupied_diagonals(csr, {});
  if (symmetry != Symmetry::none) std::erase_if(offsets, [](int64 offset) { return offset < 0; });
  check_count(static_cast<int64>(offsets.size()));
  const Matrix result = masked_from_rows(csr, offsets, symmetry);
  if (result.structure->stored() != csr.values.size()) {
    reject("some zeros are stored whose mirror images are not; drop them with eliminate_zeros()");
  }
  return result;
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
                  .multiplies_as = "mdia",
                  .halves = true,
                  .combine = combine_masked,
                  .from_csr = from_csr,
                  .to_csr = rows_from_masked};

}  // namespace diagsparse
