// Products of mdia matrices of quaternions with vectors: y = op(Q) x or x op(Q), for Q = A + B j.
//
//   A, B: m x n masked diagonals, both triangles, without a palette.  x: n x 4 p.  y: m x 4 p.  Minimum traffic in
//   bytes: A + B + x + y, once each.
//
// A thread processes blocks of 32 rows. Diagonals that are complete in a block are added to y several at a time, in
// registers (kernels/simd/quaternion_rows.hpp). Of other diagonals, rows that are neighbours in a mask are added to y
// in vectors that begin at the same rows for each of them. Rows that do not fill such a vector are added to other sums,
// because a processor waits where it reads a vector of which it has just written a part.
#include "formats/mdia/cpu_masks.hpp"
#include "kernels/simd/quaternion_rows.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

constexpr int kTogether = 8;  // complete diagonals

template <class A, class R>
struct QuaternionMasks {
  static void run(const Matrix& a, const Matrix& b, bool transposed, const QuaternionSigns& signs, const Dense& x,
                  const Dense& y) {
    using Rows = QuaternionRows<Real<A>, R>;
    std::vector<MaskedDiagonal> diagonals = masked_diagonals(*a.structure, {transposed, false});
    if (transposed) std::ranges::reverse(diagonals);  // to the order in which they are stored
    const A *const all_a = a.values.as<A>(), *const all_b = b.values.as<A>();
    const MaskedOperand<A> masked(*a.structure, all_a, std::move(diagonals), value_starts(*a.structure));
    // While some diagonals are multiplied, the next ones are prefetched.
    const int64 together = std::min<int64>(kTogether, masked.diagonals.size());
    const Rows rows(signs, x, together * kMaskRows * static_cast<int64>(sizeof(A)));
    const int64 width = y.cols;
    for_each_block(y.rows, 4 * a.structure->stored() * width, [&](int64 block) {
      alignas(64) R others[4 * kMaskRows] = {};
      const int64 row = kMaskRows * block, count = std::min(kMaskRows, y.rows - row) * width;
      R *const out = y.as<R>() + row * width, *const apart = width == 4 ? others : out;
      std::fill_n(out, count, R(0));
      Term complete[kTogether];
      int listed = 0;
      const auto add_complete = [&] {
        rows.sum(all_a, all_b, complete, complete + listed, row, row + kMaskRows, out, Writing::added);
        listed = 0;
      };
      for (const MaskedDiagonal& d : masked.diagonals) {
        masked.visit_runs(d, row, [&](Mask stored, const A* values) {
          if (stored == kAllRows) {
            if (listed == kTogether) add_complete();
            complete[listed++] = {values - all_a - row, d.offset, 0, 0, 0, 0};
            return;
          }
          // Rows [i, end) of the block.
          const auto add = [&](int i, int end, R* sums) {
            const Term term{-(row + i), d.offset, 0, 0, 0, 0};
            const A* const of_b = all_b + (values - all_a);
            rows.sum(values, of_b, &term, &term + 1, row + i, row + end, sums + i * width, Writing::added);
            values += end - i;
          };
          for (int i = 0, end = 0; stored != 0; stored &= ~first_rows(end)) {
            i = std::countr_zero(stored);
            end = i + std::countr_one(stored >> i);
            const int first = std::min(end, (i + Rows::step - 1) / Rows::step * Rows::step);
            const int last = std::max(first, end / Rows::step * Rows::step);
            for (; i < first; ++i) add(i, i + 1, apart);
            if (first < last) add(first, last, out);
            for (i = last; i < end; ++i) add(i, i + 1, apart);
          }
        });
      }
      if (listed > 0) add_complete();
      for (int64 e = 0; apart == others && e < count; ++e) out[e] += others[e];
    });
  }
};

const RegisterQuaternions registered("mdia", kIsa, &quaternion_kernels<QuaternionMasks>);

}  // namespace

}  // namespace diagsparse::DIAGSPARSE_ISA
