// Defines the Format of sell, validates its arrays, and computes the slices of a matrix.
#include <algorithm>
#include <array>
#include <optional>

#include "core/convert.hpp"
#include "core/summary.hpp"
#include "formats/sell/layout.hpp"

namespace diagsparse {

namespace {

void check_sizes(const Matrix& m) {
  const Shape shape = m.structure->values_shape;
  if (shape.cols < 1 || shape.cols > kHighestSlice) {
    reject(sell.name, "indices " + (shape.cols < 0 ? "are flat" : "have " + std::to_string(shape.cols) + " columns") +
                          ", expected 1 to " + std::to_string(kHighestSlice) + " columns, one for each row of a slice");
  }
  check_padded_parts(m, shape, {shape.size()}, {{"slice_indptr", DType::i64, {slices_of(m.rows, shape.cols) + 1}}},
                     {"row_order", "row_lengths"});
}

void check(const Matrix& given) {
  check_sizes(given);
  const Matrix m = lengthened(given, Lines::one);
  const Sell<float> a = Sell<float>::over(*m.structure, nullptr);
  const int64 positions = m.structure->values_shape.size();
  if (const Fault fault = fault_in_slices(a, positions); fault.kind != Fault::none) {
    reject(sell.name, element_name("slice_indptr", fault.at) + " is wrong; expected multiples of the " +
                          std::to_string(a.height) + " rows of a slice that rise from 0 to " +
                          std::to_string(positions));
  }
  if (const Fault fault = StoredRows<Sell>::fault_in_row_order(*m.structure); fault.kind != Fault::none) {
    reject(sell.name, element_name("row_order", fault.at) + " is wrong; expected each of the rows 0 to " +
                          std::to_string(a.rows - 1) + " once");
  }
  const Fault fault = StoredRows<Sell>::fault_in_entries(*m.structure);
  check_stored_columns(m, fault, element_name("indices", fault.at, a.height),
                       ", or -1 for padding, which is all that comes after the last row");
}

Matrix from_csr(const Matrix& csr, const Format& format, const Options& options) {
  const DType type = index_type(option(options, "column_bits", 32));
  const int64 height = option(options, "slice_height");  // by default Python selects the height with the fewest bytes
  Slices slices = cut_into_slices(csr, height, option(options, "sigma", 1));
  const Shape shape{slices.positions / height, height};
  std::vector<Part> arrays{{"indices", Array::empty(DType::i32, shape)}, {"slice_indptr", std::move(slices.indptr)}};
  if (slices.row_order) arrays.emplace_back("row_order", std::move(*slices.row_order));
  if (option(options, "row_lengths", 0)) arrays.emplace_back("row_lengths", Array::empty(DType::i32, {csr.rows}));
  const Matrix result{
      std::make_shared<const Indices>(format.name, csr.rows, csr.cols, std::move(arrays), shape, csr.values.size()),
      Array::empty(csr.dtype, shape)};
  StoredRows<Sell>::fill(csr, result);
  return shortened(result, type, Lines::one);
}

Matrix to_csr(const Matrix& a, Op op) {
  return convert(StoredRows<Sell>::to_csr(lengthened(a, Lines::one)), op, common->name);
}

std::optional<Array> order_of_rows(const Matrix& csr, int64 sigma) {
  return sigma > 1 ? std::optional(rows_by_length(csr, sigma)) : std::nullopt;
}

Slices cut(const Matrix& csr, int64 height, const std::optional<Array>& row_order) {
  Slices result{row_order, Array::empty(DType::i64, {slices_of(csr.rows, height) + 1}), 0};
  const std::int32_t* order = row_order ? row_order->as<std::int32_t>() : nullptr;
  result.positions = compute_slice_indptr(csr, height, order, result.indptr.as<int64>());
  return result;
}

}  // namespace

Slices cut_into_slices(const Matrix& csr, int64 height, int64 sigma) {
  if (height < 1 || height > kHighestSlice || sigma < 1) {
    reject(sell.name, "slices of " + std::to_string(height) + " rows, sorted in windows of " + std::to_string(sigma) +
                          ": expected 1 to " + std::to_string(kHighestSlice) + " rows, windows of 1 or more");
  }
  return cut(csr, height, order_of_rows(csr, sigma));
}

int64 padded_size_of_slices(const Matrix& a, Op op, int64 height, int64 sigma) {
  constexpr std::array<int64, 3> kDefaults{32, 16, 8};  // among which the default height is chosen; sorted only once
  const auto* const found = std::find(kDefaults.begin(), kDefaults.end(), height);
  if (found == kDefaults.end() || sigma < 1)
    return cut_into_slices(convert(a, op, common->name), height, sigma).positions;
  const auto& sizes =
      cached_statistic(a, op, "padded sizes of slices, sorted by " + std::to_string(sigma), [=](const Matrix& csr) {
        const auto order = order_of_rows(csr, sigma);
        std::array<int64, 3> result;
        for (std::size_t k = 0; k < kDefaults.size(); ++k) result[k] = cut(csr, kDefaults[k], order).positions;
        return result;
      });
  return sizes[found - kDefaults.begin()];
}

const Format sell{.name = "sell",
                  .extent = kIndexExtent,
                  .structure = padded_structure,
                  .check = check,
                  .from_csr = from_csr,
                  .to_csr = to_csr};

}  // namespace diagsparse
