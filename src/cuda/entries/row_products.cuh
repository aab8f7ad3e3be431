// The products of A B of csr, one by one: product p multiplies an entry of A by an entry of the corresponding row of B.
// They are numbered row by row of A, entry by entry, along the row of B.
#pragma once

#include <algorithm>

#include "core/compressed_rows.hpp"
#include "core/plan.hpp"
#include "device/bisection.cuh"
#include "device/launch.cuh"
#include "entries/sorted_keys.cuh"

namespace diagsparse::cuda {

constexpr int64 kProducts = 1 << 26;  // most products at a time, unless a row has more; limits the memory

// The arguments of kernels.
struct RowProducts {
  Csr<float> a, b;           // the operands, without values
  const std::int64_t* ends;  // number of products up to the end of each entry of A

  struct Product {
    int64 row, left, right;  // the row of A, the entries of A and B
  };
  // Product p, whose row is `first_row` or a later one.
  __device__ Product at(int64 p, int64 first_row) const {
    const int64 entry = bisect(0, a.indptr[a.rows], [&](int64 e) { return ends[e] <= p; });
    const int64 row = bisect(first_row + 1, a.rows, [&](int64 i) { return a.indptr[i] <= entry; }) - 1;
    return {row, entry, b.indptr[a.indices[entry]] + p - (entry == 0 ? 0 : ends[entry - 1])};
  }
};

// Complete rows of A with at most kProducts products together, but at least one row.
struct RowRange {
  int64 first_row, end_row, first, count;  // a range of rows, and its range of products
};

// Counts the products and divides them into ranges of rows.
class ProductList {
 public:
  ProductList(const Structure& a, const Structure& b);

  int64 total() const { return total_; }
  RowProducts on_device() const { return {a_, b_, ends_.get()}; }
  std::vector<RowRange> ranges() const;

 private:
  Csr<float> a_, b_;
  Scratch<std::int64_t> ends_;
  int64 total_;
};

}  // namespace diagsparse::cuda
