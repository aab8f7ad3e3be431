// The kernels of bmsparse on the CPU.
#include <algorithm>

#include "cpu/parallel.hpp"
#include "formats/bmsparse/layout.hpp"
#include "formats/bmsparse/products.hpp"
#include "formats/bmsparse/simd_rows.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

// ---- Products with vectors ------------------------------------------------------------------------------
// Kernel "block" of y = alpha op(A) x + beta y: one row of blocks of op(A) at a time, with a sum for each of its matrix
// rows. Each thread processes rows of blocks with equal work. Real blocks that are not nearly empty are read row by
// row, as vectors of the type of x.
// op = N: each row is multiplied by eight elements of x and added to a vector of partial sums, which are added up at
//         the end.
// op = T: each row is multiplied by one element of x, and added to eight sums. The blocks are located by an index by
//         column, which is cached with A.
template <class U, class V>
struct BlockMatvec {
  using T = Product<U, V>;
  static constexpr bool by_rows = std::is_same_v<T, V> && kReal<V>;

  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const BlockOperand of(*m.structure, op);
    const auto a = Bmsparse<U>::of(m);
    const auto* const indptr = of.indptr.as<int64>();
    const auto* const col = of.col.as<std::int32_t>();
    const int64 rows = of.rows, height = op.transposed ? m.cols : m.rows, width = op.transposed ? m.rows : m.cols;
    const int64 blocks = indptr[rows], work_per_block = 8 + m.values.size() / std::max<int64>(1, blocks);
    const int64 work = blocks * work_per_block + height, tasks = tasks_for(work);
    const auto before = [&](int64 i) { return indptr[i] * work_per_block + kTile * i; };
    const Update<T> update(alpha, beta);
    const bool plain = by_rows && !op.conjugated;
    parallel_for(tasks, work * x.cols, [&](int64 task) {
      const int64 first = border(rows, work, tasks, task, before), last = border(rows, work, tasks, task + 1, before);
      for (int64 c = 0; c < x.cols; ++c) {
        const V* const in = x.as<V>() + c * x.col_stride;
        for (int64 i = first; i < last; ++i) {
          alignas(64) T sums[kTile] = {};
          if (plain && !op.transposed)
            add_vectors<false>(a, of, indptr[i], indptr[i + 1], col, in, x.row_stride, width, sums);
          else if (plain) add_vectors<true>(a, of, indptr[i], indptr[i + 1], col, in, x.row_stride, width, sums);
          if (!plain || !all_finite(sums, kTile)) {  // zeros were multiplied by infinities
            std::fill_n(sums, kTile, T{});
            add_elements(a, of, indptr[i], indptr[i + 1], col, in, x.row_stride, sums);
          }
          T* const out = y.as<T>() + c * y.col_stride + kTile * i * y.row_stride;
          for (int64 r = 0; r < std::min(kTile, height - kTile * i); ++r) update.one(out + r * y.row_stride, sums[r]);
        }
      }
    });
  }

 private:
  // Adds the elements of one block, whose values end at `end`.
  template <class Conj>
  [[gnu::always_inline]] static void add_block(Bitmap bitmap, const U* end, bool is_transposed, Conj conj, const V* x,
                                               int64 step, T* sums) {
    for_each_element(bitmap, [&](int position) {
      const int r = position / 8, c = position % 8;
      sums[is_transposed ? c : r] += multiply(conjugate_if(conj, *--end), x[(is_transposed ? r : c) * step]);
    });
  }

  [[gnu::noinline]] static void add_elements(const Bmsparse<U>& a, const BlockOperand& of, int64 begin, int64 end,
                                             const std::int32_t* col, const V* x, int64 step, T* sums) {
    for (int64 e = begin; e < end; ++e) {
      const int64 p = of.number ? of.number[e] : e;
      add_block(a.bitmap[p], a.values + a.begin[p + 1], of.op.transposed, of.op.conjugated, x + kTile * col[e] * step,
                step, sums);
    }
  }

  template <bool Transposed>
  static void add_vectors(const Bmsparse<U>& a, const BlockOperand& of, int64 begin, int64 end, const std::int32_t* col,
                          const V* x, int64 step, int64 width, T* sums) {
    if constexpr (by_rows) {
      // op = T: the sums of the eight columns. op = N: partial sums of each row.
      constexpr int parts = Row<T>::parts, count = Transposed ? parts : kTile;
      typename Row<T>::Vec vectors[count] = {};
      const int64 last = a.count() - kTile;  // eight values can be read from positions up to this one
      for (int64 e = begin; e < end; ++e) {
        const int64 p = Transposed ? of.number[e] : e;
        const Bitmap bitmap = a.bitmap[p];
        const V* const in = x + kTile * col[e] * step;
        if (Transposed && e + kAhead < end) {
          const int64 ahead = of.number[e + kAhead];
          for (int64 at = a.begin[ahead]; at < a.begin[ahead + 1]; at += 64 / sizeof(U)) {
            __builtin_prefetch(a.values + at);
          }
        }
        const int stored = std::popcount(bitmap);
        if (stored < (kSpreads ? kFew : 64)) {
          add_block(bitmap, a.values + a.begin[p + 1], Transposed, std::false_type{}, in, step, sums);
          continue;
        }
        alignas(64) V factors[kTile] = {}, buffer[kTile * kTile + kTile];
        const int64 in_block = std::min(kTile, width - kTile * col[e]);
        if (step == 1 && in_block == kTile) {
          std::copy_n(in, kTile, factors);
        } else {
          for (int64 k = 0; k < in_block; ++k) factors[k] = in[k * step];
        }
        const Row<T> all = Row<T>::at(factors);
        const bool can_overread = !std::is_same_v<U, V> || a.begin[p + 1] <= last;
        for_each_row(bitmap, widened(a.values + a.begin[p], stored, buffer), can_overread,
                     [&](int r, const Row<T>& row) {
#pragma GCC unroll 4
                       for (int n = 0; n < parts; ++n) {
                         if constexpr (Transposed) vectors[n] += row.part[n] * factors[r];
                         else vectors[r] += row.part[n] * all.part[n];
                       }
                     });
      }
      for (int v = 0; v < count; ++v) {
        for (int l = 0; l < Row<T>::lanes; ++l) sums[Transposed ? v * Row<T>::lanes + l : v] += vectors[v][l];
      }
    }
  }
};

