// Plans of products of 8x8 bitmap blocks.
#include "formats/bmsparse/products.hpp"

#include "core/compressed_rows.hpp"
#include "formats/bmsparse/layout.hpp"

namespace diagsparse {

namespace {

const Array& array(const Structure& m, const char* name) { return static_cast<const Indices&>(m).at(name); }

// Raises an error if the numbers of blocks exceed 31 bits.
void check_numbered(const Structure& m) {
  const int64 blocks = array(m, "block_col").size();
  if (blocks < kIndexExtent) return;
  throw std::invalid_argument("a bmsparse matrix of " + std::to_string(blocks) +
                              " blocks: products of it and of its transpose number them, expected fewer than 2^31");
}

}  // namespace

BlockOperand::BlockOperand(const Structure& given, Op op)
    : structure(given),
      op(op),
      rows(tiles_along(given.rows)),
      cols(tiles_along(given.cols)),
      indptr(array(given, "block_indptr")),
      col(array(given, "block_col")) {
  if (!op.transposed) return;
  check_numbered(given);
  const std::shared_ptr<const BlockColumns> by_column = block_columns(given);
  std::swap(rows, cols);
  indptr = by_column->indptr;
  col = by_column->row;
  number = by_column->number.as<std::int32_t>();
  memory = by_column;
}

Matrix BlockOperand::pattern() const {
  std::vector<Part> parts{{"indices", col}, {"indptr", indptr}};
  return {std::make_shared<const Indices>(common->name, rows, cols, std::move(parts), blocks()), Array{}};
}

BlocksOfProduct build_product(const BlockOperand& a, const BlockOperand& b, Array indptr, Array col, Array bitmap,
                              Array value_indptr, int64 values, std::shared_ptr<const BlockWork> work) {
  const int64 rows = a.op.transposed ? a.structure.cols : a.structure.rows;
  const int64 cols = b.op.transposed ? b.structure.rows : b.structure.cols;
  return {bmsparse_structure(rows, cols, std::move(indptr), std::move(col), std::move(bitmap), std::move(value_indptr),
                             values),
          std::move(work)};
}

void plan_blocks(Plan& plan, const Matrix& a, const Matrix& b, const Request& request) {
  check_numbered(*a.structure);
  check_numbered(*b.structure);
  BlocksOfProduct product = blocks_of_product({*a.structure, plan.op_a}, {*b.structure, plan.op_b}, request);
  check_numbered(*product.structure);
  plan.c = std::move(product.structure);
  plan.work = std::move(product.work);
}

}  // namespace diagsparse
