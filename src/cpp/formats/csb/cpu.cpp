// csb on the CPU: conversions from and to csr, validation, and the kernel "block".
#include <numeric>
#include <vector>

#include "core/compressed_rows.hpp"
#include "core/convert.hpp"
#include "core/kernel_table.hpp"
#include "cpu/parallel.hpp"
#include "formats/csb/layout.hpp"

namespace diagsparse {

namespace {

constexpr int64 kMinRowsPerTask = 4096;  // rows of op(A) per task, but at least those of one block
constexpr int64 kLongRow = 16;           // average number of entries per row of a block

// The blocks of op(A). Each task traverses the blocks of a range of rows of op(A), in storage order.
// op = N: the range consists of complete rows of blocks.
// op = T: the range contains a few adjacent blocks of each row of blocks of A.
template <class T, class I>
struct OrientedBlocks {
  Csb<T, I> a;
  bool transposed;
  int64 rows = transposed ? a.cols : a.rows;
  const I *row = transposed ? a.col : a.row, *col = transposed ? a.row : a.col;  // of entries within their blocks

  // Calls f(first, last) in parallel for ranges of rows.
  template <class F>
  void parallel_over_rows(int64 work, const F& f) const {
    const int64 rows_per_task = std::max(kMinRowsPerTask, a.blocks.size);
    parallel_for((rows + rows_per_task - 1) / rows_per_task, work,
                 [&](int64 task) { f(task * rows_per_task, std::min(rows, (task + 1) * rows_per_task)); });
  }

  // Calls f(i, j, begin, end) for each nonempty block in rows [first, last). The block begins at row i and column j,
  // and its entries are [begin, end). The blocks of a row are visited in the order of their columns.
  template <class F>
  void for_each_block(int64 first, int64 last, const F& f) const {
    const int64 size = a.blocks.size, low = first / size, high = (last + size - 1) / size;
    const int64 top = transposed ? 0 : low, bottom = transposed ? a.blocks.down : high;
    const int64 left = transposed ? low : 0, right = transposed ? high : a.blocks.across;
    if (left == right) return;  // a loop over 2^30 rows without blocks would take long
    for (int64 r = top; r < bottom; ++r) {
      checkpoint();
      const int64* const start = a.indptr + r * a.blocks.across;
      for (int64 k = left, begin = start[left]; k < right; ++k) {
        const int64 end = start[k + 1];
        if (begin < end) f((transposed ? k : r) * size, (transposed ? r : k) * size, begin, end);
        begin = end;
      }
    }
  }
};

// Kernel "block" of y = alpha op(A) x + beta y, for op = N and op = T.
// Each task sums a range of rows of op(A) block by block, and writes them once. An element of y is summed in the order
// of its row, from zero, regardless of how rows are distributed. In blocks with long rows, four consecutive entries of
// a row are added up before they are added to its sum.
template <class U, class V>
struct CsbMatvec {
  using T = Product<U, V>;

  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    with_local_type(blocks_of(*m.structure).size, [&](auto index) {
      using I = decltype(index);
      const OrientedBlocks<U, I> a{Csb<U, I>::of(m), op.transposed};
      const Update<T> update(alpha, beta);
      const int64 step = x.row_stride, long_rows = kLongRow * a.a.blocks.size;
      a.parallel_over_rows((a.a.indptr[a.a.blocks.count()] + a.rows) * x.cols, [&](int64 first, int64 last) {
        std::vector<T> sums(last - first);
        for (int64 c = 0; c < x.cols; ++c) {
          std::fill(sums.begin(), sums.end(), T{});
          a.for_each_block(first, last, [&](int64 i, int64 j, int64 begin, int64 end) {
            const V* const in = x.as<V>() + c * x.col_stride + j * step;
            const auto add = !a.transposed && end - begin >= long_rows ? add_rows<I> : add_entries<I>;
            add(a.a.values + begin, a.row + begin, a.col + begin, end - begin, op.conjugated, in, step,
                sums.data() + i - first);
          });
          T* const out = y.as<T>() + c * y.col_stride + first * y.row_stride;
          for (int64 i = 0; i < last - first; ++i) update.one(out + i * y.row_stride, sums[i]);
        }
      });
    });
  }

 private:
  // Adds each entry of a block to the sum of its row. Not inlined, so that all variables stay in registers.
  template <class I>
  [[gnu::noinline]] static void add_entries(const U* value, const I* row, const I* col, int64 count, bool conj,
                                            const V* x, int64 step, T* sums) {
    for (int64 e = 0; e < count; ++e) sums[row[e]] += multiply(conjugate_if(conj, value[e]), x[col[e] * step]);
  }
  // The same for blocks where four consecutive entries often belong to one row. Reading a sum right after writing it is
  // slow, so such entries are added up first.
  template <class I>
  [[gnu::noinline]] static void add_rows(const U* value, const I* row, const I* col, int64 count, bool conj, const V* x,
                                         int64 step, T* sums) {
    int64 e = 0;
    for (; count - e >= 4; e += 4) {
      T p[4];
      for (int64 k = 0; k < 4; ++k) p[k] = multiply(conjugate_if(conj, value[e + k]), x[col[e + k] * step]);
      if (row[e] == row[e + 3]) {
        sums[row[e]] += (p[0] + p[1]) + (p[2] + p[3]);
      } else {
        for (int64 k = 0; k < 4; ++k) sums[row[e + k]] += p[k];
      }
    }
    add_entries(value + e, row + e, col + e, count - e, conj, x, step, sums);
  }
};

FormatKernels kernel_table() { return {{{"block", every_pair<CsbMatvec, MatvecKernel>()}}, {}}; }
const RegisterKernels registered("csb", kEverySet, kernel_table);

}  // namespace

