// The kernels of csr on the GPU, the default first.
#include "kernels/rows/kernels.hpp"

#include "device/cuda.hpp"
#include "formats/csr/layout.hpp"

namespace diagsparse::cuda::csr {

// A plan that will run many times lists its terms if the lists leave half of the memory free. One that runs once uses
// "hash", which needs no lists. But for a few very long rows of A, "hash" reads the entries again and again, so lists
// are faster there, too. Both add in the same order, so the choice changes no bit.
static const char* choose(const Plan& plan, DType, DType) {
  if (!rows::can_list_terms(plan)) return "hash";
  const int64 products = plan.work->operations();
  if (plan.repeated) {
    // H200, double precision, "terms" against "hash": two terms per entry 0.20 against 0.27 ms, 12 of them (15 M) 0.091
    // against 0.093 ms, 16 (42 M) 0.34 against 0.17 ms, (185 M) 1.36 against 0.72 ms, 21 (336 M) 2.9 against 1.19 ms.
    if (products > 20'000'000 && products > 12 * plan.c->stored()) return "hash";
    // H200: lengths by a power law, 10 M products, 120 M reads of entries: 2.5 against 11 ms in total.
  } else if (products < 1'000'000 || rows::hash_reads(plan) < 3 * products) {
    return "hash";
  }
  return rows::terms_nbytes(plan) <= memory(plan.device).free / 2 ? "terms" : "hash";
}

static FormatKernels make() {
  using namespace rows;
  return {{gather_by_stream(), gather_by_threads(), gather_by_warp(), gather_by_row(), gather_by_merge(),
           gather_by_one(), cusparse::matvec(), cusparse::matvec_alg1(), cusparse::matvec_alg2()},
          {multiply_by_hash(), multiply_by_terms(), multiply_by_warp(), multiply_by_row(), multiply_by_one(),
           cusparse::matmul()},
          {chain_steps()},
          choose};
}
static const RegisterKernels registered("csr", 0, make);

}  // namespace diagsparse::cuda::csr
