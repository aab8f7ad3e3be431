// Kernels "atomic" and "atomic_split" of hm: Algorithm 2 (Haque, Parvez, Hossain 2024, section 6.2).
//
//   C = alpha op(A) op(B) + beta C; C is scaled first.  diagonals: those of A by ascending start; pairs: for each of
//   them the diagonals of B with which it has products, with the rows of these and the diagonal of C to which they are
//   added.
//
// A thread processes one stored entry of A. It finds its diagonal by bisection over the starts, loops over the
// diagonals of B, and adds every product to C atomically. Neighbouring threads read neighbouring elements of A once,
// and of B and C once for each pair. The kernel exists for comparison. The thirteen index cases of the paper (which of
// the three diagonals are above, on or below the main one) result from the two rules of its coordinate scheme; with
// row-based starts they are one formula. "atomic_split" is the paper's suggestion against divergence: three threads per
// entry, for the diagonals of B above the main one, for the main one, and for those below, in a block row each. The
// order of the additions is not fixed: sums may differ in their last bits from run to run.
#include <algorithm>

#include "device/bisection.cuh"
#include "device/resident.cuh"
#include "device/values.cuh"
#include "kernels/diagonals/kernels.hpp"

namespace diagsparse::cuda::matmul {

namespace {

// A diagonal of A as it is stored: where it starts, its first row in op(A), and its pairs by the sign of B's offset.
struct StoredDiagonal {
  int64 start, length, row;
  int64 pairs[4];  // [pairs[k], pairs[k + 1]): below, on, above the main diagonal of B
};
// In row i of op(A): C[out + i] += A's entry * B[v + i], for first <= i < last.
struct Pair {
  int64 v, out, first, last;
};

struct StoredPairs {
  Array diagonals, pairs;
  int64 count = 0, total = 0;

  auto arrays() const { return std::tie(diagonals, pairs); }
};

template <int Parts, class U, class V>
__global__ void __launch_bounds__(kBlock)
    scatter(const StoredDiagonal* diagonals, int64 count, const Pair* pairs, const U* a, int64 total, bool conj_a,
            const V* b, bool conj_b, Product<U, V>* c, const __grid_constant__ Factor<Product<U, V>> alpha) {
  const int64 width = static_cast<int64>(gridDim.x) * blockDim.x;
  const int part = Parts == 1 ? 0 : blockIdx.y;
  for (int64 e = thread_index(); e < total; e += width) {
    // The diagonals are sorted by start.
    const StoredDiagonal& s = diagonals[bisect(1, count, [&](int64 d) { return diagonals[d].start <= e; }) - 1];
    if (e < s.start || e - s.start >= s.length) continue;  // padding, if A is not hm
    const U value = conjugate_if(conj_a, load(a + e));
    const int64 i = s.row + e - s.start;
    for (int64 p = s.pairs[part]; p < s.pairs[Parts == 1 ? 3 : part + 1]; ++p) {
      const Pair pair = pairs[p];
      if (i < pair.first || i >= pair.last) continue;
      atomic_add(c + pair.out + i, alpha * multiply(value, conjugate_if(conj_b, load(b + pair.v + i))));
    }
  }
}

// C = beta C on its diagonals, before the products are added.
template <class T>
__global__ void __launch_bounds__(kBlock)
    scale_diagonals(const Sum* sums, int64 count, T* c, const __grid_constant__ Update<T> update) {
  for (int64 d = blockIdx.y; d < count; d += gridDim.y) {
    const int64 i = sums[d].first + thread_index();
    if (i < sums[d].last) update.one(c + sums[d].out + i, T{});
  }
}

std::shared_ptr<StoredPairs> build_pairs(const Plan& plan) {
  const std::vector<Span> spans = spans_of(layout_of(plan.a), plan.op_a);
  const std::vector<Span> spans_b = spans_of(layout_of(plan.b), plan.op_b);
  std::vector<std::vector<std::pair<int64, Pair>>> of_a(spans.size());  // for each diagonal: B's offset and the pair
  const Sums& sums = sums_of(plan);
  for (const Sum& sum : sums.sums) {
    sums.for_each_pair(sum, [&](std::int32_t a, std::int32_t b) {
      const Term term = sums.term(sum, a, b);
      of_a[a].push_back({spans_b[b].offset, {term.v, sum.out, term.first, term.last}});
    });
  }
  std::vector<StoredDiagonal> diagonals;
  std::vector<Pair> pairs;
  for (const Span& s : spans) {
    StoredDiagonal diagonal{s.start, s.length, s.row, {}};
    auto& mine = of_a[&s - spans.data()];
    const auto sign = [](int64 b) { return b < 0 ? 0 : b == 0 ? 1 : 2; };
    std::stable_sort(mine.begin(), mine.end(),
                     [&](const auto& x, const auto& y) { return sign(x.first) < sign(y.first); });
    std::size_t next = 0;
    for (int part = 0; part < 3; ++part) {
      diagonal.pairs[part] = static_cast<int64>(pairs.size());
      for (; next < mine.size() && sign(mine[next].first) == part; ++next) pairs.push_back(mine[next].second);
    }
    diagonal.pairs[3] = static_cast<int64>(pairs.size());
    diagonals.push_back(diagonal);
  }
  std::sort(diagonals.begin(), diagonals.end(),
            [](const StoredDiagonal& x, const StoredDiagonal& y) { return x.start < y.start; });
  auto result = std::make_shared<StoredPairs>();
  result->count = static_cast<int64>(diagonals.size());
  result->total = diagonals.empty() ? 0 : diagonals.back().start + diagonals.back().length;
  result->diagonals = upload(diagonals);
  result->pairs = upload(pairs);
  return result;
}

std::shared_ptr<StoredPairs> stored_pairs(const Plan& plan) {
  return cached<StoredPairs>(plan.cache, "atomic", [&] { return build_pairs(plan); });
}
void prepare_atomic(const Plan& plan) {
  stored_pairs(plan);
  resident_sums(plan);
}

template <int Parts, class U, class V>
struct Scatter {
  static void run(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
    using T = Product<U, V>;
    const auto resident_data = stored_pairs(plan);
    const auto sums = resident_sums(plan);
    const int64 count = static_cast<int64>(diagonal_work(plan).sums.sums.size());
    const dim3 grid(blocks(std::min(plan.rows, plan.cols)).x, static_cast<unsigned>(std::min<int64>(count, 65535)));
    launch("matmul atomic", scale_diagonals<T>, grid, dim3(kBlock), sums->sums_begin(), count, c.values.as<T>(),
           Update<T>(0.0, beta));
    launch("matmul atomic", scatter<Parts, U, V>, dim3(blocks(resident_data->total).x, Parts), dim3(kBlock),
           resident_data->diagonals.template as<const StoredDiagonal>(), resident_data->count,
           resident_data->pairs.template as<const Pair>(), a.values.as<U>(), resident_data->total, plan.op_a.conjugated,
           b.values.as<V>(), plan.op_b.conjugated, c.values.as<T>(), Factor<T>(alpha));
  }
};
template <class U, class V>
struct Unsplit : Scatter<1, U, V> {};
template <class U, class V>
struct Split : Scatter<3, U, V> {};

}  // namespace

MatmulRow atomic() { return row_of_paper<Unsplit, prepare_atomic>("atomic"); }
MatmulRow atomic_split() { return row_of_paper<Split, prepare_atomic>("atomic_split"); }

}  // namespace diagsparse::cuda::matmul
