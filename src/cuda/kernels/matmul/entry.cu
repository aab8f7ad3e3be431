// Kernel "entry" of dia, hm and cdm: the first approach of Haque, Parvez and Hossain (2024), a thread for every entry
// of C.
//
//   C = alpha op(A) op(B) + beta C; sums and terms as in row.cu.  before: for each sum, the number of entries of C on
//   the diagonals before it.
//
// A thread finds its diagonal by bisection and loops over the pairs whose product is on it. Neighbouring threads read
// neighbouring elements, except at the end of a diagonal. There they process different diagonals, with different
// numbers of pairs: this is the divergence that the paper observes. The kernel exists for comparison. The terms of a
// sum are added in the order of A's offsets, so every run gives the same bits.
#include "device/bisection.cuh"
#include "device/resident.cuh"
#include "device/values.cuh"
#include "kernels/diagonals/kernels.hpp"

namespace diagsparse::cuda::matmul {

namespace {

// `before[d]` entries of C are on the diagonals before d.
template <class U, class V>
__global__ void __launch_bounds__(kBlock)
    entries(const Sum* sums, const int64* before, int64 count, int64 total, const Term* terms, const U* a, bool conj_a,
            const V* b, bool conj_b, Product<U, V>* c, const __grid_constant__ Update<Product<U, V>> update) {
  const int64 width = static_cast<int64>(gridDim.x) * blockDim.x;
  for (int64 e = thread_index(); e < total; e += width) {
    const int64 d = bisect(1, count, [&](int64 d) { return before[d] <= e; }) - 1;
    const Sum sum = sums[d];
    const int64 i = sum.first + e - before[d];
    Product<U, V> value{};
    for (int64 t = sum.terms; t < sum.terms_end; ++t) {
      const Term& term = terms[t];
      if (i < term.first || i >= term.last) continue;
      value += multiply(conjugate_if(conj_a, load(a + term.u + i)), conjugate_if(conj_b, load(b + term.v + i)));
    }
    update.one(c + sum.out + i, value);
  }
}

struct ResidentEntries : ResidentSums {
  int64 total = 0;
  Array before;

  explicit ResidentEntries(const Sums& s) : ResidentSums(s) {
    std::vector<int64> counts;
    for (const Sum& sum : s.sums) {
      counts.push_back(total);
      total += sum.last - sum.first;
    }
    before = upload(counts);
  }

  auto arrays() const { return std::tie(sums, terms, before); }
};

std::shared_ptr<ResidentEntries> resident_entries(const Plan& plan) {
  return cached<ResidentEntries>(plan.cache, "entries",
                                 [&] { return std::make_shared<ResidentEntries>(diagonal_work(plan).sums); });
}
void prepare_entries(const Plan& plan) { resident_entries(plan); }

template <class U, class V>
struct EntryMatmul {
  static void run(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
    using T = Product<U, V>;
    const auto resident_data = resident_entries(plan);
    launch("matmul entry", entries<U, V>, blocks(resident_data->total), dim3(kBlock), resident_data->sums_begin(),
           resident_data->before.template as<const int64>(), static_cast<int64>(diagonal_work(plan).sums.sums.size()),
           resident_data->total, resident_data->terms_begin(), a.values.as<U>(), plan.op_a.conjugated, b.values.as<V>(),
           plan.op_b.conjugated, c.values.as<T>(), Update<T>(alpha, beta));
  }
};

}  // namespace

MatmulRow entry() { return row_of_paper<EntryMatmul, prepare_entries>("entry"); }

}  // namespace diagsparse::cuda::matmul
