// A product of several bands apart, as products of two bands each that add to a band of C.
//
//     A's offsets -1001..-999, -1..1, 999..1001        9 products, 3 x 3 bands of 3 diagonals
//     C's offsets -2002..-1998, ..., 1998..2002        5 bands of 5 diagonals, of 1, 2, 3, 2 and 1 products
#pragma once

#include "kernels/band/diagonals.hpp"

namespace diagsparse::cuda::band {

// Two bands, of as many diagonals in all products of a plan: narrower ones have some that are not stored. Where bands
// of C join, those of B begin with as many of these as bring the first meeting to the first diagonal of C.
struct BandProduct {
  Band a, b;
};
struct Cluster {
  Band c;
  std::vector<BandProduct> products;
};

// Empty where A or B is no set of bands, where bands or those that join are too wide or too many, for one triangle of
// C, and for cdm.
std::vector<Cluster> find_clusters(const Plan& plan);

// Multiply-adds of a row and a product of two bands, in the mean; 0 where these are no bands.
double work_per_product(const Plan& plan);

}  // namespace diagsparse::cuda::band
