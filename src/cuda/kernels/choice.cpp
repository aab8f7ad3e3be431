#include "kernels/choice.hpp"

#include <algorithm>
#include <iterator>

#include "kernels/band/diagonals.hpp"
#include "kernels/diagonal_kernels.hpp"

namespace diagsparse::cuda {

namespace {

// The first rule that holds names the kernel; the last one always does. Times: one H200, double precision, "row"
// against the rule's kernel.
struct Rule {
  const char* kernel;
  bool (*holds)(const Plan& plan, DType a, DType b);
};

// Multiply-adds of "dense_tiles" at most, for each of the product's: it makes so many times as many a second as
// "group".
double most_padding(DType dtype) {
  switch (dtype) {
    case DType::f32: return 3.2;
    case DType::c64: return 3.8;
    case DType::c128: return 8;
    default: return 5.5;
  }
}

const Rule rules[] = {
    // n = 10240: 7 x 7 diagonals (0.5 M multiply-adds) 5.1 against 5.1 us, 11 x 11 (1.2 M) 6.4 against 5.6 us, 41 x 41
    // (17 M) 34 against 9.8 us; n = 1000: 41 x 41 (1.7 M) 11.5 against 9.1 us; n = 10^6: 3 x 3 (9 M) 51 against 64 us,
    // 5 x 5 (25 M) 126 against 66 us, 41 x 41 (1.7 G) 7180 against 360 us.
    {"band",
     [](const Plan& plan, DType a, DType b) {
       band::Band left, right, result;
       return a == b && diagonal_work(plan).sums.work >= std::max<int64>(1'000'000, 20 * plan.rows) &&
              band::find_bands(plan, left, right, result) &&
              band::tiles_of(std::max(left.width(), right.width())) <=
                  band::most_tiles(a == DType::c64 || a == DType::c128);
     }},
    // Against "group": dense, n = 2000 9.9 against 0.53 ms; a band of 201 diagonals, n = 2 10^5 5.1 against 1.2 ms, n =
    // 10^5 in float32 1.42 against 0.62 ms, n = 20000 in complex64 755 against 368 us, complex128 3560 against 420 us;
    // 150 of 301 diagonals, n = 30000, 461 against 341 us, in float32 267 against 347 us, complex64 629 against 690 us.
    // Against "row": a triangle, n = 200 (1.3 M) 26 against 43 us, n = 500 (21 M) 117 against 88 us; a band of 107
    // diagonals, n = 1000 (11 M) 25 against 43 us, n = 5000 (57 M) 96 against 43 us.
    {"dense_tiles",
     [](const Plan& plan, DType a, DType b) {
       return a == b && sums_of(plan).work >= 15'000'000 && dense_tiles::padding(plan) <= most_padding(a);
     }},
    // Bands of two types, n = 10240, 41 x 41 diagonals (17 M) 33 against 29 us; 7-point stencil 148 x 58 x 148 squared
    // (62 M) 323 against 186 us; random diagonals, n = 10^4: 109 x 35 (30 M) 135 against 103 us, 600 x 600 (2.8 G) 5890
    // against 2580 us. Below, making its lists costs more than it saves.
    {"group", [](const Plan& plan, DType, DType) { return diagonal_work(plan).sums.work >= 15'000'000; }},
    {"row", [](const Plan&, DType, DType) { return true; }},
};

}  // namespace

const char* choose_matmul(const Plan& plan, DType a, DType b) {
  return std::find_if(std::begin(rules), std::end(rules), [&](const Rule& r) { return r.holds(plan, a, b); })->kernel;
}

}  // namespace diagsparse::cuda