// ---- Products of blocks ---------------------------------------------------------------------------------
// A block of op(A): the bitmap of its elements, and all elements row by row, 0 if they are not stored.
template <class T>
struct Tile {
  Bitmap bitmap;
  const T* at;
};

template <class T>
struct Operand {
  Bmsparse<T> blocks;
  Op op;
  int64 end = blocks.count();

  // Returns the elements of a block. They are copied to `buffer` unless they are already stored in this form.
  Tile<T> read(std::int32_t number, T* buffer) const {
    const Bitmap stored = blocks.bitmap[number];
    const T* const values = blocks.values + blocks.begin[number];
    if (!op.transposed && !op.conjugated && stored == kFullBitmap) return {stored, values};
    if constexpr (kReal<T> && kSpreads) {
      if (!op.transposed && std::popcount(stored) >= kFew) {
        const bool can_overread = blocks.begin[number + 1] + kTile <= end;
        for_each_row(stored, values, can_overread, [&](int r, const Row<T>& row) { row.put(buffer + kTile * r); });
        return {stored, buffer};
      }
    }
    std::fill_n(buffer, kTile * kTile, T{});
    const T* value = blocks.values + blocks.begin[number + 1];
    for_each_element(stored, [&](int position) {
      const int to = op.transposed ? position % 8 * 8 + position / 8 : position;
      buffer[to] = conjugate_if(op.conjugated, *--value);
    });
    return {transpose_if(op.transposed, stored), buffer};
  }
};

// Kernel "block" of C = alpha op(A) op(B) + beta C: one block of C at a time, which is the sum of the products of its
// pairs (formats/bmsparse/products.hpp). Blocks are expanded to all 64 elements, and each element of A adds a multiple
// of a row of B to a row of C. Each thread processes blocks of C with equal work. Multiplying by the zeros of the
// expansion does not change a sum, unless an operand is infinite or NaN. If a sum is not finite, the block is therefore
// summed again from stored elements only.
template <class U, class V>
struct BlockMatmul {
  using T = Product<U, V>;

