// Kernel "row_tiles" of dia, hm and cdm: C = alpha op(A) op(B) + beta C from a plan, diagonal by diagonal.
//
//   A: m x k, B: k x n, C: m x n, each diagonal of C a sum over the pairs of diagonals (a, b) that meet on it.
//   Bytes at least: A + B + C, once each.
//
// A thread takes a block of rows and computes it on every diagonal of C: the rows of A and the window of B
// that the block needs stay in cache, and each value of C is summed in a register and written once. Bands are
// taken four diagonals at a time (band_tiles.hpp). Of A B + B A or A B - B A a block of a diagonal takes the terms of
// A B, then those of B A, while it is in the first-level cache. The same bits for any number of threads.
#include <optional>

#include "cpu/parallel.hpp"
#include "kernels/simd/band_tiles.hpp"
#include "kernels/simd/diagonal_kernels.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

// Rows in a block. Bands: a block of A and its window of B stay in the first-level cache. Scattered diagonals: the
// search for a block's terms is shared by many rows, and A's rows stay in the second-level cache; but where most
// of the work is writing C (few terms a sum), long runs along each diagonal.
constexpr int64 kBandRows = 64;
constexpr int64 kScatteredRows = 256;
constexpr int64 kWritingRows = 4096;
constexpr int64 kFewTerms = 4;
constexpr int64 kSumsPerTask = 256;

// A product, as it is taken by blocks of rows: on one diagonal of C or on four neighbours at a time.
template <class U, class V>
class OneProduct {
  using Tiles = BandTiles<U, V>;

  const Sums& sums_;
  const Streams<U, V> s_;
  const bool added_;  // to what C has by then
  const QuadPlan quads_;

 public:
  OneProduct(const Sums& sums, const Streams<U, V>& s, bool added, bool may_be_band)
      : sums_(sums), s_(s), added_(added), quads_(may_be_band ? QuadPlan(sums) : QuadPlan()) {
    sums.cache_few_terms();
  }

  bool has_quads() const { return !quads_.quads.empty(); }
  Prefetch<U, V> ahead() const { return {sums_, s_, kBandRows}; }

  [[gnu::noinline]] void diagonal(int64 d, int64 first, int64 last, std::vector<Term>& room) const {
    const Sum& sum = sums_.sums[d];
    first = std::max(first, sum.first);
    last = std::min(last, sum.last);
    if (first >= last) return;
    Streams<U, V> on_diagonal = s_;
    on_diagonal.out += sum.out;
    const auto [begin, end] = sums_.terms_of(sum, first, last, room);
    if (begin == end && added_) return;
    if (begin == end && !s_.update.reads) {  // of cdm's rows the half that the product does not reach
      std::fill(on_diagonal.out + first, on_diagonal.out + last, Product<U, V>{});
      return;
    }
    RowTiles<U, V, 1>::run(on_diagonal, begin, end, first, last);
  }

  void quad(int64 n, int64 first, int64 last, std::vector<Term>& room) const {
    int64 begin = first, i = first;  // before the one, and from the other on, terms are ragged
    if (has_quads()) {
      const Quad& q = quads_.quads[n];
      i = std::max(first, q.first);
      begin = std::min(i, last);
      for (; i + Tiles::rows <= std::min(last, q.last); i += Tiles::rows) Tiles::tile(s_, quads_, q, i);
      if (begin == first && i >= last) return;
    }
    for (int64 d = kQuad * n; d < kQuad * (n + 1); ++d) {
      diagonal(d, first, begin, room);
      diagonal(d, std::min(i, last), last, room);
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
    const OneProduct<U, V> ab(work.sums, {u, conj_a, v, conj_b, out, Update<T>(alpha, beta)}, false, may_be_band);
    Other ba;
    if (work.other_order) {
      const Update<T> update(work.subtracted ? -alpha : alpha, 1.0);
      ba.emplace(*work.other_order, Streams<V, U>(v, conj_b, u, conj_a, out, update), true, may_be_band);
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
      std::vector<Term> room;
      for (int64 d = begin; d < end; ++d) {
        ab.diagonal(d, first, first + rows, room);
        if (ba) ba->diagonal(d, first, first + rows, room);
      }
    });
  }

  static void band(const Plan& plan, const OneProduct<U, V>& ab, const Other& ba) {
    const Prefetch<U, V> ahead = ab.ahead();
    const int64 count = static_cast<int64>(sums_of(plan).sums.size()), quads = count / kQuad;
    parallel_for((plan.rows + kBandRows - 1) / kBandRows, plan.work->operations(), [&](int64 block) {
      const int64 first = block * kBandRows, last = first + kBandRows;
      std::vector<Term> room;
      for (int64 n = 0; n < quads; ++n) {
        ahead.piece(n, quads, last);
        ab.quad(n, first, last, room);
        if (ba) ba->quad(n, first, last, room);
      }
      for (int64 d = kQuad * quads; d < count; ++d) {
        ab.diagonal(d, first, last, room);
        if (ba) ba->diagonal(d, first, last, room);
      }
    });
  }
};

}  // namespace

Typed<MatmulKernel> matmul_row_tiles() { return every_pair<MatmulRowTiles, MatmulKernel>(); }

}  // namespace diagsparse::DIAGSPARSE_ISA
