// Products of diagonals treated as if all diagonals between the outermost ones were stored: the ranges of offsets and
// the number of multiply-adds.
#pragma once

#include "core/plan.hpp"

namespace diagsparse {

// The range of offsets [low, high], and the range of columns that it covers in each row.
struct Hull {
  int64 low, high, cols;

  Hull(const std::vector<Diagonal>& diagonals, int64 cols);
  int64 width() const;
  int64 begin(int64 row) const;
  int64 end(int64 row) const;
};

// The hulls of A, of B, and of the diagonals of C that have terms.
struct Hulls {
  Hull a, b, c;

  explicit Hulls(const Plan& plan);
  static int64 offset_of(const Sums& sums, const Sum& sum);  // for a sum that has terms
  bool has_terms() const { return c.low <= c.high; }
};

// Estimates of the multiply-adds within the hulls, by sampling: of one row of C, and of all rows.
double row_work(const Hulls& in, int64 row);
double dense_work(const Plan& plan, const Hulls& in);

}  // namespace diagsparse
