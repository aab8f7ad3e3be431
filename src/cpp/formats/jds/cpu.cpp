// jds on the CPU: how its rows are dealt to tasks, and the kernel "section".
#include <algorithm>
#include <functional>
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

constexpr int64 kPerCheckpoint = 1 << 16;  // rows or entries between two questions whether to go on
constexpr int64 kBlockRows = 1024;         // so that their sums stay in the first cache

// Neighbouring rows of one section: entry w of row i of them, which is at place first + i, is at entries + w stride +
// i.
struct Block {
  int64 first, count, length, entries, stride;
};

// Calls f(block) for the rows of the places [begin, end), both borders of blocks.
template <class T, class F>
void for_each_block(const Jds<T>& a, int64 begin, int64 end, const F& f) {
  int64 s = std::upper_bound(a.section_rows, a.section_rows + a.sections + 1, begin) - a.section_rows - 1;
  for (int64 place = begin; place < end; ++s) {
    const Section section = a.section(s);
    const int64 stop = std::min(end, section.first + section.rows);
    for (; place < stop; place += std::min(kBlockRows, stop - place)) {
      f(Block{place, std::min(kBlockRows, stop - place), section.length, section.entries + place - section.first,
              section.rows});
    }
  }
}

// The first place of a task: tasks share out entries plus rows evenly, in whole blocks.
template <class T>
int64 border(const Jds<T>& a, int64 tasks, int64 task) {
  if (task == tasks) return a.rows;
  const int64 share = (a.stored + a.rows) / tasks * task;
  int64 low = 0, high = a.sections;  // the last section that begins at the share or before it
  while (low < high) {
    const int64 mid = (low + high + 1) / 2;
    if (a.section_indptr[mid] + a.section_rows[mid] <= share) low = mid;
    else high = mid - 1;
  }
  const Section section = a.section(low);
  const int64 rows = (share - section.entries - section.first) / (section.length + 1);
  return section.first + rows / kBlockRows * kBlockRows;
}

// Calls f(block) for all rows, on all threads: blocks follow from the matrix alone. f does `times` multiply-adds for
// each entry.
template <class T, class F>
void over_blocks(const Jds<T>& a, int64 times, const F& f) {
  const int64 work = a.stored + a.rows, tasks = tasks_for(work);
  parallel_for(tasks, work * times,
               [&](int64 task) { for_each_block(a, border(a, tasks, task), border(a, tasks, task + 1), f); });
}

// Kernel "section" of y = alpha op(A) x + beta y.
// op = N: section after section, a block of its rows at a time, and of these eight at once: entry w of all eight after
//         the other, to sums in registers. These are more streams than a processor follows by itself, so it is told
//         what comes next in each. A row is summed in the order of its entries, from zero.
// op = T: kernels/scatter.hpp, block by block.
template <class U, class V>
struct JdsMatvec {
  using T = Product<U, V>;

  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const Jds<U> a = Jds<U>::of(m);
    if (op.transposed) {
      const auto cut = [&](int64 pieces, int64 k) { return border(a, pieces, k); };
      const auto walk = [&](int64 begin, int64 end, const auto& take) { walk_places(a, begin, end, take); };
      return scatter<U, V>(m, op.conjugated, alpha, x, beta, y, cut, walk);
    }
    // The common case, neighbouring elements and no conjugate, as a loop of its own.
    if (x.row_stride == 1 && y.row_stride == 1 && !op.conjugated) gather<true>(a, false, alpha, x, beta, y);
    else gather<false>(a, op.conjugated, alpha, x, beta, y);
  }

 private:
  static constexpr int kAtOnce = 8;             // rows
  static constexpr int64 kEntriesAhead = 2560;  // about as many are read while memory brings one

  template <bool Plain>
  static void gather(const Jds<U>& a, bool conj, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const Update<T> update(alpha, beta);
    const int64 x_step = Plain ? 1 : x.row_stride, y_step = Plain ? 1 : y.row_stride;
    over_blocks(a, x.cols, [&](const Block& block) {
      for (int64 c = 0; c < x.cols; ++c) {
        const V* in = x.as<V>() + c * x.col_stride;
        T* out = y.as<T>() + c * y.col_stride;
        sum_rows(
            a, block,
            [=](const U& value, int64 j) {
              return multiply(Plain ? value : conjugate_if(conj, value), in[j * x_step]);
            },
            [=, &update](int64 i, T sum) { update.one(out + i * y_step, sum); });
      }
    });
  }

  // Calls put(i, the sum of product(value, column) over row i), in the order of the entries.
  template <class Multiply, class Put>
  static void sum_rows(const Jds<U>& a, const Block& block, const Multiply& product, const Put& put) {
    const int64 ahead = std::clamp<int64>(kEntriesAhead / std::max<int64>(block.length, 1), 2 * kAtOnce, 64 * kAtOnce);
    T sums[kBlockRows];
    sum_from<kAtOnce>(a, block, 0, ahead, sums, product);
    for (int64 i = 0; i < block.count; ++i) put(a.row_order[block.first + i], sums[i]);
  }

  // The sums of the rows of a block from `first` on, `Rows` at once as long as there are as many, then fewer.
  template <int Rows, class Multiply>
  static void sum_from(const Jds<U>& a, const Block& block, int64 first, int64 ahead, T* sums,
                       const Multiply& product) {
    for (; block.count - first >= Rows; first += Rows) {
      sum_at_once<Rows>(a, block, first, ahead, sums + first, product);
    }
    if constexpr (Rows > 1) sum_from<Rows / 2>(a, block, first, ahead, sums, product);
  }

  // Not inlined, for the registers.
  template <int Rows, class Multiply>
  [[gnu::noinline]] static void sum_at_once(const Jds<U>& a, const Block& block, int64 first, int64 ahead, T* out,
                                            const Multiply product) {
    const U* value = a.values + block.entries + first;
    const std::int32_t* index = a.indices + block.entries + first;
    const int64 length = block.length, stride = block.stride;
    T sums[Rows] = {};
    for (int64 w = 0; w < length; ++w, value += stride, index += stride) {
      if constexpr (Rows == kAtOnce) {
        __builtin_prefetch(index + ahead);
        for (int k = 0; k < Rows; k += 64 / sizeof(U)) __builtin_prefetch(value + ahead + k);
      }
#pragma GCC unroll 8
      for (int k = 0; k < Rows; ++k) sums[k] += product(value[k], index[k]);
    }
    std::copy_n(sums, Rows, out);
  }

  // Calls take(i)(j, value) for every entry of the rows of some places: blocks of them, as they lie.
  template <class Take>
  static void walk_places(const Jds<U>& a, int64 begin, int64 end, const Take& take) {
    for_each_block(a, begin, end, [&](const Block& block) {
      checkpoint();
      for (int64 w = 0; w < block.length; ++w) {
        for (int64 i = 0, e = block.entries + w * block.stride; i < block.count; ++i, ++e) {
          take(a.row_order[block.first + i])(a.indices[e], a.values[e]);
        }
      }
    });
  }
};

FormatKernels make() { return {{{"section", every_pair<JdsMatvec, MatvecKernel>()}}, {}}; }
const RegisterKernels registered("jds", kEverySet, make);

}  // namespace

Fault fault_in_sections(const Jds<float>& a) {
  Fault found;
  for (int64 s = 0; s <= a.sections; ++s) {
    const Fault::Kind kind = a.fault_in_section(s);
    if (kind == Fault::pointers) return {kind, s};
    if (found.kind == Fault::none) found = {kind, s};
  }
  return found;
}

template struct StoredRows<Jds>;

}  // namespace diagsparse
