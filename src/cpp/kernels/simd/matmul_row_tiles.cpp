// Kernel "row_tiles" of dia, hm and cdm: C = alpha op(A) op(B) + beta C from a plan, diagonal by diagonal.
//
//   A: m x k, B: k x n, C: m x n. Each diagonal of C is a sum over the pairs of diagonals (a, b) with a + b = c.
//   Minimum traffic in bytes: A + B + C, once each.
//
// A thread computes a block of rows on every diagonal of C: the rows of A and the window of B for the block stay in
// cache, and each value of C is summed in a register and written once. For bands, four diagonals are computed at a time
// (band_tiles.hpp). For A B + B A or A B - B A, a block of a diagonal gets the terms of A B, then those of B A, while
// it is in the L1 cache. Each value adds its terms in the order of A's diagonals, so its bits do not depend on the
// number of threads, nor on other rows and diagonals.
#include <optional>

#include "cpu/parallel.hpp"
#include "kernels/simd/band_tiles.hpp"
#include "kernels/simd/diagonal_kernels.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

// Rows in a block. Bands: a block of A and its window of B stay in the L1 cache. Scattered diagonals: many rows share
// the search for a block's terms, and A's rows stay in the L2 cache; but if most of the work is writing C (few terms
// per sum), long runs along each diagonal are used.
constexpr int64 kBandRows = 64;
constexpr int64 kScatteredRows = 256;
constexpr int64 kWritingRows = 4096;
constexpr int64 kFewTerms = 4;
constexpr int64 kSumsPerTask = 256;

// One product A B, computed in blocks of rows, on one diagonal of C or on four neighbouring ones at a time.
template <class U, class V>
class OneProduct {
  using Tiles = BandTiles<U, V>;

  const Sums& sums_;
  const Streams<U, V> s_;
  const QuadPlan quads_;

 public:
  OneProduct(const Sums& sums, const Streams<U, V>& s, bool may_be_band)
      : sums_(sums), s_(s), quads_(may_be_band ? QuadPlan(sums) : QuadPlan()) {
    sums.cache_few_terms();
  }

  bool has_quads() const { return !quads_.quads.empty(); }
  Prefetch<U, V> prefetch() const { return {sums_, s_, kBandRows}; }

  [[gnu::noinline]] void diagonal(int64 d, int64 first, int64 last, std::vector<Term>& buffer) const {
    const Sum& sum = sums_.sums[d];
    first = std::max(first, sum.first);
    last = std::min(last, sum.last);
    if (first >= last) return;
    Streams<U, V> on_diagonal = s_;
    on_diagonal.out += sum.out;
    const auto [begin, end] = sums_.terms_of(sum, first, last, buffer);
    RowTiles<U, V, 1>::run(on_diagonal, begin, end, first, last);
  }

  void quad(int64 n, int64 first, int64 last, std::vector<Term>& buffer) const {
    int64 begin = first, i = first;  // outside [begin, i), terms do not cover complete tiles
    if (has_quads()) {
      const Quad& q = quads_.quads[n];
      i = std::max(first, q.first);
      begin = std::min(i, last);
      for (; i + Tiles::rows <= std::min(last, q.last); i += Tiles::rows) Tiles::tile(s_, quads_, q, i);
      if (begin == first && i >= last) return;
    }
    for (int64 d = kQuad * n; d < kQuad * (n + 1); ++d) {
      diagonal(d, first, begin, buffer);
      diagonal(d, std::min(i, last), last, buffer);
    }
  }
};

template <class U, class V>
struct MatmulRowTiles {
  using T = Product<U, V>;
  using Other = std::optional<OneProduct<V, U>>;

  static void run(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
    const DiagonalWork& work = diagonal_work(plan);
    const U* u = a.values.as<U>();
    const V* v = b.values.as<V>();
    T* out = c.values.as<T>();
    const bool conj_a = plan.op_a.conjugated, conj_b = plan.op_b.conjugated;
    const bool may_be_band = plan.rows >= 4 * kBandRows && work.sums.sums.size() >= kQuad;
    const OneProduct<U, V> ab(work.sums, {u, conj_a, v, conj_b, out, Update<T>(alpha, beta)}, may_be_band);
    Other ba;
    if (work.other_order) {
      const Update<T> update(work.subtracted ? -alpha : alpha, 1.0);
      ba.emplace(*work.other_order, Streams<V, U>(v, conj_b, u, conj_a, out, update), may_be_band);
    }
    if (ab.has_quads() || (ba && ba->has_quads())) band(plan, ab, ba);
    else scattered(plan, ab, ba);
  }

 private:
  static void scattered(const Plan& plan, const OneProduct<U, V>& ab, const Other& ba) {
    const Sums& sums = sums_of(plan);
    const int64 count = static_cast<int64>(sums.sums.size());
    const bool few = sums.terms() < kFewTerms * count;
    const int64 rows = few ? kWritingRows : kScatteredRows;
    const int64 blocks = (plan.rows + rows - 1) / rows;
    const int64 chunks = (count + kSumsPerTask - 1) / kSumsPerTask;
    parallel_for(blocks * chunks, plan.work->operations(), [&](int64 task) {
      const int64 first = task / chunks * rows;
      const int64 begin = task % chunks * kSumsPerTask, end = std::min(count, begin + kSumsPerTask);
      std::vector<Term> buffer;
      for (int64 d = begin; d < end; ++d) {
        ab.diagonal(d, first, first + rows, buffer);
        if (ba) ba->diagonal(d, first, first + rows, buffer);
      }
    });
  }

  static void band(const Plan& plan, const OneProduct<U, V>& ab, const Other& ba) {
    const Prefetch<U, V> prefetch = ab.prefetch();
    const int64 count = static_cast<int64>(sums_of(plan).sums.size()), quads = count / kQuad;
    parallel_for((plan.rows + kBandRows - 1) / kBandRows, plan.work->operations(), [&](int64 block) {
      const int64 first = block * kBandRows, last = first + kBandRows;
      std::vector<Term> buffer;
      for (int64 n = 0; n < quads; ++n) {
        prefetch.chunk(n, quads, last);
        ab.quad(n, first, last, buffer);
        if (ba) ba->quad(n, first, last, buffer);
      }
      for (int64 d = kQuad * quads; d < count; ++d) {
        ab.diagonal(d, first, last, buffer);
        if (ba) ba->diagonal(d, first, last, buffer);
      }
    });
  }
};

}  // namespace

Typed<MatmulKernel> matmul_row_tiles() { return every_pair<MatmulRowTiles, MatmulKernel>(); }

}  // namespace diagsparse::DIAGSPARSE_ISA
