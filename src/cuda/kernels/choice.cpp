#include "kernels/choice.hpp"

#include <algorithm>
#include <iterator>

#include "kernels/band_lines.hpp"

namespace diagsparse::cuda {

namespace {

// The first rule that holds names the kernel; the last one always does. Times: one H200, double precision, "row"
// against the rule's kernel.
struct Rule {
  const char* kernel;
  bool (*holds)(const Plan& plan, DType a, DType b);
};

const Rule rules[] = {
    // n = 10240: 11 x 11 diagonals (1.2 M multiply-adds) 6.4 against 7.5 us, 41 x 41 (17 M) 34 against 14 us;
    // n = 10^6: 11 x 11 550 against 120 us, 41 x 41 7180 against 441 us.
    {"band",
     [](const Plan& plan, DType a, DType b) {
       Band left, right, result;
       return a == b && plan.sums.work >= 6'000'000 && find_bands(plan, left, right, result) &&
              band_tiles_of(right.width()) <= most_band_tiles(a == DType::c64 || a == DType::c128);
     }},
    // Bands of two types, n = 10240, 41 x 41 diagonals (17 M) 33 against 29 us; 7-point stencil 148 x 58 x 148 squared
    // (62 M) 323 against 186 us; random diagonals, n = 10^4: 109 x 35 (30 M) 135 against 103 us, 600 x 600 (2.8 G) 5890
    // against 2580 us. Below, making its lists costs more than it saves.
    {"group", [](const Plan& plan, DType, DType) { return plan.sums.work >= 15'000'000; }},
    {"row", [](const Plan&, DType, DType) { return true; }},
};

}  // namespace

const char* choose_matmul(const Plan& plan, DType a, DType b) {
  return std::find_if(std::begin(rules), std::end(rules), [&](const Rule& r) { return r.holds(plan, a, b); })->kernel;
}

}  // namespace diagsparse::cuda
