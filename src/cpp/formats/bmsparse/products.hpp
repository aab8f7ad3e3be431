// Products of matrices of blocks: C = op(A) op(B), block by block.
//
// A block of C is the sum of a few products of a block of A and one of B; these two are a pair. Which pairs there are,
// and which elements they reach, follows from the bitmaps alone, and is found once. So each block of C can be summed by
// itself, written once, and is as long as it has to be.
#pragma once

#include "core/plan.hpp"

namespace diagsparse {

// op(A), row by row of blocks. Its blocks are those of A, turned over where op transposes.
struct BlockOperand {
  const Structure& structure;  // of A
  Op op;
  int64 rows, cols;                      // of blocks
  Array indptr, col;                     // the columns of blocks in each row of blocks
  const std::int32_t* number = nullptr;  // of each of them in A; null: in order
  std::shared_ptr<const void> memory;

  BlockOperand(const Structure& structure, Op op);
  int64 blocks() const { return col.size(); }
  Matrix pattern() const;  // csr without values, an entry for each block
};

// The blocks of A column by column: their rows, and their numbers in A. Kept with the structure. Each device's own.
struct BlockColumns {
  Array indptr, row, number;

  template <class F>
  void visit(const F& f) const {
    f(indptr);
    f(row);
    f(number);
  }
};
std::shared_ptr<const BlockColumns> block_columns(const Structure& structure);

struct BlockWork : Work {
  Array indptr;  // int64 (blocks of C + 1): where the pairs of each begin
  Array pairs;   // int32 (2 pairs): the number of a block in A, and of one in B; by rising column of op(A)
  int64 multiply_adds = 0;

  int64 nbytes() const override { return indptr.nbytes() + pairs.nbytes(); }
  int64 operations() const override { return multiply_adds; }
};
inline const BlockWork& block_work(const Plan& plan) { return static_cast<const BlockWork&>(*plan.work); }

struct BlocksOfProduct {
  StructurePtr structure;
  std::shared_ptr<const BlockWork> work;
};
// Each device's own, the request's kernel may have a way to it.
BlocksOfProduct blocks_of_product(const BlockOperand& a, const BlockOperand& b, const Request& request);

// The product over what was found of its blocks.
BlocksOfProduct product_over(const BlockOperand& a, const BlockOperand& b, Array indptr, Array col, Array bitmap,
                             Array value_indptr, int64 values, std::shared_ptr<const BlockWork> work);

Plan plan_blocks(const Format& format, const Matrix& a, Op op_a, const Matrix& b, Op op_b, const Request& request);

}  // namespace diagsparse
