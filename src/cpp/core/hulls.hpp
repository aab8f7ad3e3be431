// Products of diagonals as if all diagonals between the outermost ones were stored: where these lie, and how many
// multiply-adds that takes.
#pragma once

#include "core/plan.hpp"

namespace diagsparse {

// The offsets of diagonals from low to high, and the range of columns that they give to a range of rows.
struct Hull {
  int64 low, high, cols;

  Hull(const std::vector<Diagonal>& diagonals, int64 cols);
  int64 width() const;
  int64 begin(int64 row) const;
  int64 end(int64 row) const;
};

// Of A, of B, and of the diagonals of C that have terms.
struct Hulls {
  Hull a, b, c;

  explicit Hulls(const Plan& plan);
  static int64 offset_of(const Sums& sums, const Sum& sum);  // of one that has terms
  bool meet() const { return c.low <= c.high; }
};

// The multiply-adds of a row of C within the hulls, about, from some of its terms; and of all rows, from some of them.
double row_work(const Hulls& in, int64 row);
double dense_work(const Plan& plan, const Hulls& in);

}  // namespace diagsparse