  static void run(const Plan& plan, const Matrix& left, const Matrix& right, Scalar alpha, Scalar beta, Matrix& out) {
    const Operand<U> a{Bmsparse<U>::of(left), plan.op_a};
    const Operand<V> b{Bmsparse<V>::of(right), plan.op_b};
    const auto c = Bmsparse<T>::of(out);
    const BlockWork& plan_work = block_work(plan);
    const auto* const indptr = plan_work.indptr.as<int64>();
    const auto* const pairs = plan_work.pairs.as<std::int32_t>();
    const int64 blocks = plan_work.indptr.size() - 1, work = indptr[blocks] + blocks, tasks = tasks_for(64 * work);
    const Update<T> update(alpha, beta);
    const auto before = [&](int64 p) { return indptr[p] + p; };
    parallel_for(tasks, 64 * work, [&](int64 task) {
      const int64 first = border(blocks, work, tasks, task, before);
      const int64 last = border(blocks, work, tasks, task + 1, before);
      alignas(64) U buffer_a[kTile * kTile];
      alignas(64) V buffer_b[kTile * kTile];
      alignas(64) T sums[kTile * kTile];
      for (int64 p = first; p < last; ++p) {
        std::fill_n(sums, kTile * kTile, T{});
        for (int64 pair = indptr[p]; pair < indptr[p + 1]; ++pair) {
          add_product(a.read(pairs[2 * pair], buffer_a), b.read(pairs[2 * pair + 1], buffer_b), sums);
        }
        if (!all_finite(sums, kTile * kTile)) sum_stored_elements(a, b, pairs, indptr[p], indptr[p + 1], sums);
        T* const to = out.values.as<T>() + c.begin[p];
        if (c.bitmap[p] == kFullBitmap && update.plain) {
          std::copy_n(sums, kTile * kTile, to);
        } else {
          T* end = out.values.as<T>() + c.begin[p + 1];
          for_each_element(c.bitmap[p], [&](int position) { update.one(--end, sums[position]); });
        }
      }
    });
  }

 private:
  static void add_product(const Tile<U>& a, const Tile<V>& b, T* sums) {
    if constexpr (std::is_same_v<U, V> && kReal<U>) {
      constexpr int rows_at_once = 4, parts = Row<T>::parts;  // rows_at_once: rows whose sums stay in registers
      for (int r = 0; r < kTile; r += rows_at_once) {
        if ((a.bitmap >> (32 - 8 * r) & 0xffffffffu) == 0) continue;
        Row<T> rows[rows_at_once];
#pragma GCC unroll 4
        for (int n = 0; n < rows_at_once; ++n) rows[n] = Row<T>::at(sums + kTile * (r + n));
#pragma GCC unroll 8
        for (int k = 0; k < kTile; ++k) {
          const Row<T> elements_b = Row<T>::at(b.at + kTile * k);
#pragma GCC unroll 4
          for (int n = 0; n < rows_at_once; ++n) {
            const U factor = a.at[kTile * (r + n) + k];
#pragma GCC unroll 4
            for (int part = 0; part < parts; ++part) rows[n].part[part] += factor * elements_b.part[part];
          }
        }
#pragma GCC unroll 4
        for (int n = 0; n < rows_at_once; ++n) rows[n].put(sums + kTile * (r + n));
      }
    } else {
      for_each_element(a.bitmap, [&](int position) {
        const U factor = a.at[position];
        const V* const row = b.at + position % 8 * 8;
        for (int c = 0; c < kTile; ++c) sums[position / 8 * 8 + c] += multiply(factor, row[c]);
      });
    }
  }

  [[gnu::noinline]] static void sum_stored_elements(const Operand<U>& a, const Operand<V>& b, const std::int32_t* pairs,
                                                    int64 begin, int64 end, T* sums) {
    U buffer_a[kTile * kTile];
    V buffer_b[kTile * kTile];
    std::fill_n(sums, kTile * kTile, T{});
    for (int64 pair = begin; pair < end; ++pair) {
      const Tile<U> elements_a = a.read(pairs[2 * pair], buffer_a);
      const Tile<V> elements_b = b.read(pairs[2 * pair + 1], buffer_b);
      for_each_element(elements_a.bitmap, [&](int position) {
        for (int r = position / 8, k = position % 8, c = 0; c < kTile; ++c) {
          if ((elements_b.bitmap & bit_of(8 * k + c)) == 0) continue;
          sums[8 * r + c] += multiply(elements_a.at[position], elements_b.at[8 * k + c]);
        }
      });
    }
  }
};

FormatKernels make() {
  return {{{"block", every_stored_pair<BlockMatvec, MatvecKernel>()}},
          {{"block", every_pair<BlockMatmul, MatmulKernel>()}}};
}
const RegisterKernels registered("bmsparse", kIsa, make);

}  // namespace

}  // namespace diagsparse::DIAGSPARSE_ISA
