// The kernel of coo on the CPU.
#include <algorithm>

#include "formats/coo/layout.hpp"
#include "kernels/scatter.hpp"

namespace diagsparse {

namespace {

constexpr int64 kPerCheckpoint = 1 << 20;  // entries between two calls of checkpoint()

template <class U>
struct CooEntries {
  Coo<U> a;

  static CooEntries of(const Matrix& m) { return {Coo<U>::of(m)}; }
  int64 begin(int64 blocks, int64 k) const { return a.count / blocks * k + a.count % blocks * k / blocks; }
  template <class Visit>
  void traverse(int64 begin, int64 end, const Visit& visit) const {
    for (int64 first = begin; first < end; first += kPerCheckpoint) {
      if (first > begin) checkpoint();
      for (int64 e = first; e < std::min(end, first + kPerCheckpoint); ++e) visit(a.row[e])(a.col[e], a.values[e]);
    }
  }
};

// Kernel "entry" of y = alpha op(A) x + beta y.
// op = N: each task processes a range of complete rows with about the same number of entries. The entries of a row are
//         summed in order.
// op = T: kernels/scatter.hpp, entry by entry.
template <class U, class V>
struct CooMatvec {
  using T = Product<U, V>;

  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const Coo<U> a = Coo<U>::of(m);
    if (op.transposed) return scatter<V>(CooEntries<U>{a}, m, op.conjugated, alpha, x, beta, y);
    // The common case of contiguous vectors without conjugation has its own loop.
    if (x.row_stride == 1 && y.row_stride == 1 && !op.conjugated) gather<true>(a, false, alpha, x, beta, y);
    else gather<false>(a, op.conjugated, alpha, x, beta, y);
  }

 private:
  template <bool Plain>
  static void gather(const Coo<U>& a, bool conj, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const Update<T> update(alpha, beta);
    const int64 x_step = Plain ? 1 : x.row_stride, y_step = Plain ? 1 : y.row_stride;
    const int64 work = a.count + a.rows, tasks = tasks_for(work);
    const auto first_entry = [&](int64 i) { return std::lower_bound(a.row, a.row + a.count, i) - a.row; };
    const auto first_row = [&](int64 task) {
      return border(a.rows, work, tasks, task, [&](int64 i) { return first_entry(i) + i; });
    };
    parallel_for(tasks, work * x.cols, [&](int64 task) {
      const int64 low = first_row(task), high = first_row(task + 1);
      const int64 begin = first_entry(low), end = first_entry(high);
      for (int64 c = 0; c < x.cols; ++c) {
        const V* const in = x.as<V>() + c * x.col_stride;
        T* const out = y.as<T>() + c * y.col_stride;
        for (int64 i = low, e = begin; i < high; ++i) {
          T sum{};
          for (; e < end && a.row[e] == i; ++e) {
            sum += multiply(Plain ? a.values[e] : conjugate_if(conj, a.values[e]), in[a.col[e] * x_step]);
          }
          update.one(out + i * y_step, sum);
        }
      }
    });
  }
};

FormatKernels kernel_table() { return {{{"entry", every_pair<CooMatvec, MatvecKernel>()}}, {}}; }
const RegisterKernels registered("coo", kEverySet, kernel_table);

}  // namespace

}  // namespace diagsparse
