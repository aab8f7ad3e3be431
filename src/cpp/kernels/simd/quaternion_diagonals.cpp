// Products of dia, hm and cdm matrices of quaternions with vectors: y = op(Q) x or x op(Q), for Q = A + B j.
//
//   A, B: m x n, D diagonals.  x: n x 4 p.  y: m x 4 p.  Minimum traffic in bytes: A + B + x + y, once each.
//
// A thread processes blocks of rows. Within a block, all diagonals are complete between two rows where one of them
// begins or ends. There, tiles of rows are summed in registers (kernels/simd/quaternion_rows.hpp). Since a processor
// reads only a few streams at full speed, many diagonals are divided into groups, whose sums are added to y. Large
// results of a single group are written past the caches. A row adds its terms in the order of their offsets.
#include "cpu/parallel.hpp"
#include "kernels/simd/quaternion_rows.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

constexpr int64 kRows = 1024;                    // of a block
constexpr int64 kFewTerms = 12;                  // that are not worth several groups
constexpr int64 kGroup = 8, kGroupedRows = 256;  // terms at a time, and rows whose sums stay in the first-level cache
constexpr int64 kAhead = 2048;                   // prefetch distance in bytes
constexpr int64 kStreamedBytes = 1 << 23;        // of a result that is written past the caches

template <class A, class R>
struct QuaternionDiagonals {
  static void run(const Matrix& a, const Matrix& b, bool transposed, const QuaternionSigns& signs, const Dense& x,
                  const Dense& y) {
    const RowSums sums = row_sums(spans_of(a.layout(), {transposed, false}));
    const QuaternionRows<Real<A>, R> rows(signs, x, kAhead);
    const bool large = y.rows * y.cols * static_cast<int64>(sizeof(R)) >= kStreamedBytes;
    const Writing in_one_group = large ? Writing::streamed : Writing::stored;
    parallel_for((y.rows + kRows - 1) / kRows, 4 * sums.work * y.cols, [&](int64 block) {
      const int64 last = std::min(y.rows, (block + 1) * kRows);
      const Term *const all = sums.terms.data(), *begin = all + sums.terms.size(), *end = begin;
      for (int64 i = block * kRows, stop = last; i < last; i = stop, stop = last) {
        // The terms with elements in row i, and the row where one of them ends or another one begins.
        while (begin > all && begin[-1].first <= i) --begin;
        while (end > begin && end[-1].last <= i) --end;
        if (begin > all) stop = std::min(stop, begin[-1].first);
        if (end > begin) stop = std::min(stop, end[-1].last);
        const int64 count = end - begin, groups = count <= kFewTerms ? 1 : (count + kGroup - 1) / kGroup;
        const int64 height = groups == 1 ? kRows : kGroupedRows;
        for (; i < stop; i += height) {
          for (int64 g = 0; g < groups; ++g) {
            const Writing how = g > 0 ? Writing::added : groups > 1 ? Writing::stored : in_one_group;
            rows.sum(a.values.as<A>(), b.values.as<A>(), begin + count * g / groups, begin + count * (g + 1) / groups,
                     i, std::min(stop, i + height), y.as<R>() + i * y.cols, how);
          }
        }
      }
      finish_streams();
    });
  }
};

Typed<QuaternionKernel> kernels_of_diagonals() { return quaternion_kernels<QuaternionDiagonals>(); }
const RegisterQuaternions dia("dia", kIsa, kernels_of_diagonals), hm("hm", kIsa, kernels_of_diagonals),
    cdm("cdm", kIsa, kernels_of_diagonals);

}  // namespace

}  // namespace diagsparse::DIAGSPARSE_ISA
