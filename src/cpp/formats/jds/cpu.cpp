// jds on the CPU: the distribution of its rows to tasks, and the kernel "section".
#include <algorithm>
#include <numeric>
#include <vector>

#include "core/compressed_rows.hpp"
#include "core/convert.hpp"
#include "core/kernel_table.hpp"
#include "cpu/parallel.hpp"
#include "formats/jds/layout.hpp"
#include "kernels/scatter.hpp"
#include "layouts/cpu_rows.hpp"

namespace diagsparse {

namespace {

constexpr int64 kRowsPerBlock = 1024;      // small enough that their sums stay in the L1 cache

// Consecutive rows of one section, from position `first` on. Entry w of the i-th of them is at entries + w stride + i.
struct Block {
  int64 first, count, length, entries, stride;
};

// Calls f(block) for the rows at positions [begin, end), which are both boundaries of blocks.
template <class T, class F>
void for_each_block(const Jds<T>& a, int64 begin, int64 end, const F& f) {
  int64 s = std::upper_bound(a.section_rows, a.section_rows + a.sections + 1, begin) - a.section_rows - 1;
  for (int64 position = begin; position < end; ++s) {
    const Section section = a.section(s);
    const int64 stop = std::min(end, section.first + section.rows);
    for (; position < stop; position += std::min(kRowsPerBlock, stop - position)) {
      f(Block{position, std::min(kRowsPerBlock, stop - position), section.length,
              section.entries + position - section.first, section.rows});
    }
  }
}

// The first position of a task. Tasks have about the same number of entries plus rows, and consist of complete blocks.
template <class T>
int64 border(const Jds<T>& a, int64 tasks, int64 task) {
  if (task == tasks) return a.rows;
  const int64 target = (a.stored + a.rows) / tasks * task;
  int64 low = 0, high = a.sections;  // bisection for the last section that begins at or before the target
  while (low < high) {
    const int64 mid = (low + high + 1) / 2;
    if (a.section_indptr[mid] + a.section_rows[mid] <= target) low = mid;
    else high = mid - 1;
  }
  const Section section = a.section(low);
  const int64 rows = (target - section.entries - section.first) / (section.length + 1);
  return section.first + rows / kRowsPerBlock * kRowsPerBlock;
}

template <class U>
struct JdsEntries {
  Jds<U> a;

  static JdsEntries of(const Matrix& m) { return {Jds<U>::of(m)}; }
  int64 begin(int64 blocks, int64 k) const { return border(a, blocks, k); }
  template <class Visit>
  void traverse(int64 begin, int64 end, const Visit& visit) const {
    for_each_block(a, begin, end, [&](const Block& block) {
      checkpoint();
      for (int64 w = 0; w < block.length; ++w) {
        for (int64 i = 0, e = block.entries + w * block.stride; i < block.count; ++i, ++e) {
          visit(a.row_order[block.first + i])(a.indices[e], a.values[e]);
        }
      }
    });
  }
};

// Kernel "section" of y = alpha op(A) x + beta y.
// op = N: section by section, and within a section a block of rows at a time. Eight rows are summed in registers at
//         once, in the order of their entries and starting from zero. These are more streams than hardware prefetchers
//         track, so the kernel prefetches the next values and indices of each.
// op = T: kernels/scatter.hpp, block by block.
template <class U, class V>
struct JdsMatvec {
  using T = Product<U, V>;

  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const Jds<U> a = Jds<U>::of(m);
    if (op.transposed) return scatter<V>(JdsEntries<U>{a}, m, op.conjugated, alpha, x, beta, y);
    const Update<T> update(alpha, beta);
    const int64 work = a.stored + a.rows, tasks = tasks_for(work);
    parallel_for(tasks, work * x.cols, [&](int64 task) {
      for_each_block(a, border(a, tasks, task), border(a, tasks, task + 1), [&](const Block& block) {
        const int64 ahead =
            std::clamp<int64>(kEntriesAhead / std::max<int64>(block.length, 1), 2 * kRowsAtOnce, 64 * kRowsAtOnce);
        T sums[kRowsPerBlock];
        for (int64 c = 0; c < x.cols; ++c) {
          const V* const in = x.as<V>() + c * x.col_stride;
          T* const out = y.as<T>() + c * y.col_stride;
          sum_from<kRowsAtOnce>(a, block, 0, ahead, op.conjugated, in, x.row_stride, sums);
          for (int64 i = 0; i < block.count; ++i) {
            update.one(out + a.row_order[block.first + i] * y.row_stride, sums[i]);
          }
        }
      });
    });
  }

 private:
  static constexpr int kRowsAtOnce = 8;
  static constexpr int64 kEntriesAhead = 2560;  // about the number that is read during the latency of memory

  // Computes the sums of the rows of a block from `first` on: `Rows` rows at a time as long as that many are left, then
  // fewer.
  template <int Rows>
  static void sum_from(const Jds<U>& a, const Block& block, int64 first, int64 ahead, bool conj, const V* x, int64 step,
                       T* sums) {
    for (; block.count - first >= Rows; first += Rows) {
      sum_at_once<Rows>(a, block, first, ahead, conj, x, step, sums + first);
    }
    if constexpr (Rows > 1) sum_from<Rows / 2>(a, block, first, ahead, conj, x, step, sums);
  }

  // Not inlined, so that the sums stay in registers.
  template <int Rows>
  [[gnu::noinline]] static void sum_at_once(const Jds<U>& a, const Block& block, int64 first, int64 ahead, bool conj,
                                            const V* x, int64 step, T* out) {
    const U* value = a.values + block.entries + first;
    const std::int32_t* index = a.indices + block.entries + first;
    const int64 length = block.length, stride = block.stride;
    T sums[Rows] = {};
    for (int64 w = 0; w < length; ++w, value += stride, index += stride) {
      if constexpr (Rows == kRowsAtOnce) {
        __builtin_prefetch(index + ahead);
        for (int k = 0; k < Rows; k += 64 / sizeof(U)) __builtin_prefetch(value + ahead + k);
      }
#pragma GCC unroll 8
      for (int k = 0; k < Rows; ++k) sums[k] += multiply(conjugate_if(conj, value[k]), x[index[k] * step]);
    }
    std::copy_n(sums, Rows, out);
  }
};

FormatKernels kernel_table() { return {{{"section", every_pair<JdsMatvec, MatvecKernel>()}}, {}}; }
const RegisterKernels registered("jds", kEverySet, kernel_table);

}  // namespace

Fault fault_in_sections(const Jds<float>& a) {
  Fault first_fault;
  for (int64 s = 0; s <= a.sections; ++s) {
    const Fault::Kind kind = a.fault_in_section(s);
    if (kind == Fault::pointers) return {kind, s};
    if (first_fault.kind == Fault::none) first_fault = {kind, s};
  }
  return first_fault;
}

template struct StoredRows<Jds>;

}  // namespace diagsparse
