// csb on the CPU: from rows and to rows, validation, and the kernel.
#include <numeric>
#include <vector>

#include "core/compressed_rows.hpp"
#include "core/convert.hpp"
#include "core/kernel_table.hpp"
#include "cpu/parallel.hpp"
#include "formats/csb/layout.hpp"

namespace diagsparse {

namespace {

constexpr int64 kRows = 4096;   // rows of op(A) a task, or those of one block where these are more
constexpr int64 kLongRow = 16;  // entries of a row in its block

// The blocks of op(A). A task takes rows of op(A), and walks their blocks as they lie: op = N: rows of blocks, one
// behind the other; op = T: in each row of blocks some that lie side by side.
template <class T, class I>
struct Turned {
  Csb<T, I> a;
  bool transposed;
  int64 rows = transposed ? a.cols : a.rows;
  const I *row = transposed ? a.col : a.row, *col = transposed ? a.row : a.col;  // of an entry in its block

  // Calls f(first, last) for the rows of each task.
  template <class F>
  void share_out(int64 work, const F& f) const {
    const int64 each = std::max(kRows, a.blocks.size);
    parallel_for((rows + each - 1) / each, work,
                 [&](int64 task) { f(task * each, std::min(rows, (task + 1) * each)); });
  }

  // Calls f(i, j, begin, end) for the blocks in these rows: a block begins at (i, j) and has these entries. Blocks of a
  // row come in the order of their columns.
  template <class F>
  void each_block(int64 first, int64 last, const F& f) const {
    const int64 size = a.blocks.size, low = first / size, high = (last + size - 1) / size;
    const int64 top = transposed ? 0 : low, bottom = transposed ? a.blocks.down : high;
    const int64 left = transposed ? low : 0, right = transposed ? high : a.blocks.across;
    if (left == right) return;  // 2^30 rows of no blocks take long to walk
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

// Kernel "block" of y = alpha op(A) x + beta y, op = N and op = T alike.
// A task sums some rows of op(A), block by block, and writes them once. An element of y sums in the order of its row,
// from zero, however rows are shared out; in blocks with long rows four neighbours of a row are summed beforehand.
template <class U, class V>
struct CsbMatvec {
  using T = Product<U, V>;

  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    with_local_type(blocks_of(*m.structure).size, [&](auto index) {
      using I = decltype(index);
      const Turned<U, I> a{Csb<U, I>::of(m), op.transposed};
      // The common case, neighbouring elements of x and no conjugate, as a loop of its own.
      if (x.row_stride == 1 && !op.conjugated) multiply_blocks<true>(a, false, alpha, x, beta, y);
      else multiply_blocks<false>(a, op.conjugated, alpha, x, beta, y);
    });
  }

 private:
  template <bool Plain, class I>
  static void multiply_blocks(const Turned<U, I>& a, bool conj, Scalar alpha, const Dense& x, Scalar beta,
                              const Dense& y) {
    const Update<T> update(alpha, beta);
    const int64 step = Plain ? 1 : x.row_stride, long_rows = kLongRow * a.a.blocks.size;
    a.share_out((a.a.indptr[a.a.blocks.count()] + a.rows) * x.cols, [&](int64 first, int64 last) {
      std::vector<T> sums(last - first);
      for (int64 c = 0; c < x.cols; ++c) {
        std::fill(sums.begin(), sums.end(), T{});
        a.each_block(first, last, [&](int64 i, int64 j, int64 begin, int64 end) {
          const V* const in = x.as<V>() + c * x.col_stride + j * step;
          const auto product = [=](U value, I k) {
            return multiply(Plain ? value : conjugate_if(conj, value), in[k * step]);
          };
          const auto add = !a.transposed && end - begin >= long_rows ? add_rows<I, decltype(product)>
                                                                     : add_entries<I, decltype(product)>;
          add(a.a.values + begin, a.row + begin, a.col + begin, end - begin, product, sums.data() + i - first);
        });
        T* const out = y.as<T>() + c * y.col_stride + first * y.row_stride;
        for (int64 i = 0; i < last - first; ++i) update.one(out + i * y.row_stride, sums[i]);
      }
    });
  }

  // Entries of a block, each added to the sum of its row. A function of its own, so that all it needs is in registers.
  template <class I, class F>
  [[gnu::noinline]] static void add_entries(const U* value, const I* row, const I* col, int64 count, const F product,
                                            T* sums) {
    for (int64 e = 0; e < count; ++e) sums[row[e]] += product(value[e], col[e]);
  }
  // The same, where four neighbours are often of one row: a sum that is read again as soon as it is written takes long.
  template <class I, class F>
  [[gnu::noinline]] static void add_rows(const U* value, const I* row, const I* col, int64 count, const F product,
                                         T* sums) {
    int64 e = 0;
    for (; count - e >= 4; e += 4) {
      const T p[4] = {product(value[e], col[e]), product(value[e + 1], col[e + 1]), product(value[e + 2], col[e + 2]),
                      product(value[e + 3], col[e + 3])};
      if (row[e] == row[e + 3]) {
        sums[row[e]] += (p[0] + p[1]) + (p[2] + p[3]);
      } else {
        for (int64 k = 0; k < 4; ++k) sums[row[e + k]] += p[k];
      }
    }
    add_entries(value + e, row + e, col + e, count - e, product, sums);
  }
};

FormatKernels make() { return {{{"block", every_pair<CsbMatvec, MatvecKernel>()}}, {}}; }
const RegisterKernels registered("csb", kEverySet, make);

}  // namespace

// Pointers are made in two passes over the entries: the first one counts those of each line at the pointer behind it,
// the second one finds there where the next entry of the line goes, and leaves where the line ends.
Matrix csb_from_rows(const Matrix& m, Blocks blocks) {
  Matrix result = empty_csb(m.rows, m.cols, blocks, m.values.size(), m.dtype);
  const int64 within = blocks.size - 1, shift = std::countr_one(static_cast<std::uint64_t>(within));
  int64* const next = result.index("block_indptr").as<int64>() + 1;
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    const Csr<T> csr = Csr<T>::of(m);
    // Calls f(i, e, p) for each entry e, in row i and block p.
    const auto each_entry = [&](const auto& f) {
      parallel_for(blocks.down, m.values.size() + m.rows, [&](int64 r) {
        for (int64 i = r << shift; i < std::min(m.rows, (r + 1) << shift); ++i) {
          for (int64 e = csr.indptr[i]; e < csr.indptr[i + 1]; ++e) {
            f(i, e, r * blocks.across + (csr.indices[e] >> shift));
          }
        }
      });
    };
    each_entry([&](int64, int64, int64 p) { ++next[p]; });
    std::exclusive_scan(next, next + blocks.count(), next, int64{0});
    with_local_type(blocks.size, [&](auto index) {
      using I = decltype(index);
      I *const row = result.index("local_row").as<I>(), *const col = result.index("local_col").as<I>();
      T* const value = result.values.as<T>();
      each_entry([&](int64 i, int64 e, int64 p) {
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
      const Turned<T, I> a{Csb<T, I>::of(m), op.transposed};
      // Calls f(e, i, j) for each entry e of op(m), in row i and column j.
      const auto each_entry = [&](const auto& f) {
        a.share_out(count + rows, [&](int64 first, int64 last) {
          a.each_block(first, last, [&](int64 i, int64 j, int64 begin, int64 end) {
            for (int64 e = begin; e < end; ++e) f(e, i + a.row[e], j + a.col[e]);
          });
        });
      };
      each_entry([&](int64, int64 i, int64) { ++next[i]; });
      std::exclusive_scan(next, next + rows, next, int64{0});
      each_entry([&](int64 e, int64 i, int64 j) {
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
    const Turned<float, I> turned{Csb<float, I>::over(structure, nullptr), false};
    const Csb<float, I>& a = turned.a;
    const int64 pointers = a.blocks.count(), count = structure.values_shape.size();
    for (int64 p = 0; p <= pointers; ++p) {
      if (p % kRows == kRows - 1) checkpoint();
      const bool falls = p == 0 ? a.indptr[0] != 0 : a.indptr[p] < a.indptr[p - 1];
      if (falls || (p == pointers && a.indptr[p] != count)) return {Fault::pointers, p};
    }
    Fault fault;
    turned.each_block(0, a.rows, [&](int64 i, int64 j, int64 begin, int64 end) {
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
