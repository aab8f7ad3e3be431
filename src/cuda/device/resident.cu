// Data of a matrix or a plan that is cached on the GPU.
#include <algorithm>

#include "device/resident.cuh"

namespace diagsparse::cuda {

namespace {

constexpr int64 kFew = 1 << 12;  // terms, which are faster to upload than to create on the device

// Exchanges u (a position in B's values) and v (in A's). Multiplication of numbers commutes.
constexpr Term swap_operands(const Term& t) { return {t.v, t.u, t.first, t.last, t.shift, t.conjugated}; }

// A warp writes the terms of a sum, and a thread every 32nd of a meeting.
__global__ void __launch_bounds__(kBlock)
    list_terms(const Sum* sums, int64 count, const PairRange* pair_ranges, const Diagonal* a, const Diagonal* b,
               int64 inner, bool swapped, Term* terms) {
  const int lane = threadIdx.x % 32;
  const int64 warps = static_cast<int64>(gridDim.x) * (kBlock / 32);
  for (int64 d = thread_index() / 32; d < count; d += warps) {
    const Sum sum = sums[d];
    Term* next = terms + sum.terms;
    for (int64 m = sum.pair_ranges; m < sum.pair_ranges_end; ++m) {
      const PairRange meeting = pair_ranges[m];
      for (int k = lane; k < meeting.count; k += 32) {
        const Term term = term_of(sum, a[meeting.a + k], b[meeting.b - k], inner);
        next[k] = swapped ? swap_operands(term) : term;
      }
      next += meeting.count;
    }
  }
}

Array build_on_device(const Sums& s, bool swapped, const Array& sums) {
  const Array pair_ranges = upload(s.pair_ranges), a = upload(s.a), b = upload(s.b);
  Array terms = Array::empty(DType::i64, {s.terms() * static_cast<int64>(sizeof(Term) / sizeof(int64))});
  const int64 count = static_cast<int64>(s.sums.size());
  launch("list terms", list_terms, blocks(32 * count), dim3(kBlock), sums.as<const Sum>(), count,
         pair_ranges.as<const PairRange>(), a.as<const Diagonal>(), b.as<const Diagonal>(), s.inner, swapped,
         terms.as<Term>());
  return terms;
}

Array build_on_host(const Sums& s, bool swapped) {
  std::vector<Term> terms = s.all_terms();
  if (swapped) std::transform(terms.begin(), terms.end(), terms.begin(), swap_operands);
  return upload(terms);
}

}  // namespace

ResidentSums::ResidentSums(const Sums& s, bool swapped)
    : sums(upload(s.sums)), terms(s.terms() <= kFew ? build_on_host(s, swapped) : build_on_device(s, swapped, sums)) {}

ResidentOrders::ResidentOrders(const Plan& plan)
    : ab_(resident_sums(plan)), subtracted_(diagonal_work(plan).subtracted) {
  if (!plan.both_orders()) return;
  ba_ = cached<ResidentSums>(plan.cache, "sums of the other order",
                             [&] { return std::make_shared<ResidentSums>(*diagonal_work(plan).other_order, true); });
}

}  // namespace diagsparse::cuda
