// The products of A B of csr one by one: product p multiplies an entry of A by one of the row of B that it picks. They
// are counted row by row of A, entry by entry, along the row of B.
#pragma once

#include <algorithm>

#include "core/compressed_rows.hpp"
#include "core/plan.hpp"
#include "device/bisection.cuh"
#include "device/launch.cuh"
#include "entries/sorted_keys.cuh"

namespace diagsparse::cuda {

constexpr int64 kProducts = 1 << 26;  // at a time, where a row has no more: what is made of each takes bytes

// What kernels ask.
struct RowProducts {
  Csr<float> a, b;           // without values
  const std::int64_t* ends;  // how many products there are up to the end of each entry of A

  struct Product {
    int64 row, left, right;  // the row of A, the entries of A and B
  };
  // Product p, in a row from `first_row` on.
  __device__ Product at(int64 p, int64 first_row) const {
    const int64 entry = bisect(0, a.indptr[a.rows], [&](int64 e) { return ends[e] <= p; });
    const int64 row = bisect(first_row + 1, a.rows, [&](int64 i) { return a.indptr[i] <= entry; }) - 1;
    return {row, entry, b.indptr[a.indices[entry]] + p - (entry == 0 ? 0 : ends[entry - 1])};
  }
};

// Whole rows of A, as many as have kProducts products, but one at least.
struct RowRange {
  int64 first_row, end_row, first, count;  // rows; products
};

// Counts them.
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
