// Kernel "block" of mdia: C = alpha op(A) op(B) + beta C: 32 rows of C at a time, with sums for each of its diagonals
// that has elements there. Each diagonal of A is spread to its rows, and multiplied by 32 rows of each of B's that it
// meets, in the order of A's offsets; what B has there lies in one or two of its blocks, which are read in order.
// Threads take blocks of C with equal work. Zeros that are multiplied so leave a sum as it is, but not beside an
// infinity: then the block is summed again, from what is stored alone.
#include "cpu/parallel.hpp"
#include "formats/mdia/products.hpp"
#include "formats/mdia/simd_rows.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

template <class U, class V>
struct BlockMatmul {
  using T = Product<U, V>;
  using L = std::conditional_t<is_complex<U>, T, Real<T>>;  // of A's values; real ones meet infinities as they are
  static constexpr bool real = kReal<V> && kReal<U>;        // so that T is V

  static void run(const Plan& plan, const Matrix& left, const Matrix& right, Scalar alpha, Scalar beta, Matrix& out) {
    const BlockMatmul product{masked_work(plan), {left, plan.op_a}, {right, plan.op_b}};
    const auto c = Mdia<T>::of(out);
    const int64 blocks = c.blocks(), each = static_cast<int64>(product.work.to.size());
    const int64 work = 4 * c.count() + blocks * each, tasks = std::min(blocks, tasks_for(work));
    const auto before = [&](int64 b) { return 4 * c.begin[b] + b * each; };
    const Update<T> update(alpha, beta);
    const bool real_first = is_complex<T> && real_diagonal_first(plan);
    parallel_for(tasks, work, [&](int64 task) {
      const int64 first = border(blocks, work, tasks, task, before),
                  last = border(blocks, work, tasks, task + 1, before);
      Room room(product.a.diagonals.size(), c.diagonals);
      for (int64 b = first; b < last; ++b) {
        const Mask* const masks = c.mask + b * c.diagonals;
        std::size_t used = 0;
        for (int64 d = 0; d < c.diagonals; ++d) {
          room.slot[d] = used;
          used += masks[d] != 0;
        }
        room.sums.assign(kMaskRows * used, T{});
        product.spread_a(b, room);
        product.template add<real>(b, room);
        T *const to = out.values.as<T>() + c.begin[b], *const end = out.values.as<T>() + c.begin[b + 1];
        if constexpr (real) {
          if (update.plain && put_rows(masks, c.diagonals, room.sums.data(), to, end)) continue;
          if (!all_finite(room.sums.data(), room.sums.size())) {
            std::ranges::fill(room.sums, T{});
            product.template add<false>(b, room);
          }
        }
        if constexpr (is_complex<T>) {
          for (int64 i = 0; real_first && masks[0] != 0 && i < kMaskRows; ++i) room.sums[i].im = 0;
        }
        put(masks, c.diagonals, room.sums.data(), update, to);
      }
    });
  }

  const MaskedWork& work;
  MaskedOperand<U> a;
  MaskedOperand<V> b;

 private:
  // What a thread has of a block: 32 rows of each diagonal of A, and sums for each of C that has elements there.
  struct Room {
    std::vector<L> of_a;
    std::vector<T> sums;
    std::vector<Mask> rows_of_a;
    std::vector<std::size_t> slot;  // of a diagonal of C among those with elements

    Room(std::size_t of_a, std::size_t of_c) : of_a(kMaskRows * of_a), rows_of_a(of_a), slot(of_c) {}
  };

  // Calls take(i, rows, values) for what 32 rows of an operand from `row` on have: once or twice for a diagonal.
  template <class S, class F>
  [[gnu::always_inline]] static void each_run(const MaskedOperand<S>& m, int64 row, const F& take) {
    const auto turned = static_cast<std::size_t>(m.turned());
    for (std::size_t i = 0; i < turned; ++i) {
      m.runs(m.diagonals[i], row, [&](Mask rows, const S* value) { take(i, rows, value); });
    }
    if (turned == m.diagonals.size()) return;
    const int64 block = row >> kMaskShift, shift = row & (kMaskRows - 1);
    const auto walk = [&](int64 at, const auto& some) {
      if (at < 0 || at >= m.a.blocks()) return;
      each_diagonal(m.a, at, [&](int64 d, Mask rows, const S* value) { some(turned + d, rows, value); });
    };
    if (shift == 0) return walk(block, take);
    walk(block, [&](std::size_t i, Mask rows, const S* value) {
      if (rows >> shift) take(i, rows >> shift, value + std::popcount(rows & first_rows(shift)));
    });
    walk(block + 1, [&](std::size_t i, Mask rows, const S* value) {
      if (rows << (kMaskRows - shift)) take(i, rows << (kMaskRows - shift), value);
    });
  }

  void spread_a(int64 block, Room& room) const {
    std::ranges::fill(room.rows_of_a, 0);
    each_run(a, kMaskRows * block, [&](std::size_t i, Mask rows, const U* value) {
      L* const to = room.of_a.data() + kMaskRows * i;
      if (room.rows_of_a[i] == 0) std::fill_n(to, kMaskRows, L{});
      room.rows_of_a[i] |= rows;
      const bool conj = a.diagonals[i].conjugated;
      each_row_of(rows, [&](int r) { to[r] = convert<L>(conjugate_if(conj, *value++)); });
    });
  }

  template <bool Vectors>
  void add(int64 block, Room& room) const {
    const int64 ample = b.a.ample();
    for (std::size_t i = 0; i < a.diagonals.size(); ++i) {
      const Mask rows_of_a = room.rows_of_a[i];
      if (rows_of_a == 0) continue;
      const L* const of_a = room.of_a.data() + kMaskRows * i;
      const std::int32_t* const targets = work.to.data() + i * b.diagonals.size();
      each_run(b, kMaskRows * block + a.diagonals[i].offset, [&](std::size_t j, Mask rows, const V* value) {
        if ((rows & rows_of_a) == 0 || targets[j] < 0) return;
        T* const to = room.sums.data() + kMaskRows * room.slot[targets[j]];
        if constexpr (Vectors) {
          each_eight(rows, rows_of_a, value, value - b.a.values <= ample, [&](int g, const Row<T>& factors) {
            const Row<T> mine = Row<T>::at(of_a + 8 * g);
            Row<T> sum = Row<T>::at(to + 8 * g);
            for (int n = 0; n < Row<T>::parts; ++n) sum.part[n] += mine.part[n] * factors.part[n];
            sum.put(to + 8 * g);
          });
        } else {
          const bool conj = b.diagonals[j].conjugated;
          each_row_of(rows, [&](int r) {
            const V factor = conjugate_if(conj, *value++);
            if (rows_of_a >> r & 1) to[r] += multiply(of_a[r], factor);
          });
        }
      });
    }
  }

  // The sums of a block's diagonals, those with elements, to where they belong.
  static void put(const Mask* masks, int64 diagonals, const T* sums, const Update<T>& update, T* to) {
    for (int64 d = 0; d < diagonals; ++d) {
      if (masks[d] == 0) continue;
      each_row_of(masks[d], [&](int i) { update.one(to++, sums[i]); });
      sums += kMaskRows;
    }
  }

  // The same for alpha = 1 and beta = 0, up to `end`. False where a sum is not finite: all are to be put again.
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
