// Selects the kernel for a product of two matrices of diagonals: the rules, with the times behind them.
#include "kernels/choice.hpp"

#include <algorithm>
#include <iterator>

#include "kernels/band/clusters.hpp"
#include "kernels/band/diagonals.hpp"
#include "kernels/diagonals/kernels.hpp"

namespace diagsparse::cuda {

namespace {

// The first rule that holds selects the kernel; the last one always holds. Times: one H200, double precision unless
// stated otherwise, "block" or "row" against the rule's kernel. Those of "dense_tiles" are against the kernel for
// scattered diagonals that "block" replaced.
struct Rule {
  const char* kernel;
  bool (*holds)(const Plan& plan, DType a, DType b);
};

// Multiply-adds per row from which "band" is faster than "block". The limit depends on the type because the time of
// "block" depends on the bytes per value, whereas the matrix units compute all types in double precision. n = 10^6,
// float64: 7 x 7 diagonals 61 against 75 us, 9 x 9 88 against 83 us, 21 x 21 341 against 173 us; float32: 11 x 11 74
// against 91 us, 21 x 21 212 against 135 us; complex64: 11 x 11 122 against 226 us, 21 x 21 352 against 346 us;
// complex128: 5 x 5 81 against 181 us, 11 x 11 239 against 255 us, 21 x 21 740 against 405 us.
int64 band_work(DType dtype) {
  switch (dtype) {
    case DType::f32: return 200;
    case DType::c64: return 400;
    case DType::c128: return 140;
    default: return 64;
  }
}

// Largest ratio of the multiply-adds of "dense_tiles" to those of the product; above it "block" is faster. Offsets -40,
// -38, ... 40 (ratio 5.36), n = 10^6, float64: 1899 against 1294 us; complex128, n = 3 10^5: 1328 against 902 us. 150
// of 301 diagonals, n = 30000, float64 (ratio 4.4): 345 against 1026 us, and 590 with "staged".
double most_padding(DType dtype) {
  switch (dtype) {
    case DType::f32: return 3.2;
    case DType::c64: return 3.8;
    case DType::c128: return 4.8;
    default: return 5.2;
  }
}

// Pairs per diagonal of C from which "staged" is faster than "block".
constexpr double kManyPairs = 12;

bool are_bands(const Plan& plan, DType dtype) {
  band::Band left, right, result;
  return band::find_bands(plan, left, right, result) &&
         band::tiles_of(std::max(left.width(), right.width())) <=
             band::most_tiles(dtype == DType::c64 || dtype == DType::c128);
}

const Rule rules[] = {
    // n = 10240, 41 x 41 diagonals (17 M multiply-adds) 30 against 11 us; n = 1000, 41 x 41 (1.7 M), "row" 11.5 against
    // 9.1 us; n = 10^6, 41 x 41 1290 against 384 us. For less work per row, see band_work.
    {"band",
     [](const Plan& plan, DType a, DType b) {
       return a == b && sums_of(plan).work >= std::max<int64>(1'000'000, band_work(a) * plan.rows) &&
              are_bands(plan, a);
     }},
    // Three bands of 21, n = 5 10^5, 1445 against 633 us; two of 40, n = 2 10^5, 877 against 236 us; three of 11 (121
    // multiply-adds per row and product of two bands), n = 10^6, 816 against 922 us.
    {"bands",
     [](const Plan& plan, DType a, DType b) {
       return a == b && a == DType::f64 && sums_of(plan).work >= 15'000'000 && !are_bands(plan, a) &&
              band::work_per_product(plan) >= 160;
     }},
    // Dense, n = 2000 9.9 against 0.53 ms; a band of 201 diagonals, n = 2 10^5 5.1 against 1.2 ms, n = 10^5 in float32
    // 1.42 against 0.62 ms, n = 20000 in complex64 755 against 368 us, complex128 3560 against 420 us; 150 of 301
    // diagonals, n = 30000, with "block" 598 against 341 us, in float32 420 against 347 us, complex64 647 against 690
    // us. Against "row": a triangle, n = 200 (1.3 M) 26 against 43 us, n = 500 (21 M) 117 against 88 us; a band of 107
    // diagonals, n = 1000 (11 M) 25 against 43 us, n = 5000 (57 M) 96 against 43 us.
    {"dense_tiles",
     [](const Plan& plan, DType a, DType b) {
       return a == b && sums_of(plan).work >= 15'000'000 && dense_tiles::padding(plan) <= most_padding(a) &&
              !are_bands(plan, a);
     }},
    // Random diagonals, n = 10^4, float64, "block" and "staged": 200 each (4.5 pairs per diagonal) 436 and 674 us, 300
    // (9.5) 913 and 1069 us, 400 (16) 1645 and 1538 us, 600 (36) 3657 and 2766 us; float32, 400 869 and 803 us.
    // Products with less work have not been timed.
    {"staged",
     [](const Plan& plan, DType a, DType b) {
       const Sums& sums = sums_of(plan);
       const auto count = static_cast<double>(sums.sums.size());
       return a == b && (a == DType::f64 || a == DType::f32) && sums.work >= 500'000'000 && count >= 320 &&
              static_cast<double>(sums.terms()) >= kManyPairs * count && matmul::density_of(plan) >= 0.5;
     }},
    // Against "row": Heisenberg chains squared, 12 sites (1.7 M multiply-adds) 9.2 against 12.6 us, 14 sites (9.5 M) 33
    // against 24 us, 16 sites (53 M) 153 against 80 us; 5-point stencil, 300^2 (2.2 M) 9.2 against 8.0 us, 1000^2 (25
    // M) 89 against 49 us; bands, n = 10^5, 5 x 5 diagonals (2.5 M) 8.7 against 6.8 us; 27-point stencil 100^3 (729 M)
    // 2.3 against 0.61 ms; random diagonals, n = 10^4, 109 x 109 177 against 80 us.
    {"block", [](const Plan& plan, DType, DType) { return sums_of(plan).work >= 2'000'000; }},
    {"row", [](const Plan&, DType, DType) { return true; }},
};

}  // namespace

const char* choose_matmul(const Plan& plan, DType a, DType b) {
  return std::find_if(std::begin(rules), std::end(rules), [&](const Rule& r) { return r.holds(plan, a, b); })->kernel;
}

}  // namespace diagsparse::cuda