// The pointers are computed in place with two passes over the entries. The first one counts the entries of each line in
// the element after its pointer, and a scan turns the counts into the first positions. The second pass advances these
// as it writes the entries, so that they end up as the ends of the lines.
Matrix csb_from_rows(const Matrix& m, Blocks blocks) {
  Matrix result = empty_csb(m.rows, m.cols, blocks, m.values.size(), m.dtype);
  const int64 within = blocks.size - 1, shift = std::countr_one(static_cast<std::uint64_t>(within));
  int64* const next = result.index("block_indptr").as<int64>() + 1;
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    const Csr<T> csr = Csr<T>::of(m);
    // Calls f(i, e, p) for each entry e in row i and block p.
    const auto for_each_entry = [&](const auto& f) {
      parallel_for(blocks.down, m.values.size() + m.rows, [&](int64 r) {
        for (int64 i = r << shift; i < std::min(m.rows, (r + 1) << shift); ++i) {
          for (int64 e = csr.indptr[i]; e < csr.indptr[i + 1]; ++e) {
            f(i, e, r * blocks.across + (csr.indices[e] >> shift));
          }
        }
      });
    };
    for_each_entry([&](int64, int64, int64 p) { ++next[p]; });
    std::exclusive_scan(next, next + blocks.count(), next, int64{0});
    with_local_type(blocks.size, [&](auto index) {
      using I = decltype(index);
      I *const row = result.index("local_row").as<I>(), *const col = result.index("local_col").as<I>();
      T* const value = result.values.as<T>();
      for_each_entry([&](int64 i, int64 e, int64 p) {
        const int64 to = next[p]++;
        row[to] = static_cast<I>(i & within);
        col[to] = static_cast<I>(csr.indices[e] & within);
        value[to] = csr.values[e];
      });
    });
  });
  return result;
}

Matrix rows_from_csb(const Matrix& m, Op op) {
  const int64 rows = op.transposed ? m.cols : m.rows, cols = op.transposed ? m.rows : m.cols, count = m.values.size();
  Array indptr = Array::zeros(DType::i64, {rows + 1}), indices = Array::empty(DType::i32, {count});
  Array values = Array::empty(m.dtype, {count});
  int64* const next = indptr.as<int64>() + 1;
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    with_local_type(blocks_of(*m.structure).size, [&](auto index) {
      using I = decltype(index);
      const OrientedBlocks<T, I> a{Csb<T, I>::of(m), op.transposed};
      // Calls f(e, i, j) for each entry e of op(m), in row i and column j.
      const auto for_each_entry = [&](const auto& f) {
        a.parallel_over_rows(count + rows, [&](int64 first, int64 last) {
          a.for_each_block(first, last, [&](int64 i, int64 j, int64 begin, int64 end) {
            for (int64 e = begin; e < end; ++e) f(e, i + a.row[e], j + a.col[e]);
          });
        });
      };
      for_each_entry([&](int64, int64 i, int64) { ++next[i]; });
      std::exclusive_scan(next, next + rows, next, int64{0});
      for_each_entry([&](int64 e, int64 i, int64 j) {
        const int64 to = next[i]++;
        indices.as<std::int32_t>()[to] = static_cast<std::int32_t>(j);
        values.as<T>()[to] = conjugate_if(op.conjugated, a.a.values[e]);
      });
    });
  });
  return compressed(*common, rows, cols, std::move(indices), std::move(indptr), std::move(values));
}

Fault fault_in_csb(const Structure& structure) {
  return with_local_type(blocks_of(structure).size, [&](auto index) -> Fault {
    using I = decltype(index);
    const OrientedBlocks<float, I> oriented{Csb<float, I>::over(structure, nullptr), false};
    const Csb<float, I>& a = oriented.a;
    const int64 pointers = a.blocks.count(), count = structure.values_shape.size();
    for (int64 p = 0; p <= pointers; ++p) {
      if (p % kMinRowsPerTask == kMinRowsPerTask - 1) checkpoint();
      const bool falls = p == 0 ? a.indptr[0] != 0 : a.indptr[p] < a.indptr[p - 1];
      if (falls || (p == pointers && a.indptr[p] != count)) return {Fault::pointers, p};
    }
    Fault fault;
    oriented.for_each_block(0, a.rows, [&](int64 i, int64 j, int64 begin, int64 end) {
      const int64 rows = std::min(a.blocks.size, a.rows - i), cols = std::min(a.blocks.size, a.cols - j);
      for (int64 e = begin; e < end && fault.kind == Fault::none; ++e) {
        if (a.row[e] >= rows || a.col[e] >= cols) fault = {Fault::outside, e};
        else if (e > begin && (a.row[e] < a.row[e - 1] || (a.row[e] == a.row[e - 1] && a.col[e] <= a.col[e - 1])))
          fault = {Fault::order, e};
      }
    });
    return fault;
  });
}

}  // namespace diagsparse
