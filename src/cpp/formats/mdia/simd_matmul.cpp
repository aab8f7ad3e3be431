// Kernel "block" of mdia: C = alpha op(A) op(B) + beta C, 32 rows of C at a time, with accumulators for each diagonal
// of C that has elements there. Each diagonal of A is expanded to 32 rows, and multiplied by 32 rows of each diagonal
// of B that it is combined with, in the order of the offsets of A. These rows of B are in one or two of its blocks,
// which are read in order. Each thread processes blocks of C with equal work. Multiplying by the zeros of the expansion
// does not change a sum, unless an operand is infinite or NaN. If a sum is not finite, the block is therefore summed
// again from stored elements only.
#include "cpu/parallel.hpp"
#include "formats/mdia/products.hpp"
#include "formats/mdia/simd_rows.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

template <class U, class V>
struct BlockMatmul {
  using T = Product<U, V>;
  // The type of the values of A. Real ones stay real, because a complex product with an infinity has NaNs.
  using L = std::conditional_t<is_complex<U>, T, Real<T>>;
  static constexpr bool real = kReal<V> && kReal<U>;  // so that T is V

  static void run(const Plan& plan, const Matrix& left, const Matrix& right, Scalar alpha, Scalar beta, Matrix& out) {
    const BlockMatmul product{masked_work(plan), {left, plan.op_a}, {right, plan.op_b}};
    const auto c = Mdia<T>::of(out);
    const int64 blocks = c.blocks(), pairs = static_cast<int64>(product.work.to.size());
    const int64 work = 4 * c.count() + blocks * pairs, tasks = std::min(blocks, tasks_for(work));
    const auto before = [&](int64 b) { return 4 * c.begin[b] + b * pairs; };
    const Update<T> update(alpha, beta);
    const bool real_first = is_complex<T> && real_diagonal_first(plan);
    parallel_for(tasks, work, [&](int64 task) {
      const int64 first = border(blocks, work, tasks, task, before),
                  last = border(blocks, work, tasks, task + 1, before);
      Buffers buffers(product.a.diagonals.size(), c.diagonals);
      for (int64 b = first; b < last; ++b) {
        const Mask* const masks = c.mask + b * c.diagonals;
        std::size_t used = 0;
        for (int64 d = 0; d < c.diagonals; ++d) {
          buffers.slot[d] = used;
          used += masks[d] != 0;
        }
        buffers.sums.assign(kMaskRows * used, T{});
        product.spread_a(b, buffers);
        product.template add<real>(b, buffers);
        T *const to = out.values.as<T>() + c.begin[b], *const end = out.values.as<T>() + c.begin[b + 1];
        if constexpr (real) {
          if (update.plain && put_rows(masks, c.diagonals, buffers.sums.data(), to, end)) continue;
          if (!all_finite(buffers.sums.data(), buffers.sums.size())) {
            std::ranges::fill(buffers.sums, T{});
            product.template add<false>(b, buffers);
          }
        }
        if constexpr (is_complex<T>) {
          for (int64 i = 0; real_first && masks[0] != 0 && i < kMaskRows; ++i) buffers.sums[i].im = 0;
        }
        put(masks, c.diagonals, buffers.sums.data(), update, to);
      }
    });
  }

  const MaskedWork& work;
  MaskedOperand<U> a;
  MaskedOperand<V> b;

 private:
  // The buffers of a task for one block: 32 rows of each diagonal of A, and accumulators for each diagonal of C that
  // has elements in the block.
  struct Buffers {
    std::vector<L> values_a;
    std::vector<T> sums;
    std::vector<Mask> rows_a;
    std::vector<std::size_t> slot;  // number of a diagonal of C among those with elements

    Buffers(std::size_t values_a, std::size_t count_c)
        : values_a(kMaskRows * values_a), rows_a(values_a), slot(count_c) {}
  };

