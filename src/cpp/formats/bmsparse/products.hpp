// Products of bmsparse matrices: C = op(A) op(B), block by block.
//
// A block of C is a sum of products of a block of A and a block of B, which are called a pair. The pairs, and the
// elements of C that they contribute to, follow from the bitmaps alone, and are computed once. Each block of C is then
// summed independently and written once, and has its exact size.
#pragma once

#include <tuple>

#include "core/plan.hpp"

namespace diagsparse {

// op(A) by rows of blocks. Its blocks are those of A, transposed if op is transposed.
struct BlockOperand {
  const Structure& structure;  // of A
  Op op;
  int64 rows, cols;                      // of blocks
  Array indptr, col;                     // the columns of blocks in each row of blocks
  const std::int32_t* number = nullptr;  // of each block in A; null: 0, 1, 2, ...
  std::shared_ptr<const void> memory;

  BlockOperand(const Structure& structure, Op op);
  int64 blocks() const { return col.size(); }
  Matrix pattern() const;  // csr without values, an entry for each block
};

// The blocks of A column by column: their rows, and their numbers in A. Cached with the structure. Implemented by each
// backend.
struct BlockColumns {
  Array indptr, row, number;

  auto arrays() const { return std::tie(indptr, row, number); }
};
std::shared_ptr<const BlockColumns> block_columns(const Structure& structure);

struct BlockWork : Work {
  Array indptr;  // int64 (blocks of C + 1): the first pair of each block
  Array pairs;   // int32 (2 pairs): the numbers of a block in A and one in B, by ascending column of op(A)
  int64 multiply_adds = 0;

  int64 nbytes() const override { return indptr.nbytes() + pairs.nbytes(); }
  int64 operations() const override { return multiply_adds; }
};
inline const BlockWork& block_work(const Plan& plan) { return static_cast<const BlockWork&>(*plan.work); }

struct BlocksOfProduct {
  StructurePtr structure;
  std::shared_ptr<const BlockWork> work;
};
// Implemented by each backend. The kernel of the request may select the method.
BlocksOfProduct blocks_of_product(const BlockOperand& a, const BlockOperand& b, const Request& request);

// Builds the result from the component arrays of C.
BlocksOfProduct build_product(const BlockOperand& a, const BlockOperand& b, Array indptr, Array col, Array bitmap,
                              Array value_indptr, int64 values, std::shared_ptr<const BlockWork> work);

void plan_blocks(Plan& plan, const Matrix& a, const Matrix& b, const Request& request);

}  // namespace diagsparse
