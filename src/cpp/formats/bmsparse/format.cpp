// Defines the Format of bmsparse, validates its arrays, and converts from and to csr.
#include "formats/bmsparse/layout.hpp"
#include "formats/bmsparse/products.hpp"

namespace diagsparse {

namespace {

void check(const Matrix& m) {
  const int64 blocks = m.index("block_col").size();
  check_parts(m, {{"block_indptr", DType::i64, {tiles_along(m.rows) + 1}},
                  {"block_col", DType::i32, {blocks}},
                  {"bitmap", DType::u64, {blocks}},
                  {"value_indptr", DType::i64, {blocks + 1}}});
  check_lines(m, "block_indptr", "block_col", tiles_along(m.rows), tiles_along(m.cols), "row of blocks");
  const Fault fault = fault_in_bitmaps(*m.structure);
  if (fault.kind == Fault::none) return;
  const Array &bitmap = m.index("bitmap"), &begin = m.index("value_indptr");
  if (fault.kind == Fault::outside) {
    const bool empty = element<Bitmap>(bitmap, fault.at) == 0;
    reject(m.format, element_name("bitmap", fault.at) +
                         (empty ? " is empty; expected at least one element in each block"
                                : " has elements outside of the " + extents(m.rows, m.cols) + " matrix"));
  }
  int64 expected = 0;  // all previous pointers are valid
  if (fault.at > 0) {
    expected = element<int64>(begin, fault.at - 1) + std::popcount(element<Bitmap>(bitmap, fault.at - 1));
  }
  reject(m.format, element_name("value_indptr", fault.at) + " is " + std::to_string(element<int64>(begin, fault.at)) +
                       ", expected " + std::to_string(expected) + ", how many bits are set in the bitmaps before it");
}

// There is a value for each bit that is set.
StructurePtr over(const Format& format, int64 rows, int64 cols, std::vector<Part> arrays) {
  const int64 count = last_pointer(arrays, "value_indptr");
  return std::make_shared<const Indices>(format.name, rows, cols, std::move(arrays), count);
}

Matrix from_csr(const Matrix& csr, const Format&, const Options&) { return blocks_from_rows(csr); }

Matrix to_csr(const Matrix& a, Op op) {
  const Matrix rows = rows_from_blocks(a);
  return op.transposed || op.conjugated ? convert(rows, op, common->name) : rows;
}

}  // namespace

StructurePtr bmsparse_structure(int64 rows, int64 cols, Array indptr, Array col, Array bitmap, Array begin,
                                int64 count) {
  std::vector<Part> arrays{{"block_indptr", std::move(indptr)},
                           {"block_col", std::move(col)},
                           {"bitmap", std::move(bitmap)},
                           {"value_indptr", std::move(begin)}};
  return std::make_shared<const Indices>(bmsparse.name, rows, cols, std::move(arrays), count);
}

const Format bmsparse{.name = "bmsparse",
                      .extent = kIndexExtent,
                      .structure = over,
                      .check = check,
                      .plan = plan_blocks,
                      .from_csr = from_csr,
                      .to_csr = to_csr};

}  // namespace diagsparse
