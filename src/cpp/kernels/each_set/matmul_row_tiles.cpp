// Kernel "row_tiles" of dia, hm and cdm: C = alpha op(A) op(B) + beta C from a plan, diagonal by diagonal.
//
//   A: m x k, B: k x n, C: m x n, each diagonal of C a sum over the pairs of diagonals (a, b) that meet on it.
//   Bytes at least: A + B + C, once each.
//
// A thread takes a block of rows and computes it on every diagonal of C: the rows of A and the window of B
// that the block needs stay in cache, and each value of C is summed in a register and written once. Bands are
// taken four diagonals at a time (band_tiles.hpp). The same bits for any number of threads.
#include "cpu/parallel.hpp"
#include "kernels/each_set/band_tiles.hpp"
#include "kernels/each_set/diagonal_kernels.hpp"

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

template <class U, class V>
struct MatmulRowTiles {
  using T = Product<U, V>;

  static void run(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
    const Streams<U, V> s(a.values.as<U>(), plan.op_a.conjugated, b.values.as<V>(), plan.op_b.conjugated,
                          c.values.as<T>(), Update<T>(alpha, beta));
    sums_of(plan).keep_few_terms();
    if (plan.rows >= 4 * kBandRows && sums_of(plan).sums.size() >= kQuad) {
      const QuadPlan quads(sums_of(plan));
      if (!quads.quads.empty()) return band(plan, quads, s);
    }
    scattered(plan, s);
  }

 private:
  [[gnu::noinline]] static void one_sum(const Sums& sums, const Streams<U, V>& s, const Sum& sum, int64 first,
                                        int64 last, std::vector<Term>& room) {
    first = std::max(first, sum.first);
    last = std::min(last, sum.last);
    if (first >= last) return;
    Streams<U, V> on_diagonal = s;
    on_diagonal.out += sum.out;
    const auto [begin, end] = sums.terms_of(sum, first, last, room);
    if (begin == end && !s.update.reads) {  // of cdm's rows the half that the product does not reach
      std::fill(on_diagonal.out + first, on_diagonal.out + last, T{});
      return;
    }
    RowTiles<U, V, 1>::run(on_diagonal, begin, end, first, last);
  }

  static void scattered(const Plan& plan, const Streams<U, V>& s) {
    const Sums& sums = sums_of(plan);
    const int64 count = static_cast<int64>(sums.sums.size());
    const bool few = sums.terms() < kFewTerms * count;
    const int64 rows = few ? kWritingRows : kScatteredRows;
    const int64 blocks = (plan.rows + rows - 1) / rows;
    const int64 chunks = (count + kSumsPerTask - 1) / kSumsPerTask;
    parallel_for(blocks * chunks, sums.work, [&](int64 task) {
      const int64 first = task / chunks * rows;
      const int64 begin = task % chunks * kSumsPerTask, end = std::min(count, begin + kSumsPerTask);
      std::vector<Term> room;
      for (int64 d = begin; d < end; ++d) one_sum(sums, s, sums.sums[d], first, first + rows, room);
    });
  }

  static void band(const Plan& plan, const QuadPlan& quads, const Streams<U, V>& s) {
    using Tiles = BandTiles<U, V>;
    const Sums& sums = sums_of(plan);
    const Prefetch<U, V> ahead(plan, s, kBandRows);
    const int64 pieces = static_cast<int64>(quads.quads.size());
    const Sum *rest = quads.quads.back().sums + kQuad, *end = sums.sums.data() + sums.sums.size();
    parallel_for((plan.rows + kBandRows - 1) / kBandRows, sums.work, [&](int64 block) {
      const int64 first = block * kBandRows, last = first + kBandRows;
      std::vector<Term> room;
      for (const Quad& q : quads.quads) {
        ahead.piece(&q - quads.quads.data(), pieces, last);
        int64 i = std::max(first, q.first);
        const int64 begin = std::min(i, last);  // before it, and from i on, terms are ragged
        for (; i + Tiles::rows <= std::min(last, q.last); i += Tiles::rows) Tiles::tile(s, quads, q, i);
        if (begin == first && i >= last) continue;
        for (int k = 0; k < kQuad; ++k) {
          one_sum(sums, s, q.sums[k], first, begin, room);
          one_sum(sums, s, q.sums[k], std::min(i, last), last, room);
        }
      }
      for (const Sum* sum = rest; sum < end; ++sum) one_sum(sums, s, *sum, first, last, room);
    });
  }
};

}  // namespace

Typed<MatmulKernel> matmul_row_tiles() { return every_pair<MatmulRowTiles, MatmulKernel>(); }

}  // namespace diagsparse::DIAGSPARSE_ISA
