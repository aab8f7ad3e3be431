// Defines the Format of csb, validates its arrays, and determines the size of its blocks.
#include "formats/csb/layout.hpp"

namespace diagsparse {

namespace {

constexpr int64 kSmallest = 2, kLargest = 65536;

DType local_type(Blocks blocks) {
  return with_local_type(blocks.size, [](auto index) { return dtype_of<decltype(index)>(); });
}

void check(const Matrix& m) {
  const int64 count = m.index("block_indptr").size() - 1, entries = m.values.size();
  const std::optional<Blocks> blocks = blocks_with_count(m.rows, m.cols, count);
  if (!blocks) {
    reject(csb.name, "block_indptr holds " + std::to_string(count + 1) +
                         " pointers, but no block (a power of two from 2 to 65536) cuts a " + extents(m.rows, m.cols) +
                         " matrix into " + std::to_string(count));
  }
  const DType local = local_type(*blocks);
  check_parts(
      m, {{"local_row", local, {entries}}, {"local_col", local, {entries}}, {"block_indptr", DType::i64, {count + 1}}});
  const Fault fault = fault_in_csb(*m.structure);
  const std::string entry = element_name("(local_row, local_col)", fault.at);
  switch (fault.kind) {
    case Fault::none: return;
    case Fault::pointers:
      reject(csb.name, element_name("block_indptr", fault.at) + " is wrong; expected " + std::to_string(count + 1) +
                           " integers that rise from 0 to " + std::to_string(entries));
    case Fault::outside:
      reject(csb.name, entry + " lies outside of its block, of " + std::to_string(blocks->size) +
                           " rows and columns, or fewer at the edges of the " + extents(m.rows, m.cols) + " matrix");
    case Fault::order: reject(csb.name, entry + " does not come after the one before it in its block (row by row)");
  }
}

Matrix from_csr(const Matrix& csr, const Format&, const Options& options) {
  const int64 size = option(options, "block");  // by default Python selects the size with the fewest bytes
  if (size < kSmallest || size > kLargest || (size & (size - 1)) != 0) {
    reject(csb.name, "blocks of " + std::to_string(size) + " rows, expected a power of two from 2 to 65536");
  }
  return csb_from_rows(csr, *blocks_with_count(csr.rows, csr.cols, Blocks::of(csr.rows, csr.cols, size).count()));
}

}  // namespace

std::optional<Blocks> blocks_with_count(int64 rows, int64 cols, int64 count) {
  for (int64 size = kSmallest; size <= kLargest; size *= 2) {
    const Blocks blocks = Blocks::of(rows, cols, size);
    if (blocks.count() == count) return blocks;
  }
  return std::nullopt;
}

Blocks blocks_of(const Structure& structure) {
  const int64 pointers = static_cast<const Indices&>(structure).at("block_indptr").size();
  return *blocks_with_count(structure.rows, structure.cols, pointers - 1);
}

Matrix empty_csb(int64 rows, int64 cols, Blocks blocks, int64 count, DType dtype) {
  const DType local = local_type(blocks);
  std::vector<Part> arrays{{"local_row", Array::empty(local, {count})},
                           {"local_col", Array::empty(local, {count})},
                           {"block_indptr", Array::zeros(DType::i64, {blocks.count() + 1})}};
  return {csb.structure(csb, rows, cols, std::move(arrays)), Array::empty(dtype, {count})};
}

const Format csb{.name = "csb",
                 .extent = kIndexExtent,
                 .structure = value_for_each,
                 .check = check,
                 .from_csr = from_csr,
                 .to_csr = rows_from_csb};

}  // namespace diagsparse
