// A product of several separate bands, as a list of products of two bands, each of which is added to a band of C.
//
//     A's offsets -1001..-999, -1..1, 999..1001        9 products, 3 x 3 bands of 3 diagonals
//     C's offsets -2002..-1998, ..., 1998..2002        5 bands of 5 diagonals, of 1, 2, 3, 2 and 1 products
#pragma once

#include "kernels/band/diagonals.hpp"

namespace diagsparse::cuda::band {

// Two bands. The number of diagonals is the same for all products of a plan: narrower bands are padded with diagonals
// that are not stored. If bands of C overlap, the padding in front of B aligns the first diagonal of the product with
// the first diagonal of C.
struct BandProduct {
  Band a, b;
};
struct Cluster {
  Band c;
  std::vector<BandProduct> products;
};

// Empty if A or B is not a set of bands, if bands or overlapping groups of them are too wide or too many, for one
// triangle of C, and for cdm.
std::vector<Cluster> find_clusters(const Plan& plan);

// Mean number of multiply-adds per row and product of two bands; 0 if the operands are not sets of bands.
double work_per_product(const Plan& plan);

}  // namespace diagsparse::cuda::band
