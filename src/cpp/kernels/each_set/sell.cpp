// The kernel of sell on the CPU.
#include "formats/sell.hpp"

#include <algorithm>

#include "cpu/parallel.hpp"
#include "kernels/each_set/vec.hpp"
#include "kernels/scatter.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

// Kernel "row" of y = alpha op(A) x + beta y.
// op = N: slices with equal work on each thread; of a slice 32, 16 or 8 rows at a time, their sums in registers, one
//         entry of each after the other, as they lie. A row is summed in the order of its entries, from zero, up to its
//         padding.
// op = T: kernels/scatter.hpp, slice by slice.
template <class U, class V>
struct SellMatvec {
  using T = Product<U, V>;

  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const Sell<U> a = Sell<U>::of(m);
    if (op.transposed) {
      const auto entries = [&](const auto& take) { walk(a, take); };
      return scatter<U, V>(m.structure->stored(), op.conjugated, alpha, x, beta, y, entries);
    }
    // The common case, neighbouring elements and no conjugate, as a loop of its own.
    if (x.row_stride == 1 && y.row_stride == 1 && !op.conjugated) gather<true>(a, false, alpha, x, beta, y);
    else gather<false>(a, op.conjugated, alpha, x, beta, y);
  }

 private:
  template <bool Plain>
  static void gather(const Sell<U>& a, bool conj, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const Update<T> update(alpha, beta);
    const int64 x_step = Plain ? 1 : x.row_stride, y_step = Plain ? 1 : y.row_stride;
    const int64 work = a.slice_indptr[a.slices] + a.rows, tasks = tasks_for(work);
    const auto before = [&](int64 s) { return a.slice_indptr[s] + s * a.height; };
    parallel_for(tasks, work * x.cols, [&](int64 task) {
      const int64 last = border(a.slices, work, tasks, task + 1, before);
      for (int64 s = border(a.slices, work, tasks, task, before); s < last; ++s) {
        for (int64 c = 0; c < x.cols; ++c) {
          const V* in = x.as<V>() + c * x.col_stride;
          T* out = y.as<T>() + c * y.col_stride;
          const auto product = [=](U value, int64 j) {
            return multiply(Plain ? value : conjugate_if(conj, value), in[j * x_step]);
          };
          if (Plain && update.plain && !a.row_order) {
            sum_slice(a, s, product, [=](int64 p, T sum) { out[p] = sum; });
          } else {
            sum_slice(a, s, product, [=, &a, &update](int64 p, T sum) { update.one(out + a.row(p) * y_step, sum); });
          }
        }
      }
    });
  }

  // Calls put(p, the sum of product(value, column) over stored row p) for the rows of slice s.
  template <class Multiply, class Put>
  [[gnu::always_inline]] static void sum_slice(const Sell<U>& a, int64 s, const Multiply product, const Put put) {
    const int64 end = a.slice_indptr[s + 1], last = std::min(a.rows, (s + 1) * a.height);
    int64 p = s * a.height, e = a.slice_indptr[s];
    for (; p + 32 <= last; p += 32, e += 32) sum_rows<32>(a, p, e, end, product, put);
    for (; p + 16 <= last; p += 16, e += 16) sum_rows<16>(a, p, e, end, product, put);
    for (; p + 8 <= last; p += 8, e += 8) sum_rows<8>(a, p, e, end, product, put);
    for (; p < last; ++p, ++e) sum_rows<1>(a, p, e, end, product, put);
  }

  // The same for N neighbouring rows, whose first entries lie at `e`: together until one of them ends, then the rest of
  // each.
  template <int64 N, class Multiply, class Put>
  [[gnu::always_inline]] static void sum_rows(const Sell<U> a, int64 p, int64 e, int64 end, const Multiply product,
                                              const Put put) {
    T sums[N] = {};
    for (; e < end && all_entries<N>(a.indices + e); e += a.height) {
      const std::int32_t* index = a.indices + e;
      const U* value = a.values + e;
      for (int64 r = 0; r < N; ++r) sums[r] += product(value[r], index[r]);
    }
    for (int64 r = 0; e < end && r < N; ++r) {
      for (int64 f = e + r; f < end && a.indices[f] >= 0; f += a.height) sums[r] += product(a.values[f], a.indices[f]);
    }
    for (int64 r = 0; r < N; ++r) put(p + r, sums[r]);
  }

  // Whether none of N places is padding.
  template <int64 N>
  [[gnu::always_inline]] static bool all_entries(const std::int32_t* index) {
    std::int32_t any = 0;
    for (int64 r = 0; r < N; ++r) any |= index[r];
    return any >= 0;
  }

  // Calls take(i, j, value) for every entry: slices, as they lie.
  template <class Take>
  static void walk(const Sell<U>& a, const Take& take) {
    for (int64 s = 0; s < a.slices; ++s) {
      checkpoint();
      const int64 first = s * a.height, count = std::min(a.height, a.rows - first);
      for (int64 e = a.slice_indptr[s]; e < a.slice_indptr[s + 1]; e += a.height) {
        for (int64 k = 0; k < count; ++k) {
          if (a.indices[e + k] >= 0) take(a.row(first + k), a.indices[e + k], a.values[e + k]);
        }
      }
    }
  }
};

FormatKernels make() { return {{{"row", every_pair<SellMatvec, MatvecKernel>()}}, {}}; }
const RegisterKernels registered("sell", kIsa, make);

}  // namespace

}  // namespace diagsparse::DIAGSPARSE_ISA