  // Calls visit(i, rows, values) once or twice for each diagonal i of an operand that has elements in the 32 rows from
  // `row` on.
  template <class S, class F>
  [[gnu::always_inline]] static void for_each_run(const MaskedOperand<S>& m, int64 row, const F& visit) {
    const auto transposed_count = static_cast<std::size_t>(m.transposed_count());
    for (std::size_t i = 0; i < transposed_count; ++i) {
      m.visit_runs(m.diagonals[i], row, [&](Mask rows, const S* value) { visit(i, rows, value); });
    }
    if (transposed_count == m.diagonals.size()) return;
    const int64 block = row >> kMaskShift, shift = row & (kMaskRows - 1);
    const auto traverse_block = [&](int64 at, const auto& visit_rows) {
      if (at < 0 || at >= m.a.blocks()) return;
      for_each_diagonal(m.a, at,
                        [&](int64 d, Mask rows, const S* value) { visit_rows(transposed_count + d, rows, value); });
    };
    if (shift == 0) return traverse_block(block, visit);
    traverse_block(block, [&](std::size_t i, Mask rows, const S* value) {
      if (rows >> shift) visit(i, rows >> shift, value + std::popcount(rows & first_rows(shift)));
    });
    traverse_block(block + 1, [&](std::size_t i, Mask rows, const S* value) {
      if (rows << (kMaskRows - shift)) visit(i, rows << (kMaskRows - shift), value);
    });
  }

  void spread_a(int64 block, Buffers& buffers) const {
    std::ranges::fill(buffers.rows_a, 0);
    for_each_run(a, kMaskRows * block, [&](std::size_t i, Mask rows, const U* value) {
      L* const to = buffers.values_a.data() + kMaskRows * i;
      if (buffers.rows_a[i] == 0) std::fill_n(to, kMaskRows, L{});
      buffers.rows_a[i] |= rows;
      const bool conj = a.diagonals[i].conjugated;
      for_each_row(rows, [&](int r) { to[r] = convert<L>(conjugate_if(conj, *value++)); });
    });
  }

  template <bool Vectors>
  void add(int64 block, Buffers& buffers) const {
    for (std::size_t i = 0; i < a.diagonals.size(); ++i) {
      const Mask rows_a = buffers.rows_a[i];
      if (rows_a == 0) continue;
      const L* const values_a = buffers.values_a.data() + kMaskRows * i;
      const std::int32_t* const targets = work.to.data() + i * b.diagonals.size();
      for_each_run(b, kMaskRows * block + a.diagonals[i].offset, [&](std::size_t j, Mask rows, const V* value) {
        if ((rows & rows_a) == 0 || targets[j] < 0) return;
        T* const to = buffers.sums.data() + kMaskRows * buffers.slot[targets[j]];
        if constexpr (Vectors) {
          const bool can_overread = b.a.can_overread(b.diagonals[j].number, value);
          for_each_eight(rows, rows_a, value, can_overread, [&](int g, const Row<T>& factors) {
            const Row<T> factors_a = Row<T>::at(values_a + 8 * g);
            Row<T> sum = Row<T>::at(to + 8 * g);
            for (int n = 0; n < Row<T>::parts; ++n) sum.part[n] += factors_a.part[n] * factors.part[n];
            sum.put(to + 8 * g);
          });
        } else {
          const bool conj = b.diagonals[j].conjugated;
          for_each_row(rows, [&](int r) {
            const V factor = conjugate_if(conj, *value++);
            if (rows_a >> r & 1) to[r] += multiply(values_a[r], factor);
          });
        }
      });
    }
  }

  // Stores the sums of the diagonals of a block that have elements.
  static void put(const Mask* masks, int64 diagonals, const T* sums, const Update<T>& update, T* to) {
    for (int64 d = 0; d < diagonals; ++d) {
      if (masks[d] == 0) continue;
      for_each_row(masks[d], [&](int i) { update.one(to++, sums[i]); });
      sums += kMaskRows;
    }
  }

  // The same for alpha = 1 and beta = 0; values from `end` on are not written. Returns false if a sum is not finite:
  // all have to be stored again.
  static bool put_rows(const Mask* masks, int64 diagonals, const T* sums, T* to, const T* end) {
    Row<T> all;
    for (int64 d = 0; d < diagonals; ++d) {
      if (masks[d] == 0) continue;
#pragma GCC unroll 4
      for (int g = 0; g < kEights; ++g) {
        const unsigned set = masks[d] >> 8 * g & 255;
        const Row<T> row = Row<T>::at(sums + 8 * g);
        for (int n = 0; n < Row<T>::parts; ++n) all.part[n] += row.part[n] * 0;
        pack(set, row, to, to + 8 <= end);
        to += std::popcount(set);
      }
      sums += kMaskRows;
    }
    return all_zero(all);
  }
};

}  // namespace

Typed<MatmulKernel> masked_matmul() { return every_pair<BlockMatmul, MatmulKernel>(); }

}  // namespace diagsparse::DIAGSPARSE_ISA
