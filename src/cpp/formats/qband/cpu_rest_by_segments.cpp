// C = alpha (Ab + As)(Bb + Bs) + beta C of quasi-bands on the CPU: "segments", algorithm 3 of Vooturi and Kothapalli
// (2016) and its mirror.
//
// An entry of As meets each diagonal of B, and adds to one element of C, which is found by bisection in its row. In the
// mirror an entry of Bs meets each diagonal of A, and adds to its own column of C. As Bs adds entry by entry.
// The paper adds atomically. Here a thread takes rows of C, or in the mirror columns, so that no two meet: the same
// bits for any number of threads.
#include "cpu/parallel.hpp"
#include "formats/qband/cpu_kernels.hpp"
#include "formats/qband/rest_operands.hpp"

namespace diagsparse {

namespace {

template <class U, class V>
struct Segments {
  using T = Product<U, V>;

  // What all stages read.
  struct Operands {
    const RestOnCpu& work;
    const QuasiBand of_a, of_b;
    const QuasiBandValues<U> a;
    const QuasiBandValues<V> b;
    const RestOfResult<T> to;
    const Factor<T> alpha;

    Operands(const Plan& plan, const Matrix& left, const Matrix& right, Scalar alpha, Matrix& c)
        : work(rest_on_cpu(plan)),
          of_a(*plan.a, plan.op_a),
          of_b(*plan.b, plan.op_b),
          a(of_a, *work.a, left),
          b(of_b, *work.b, right),
          to(plan, c),
          alpha(alpha) {}

    void add(int64 i, int64 j, T product) const {
      const auto* const begin = to.columns + to.indptr[i];
      const auto* const end = to.columns + to.indptr[i + 1];
      const auto* const found = std::lower_bound(begin, end, j);
      T& sum = found != end && *found == j ? to.rest[found - to.columns] : to.on_band(i, j);
      sum += alpha * product;
    }
  };

  template <class F>
  static void for_each_line(int64 lines, const Operands& o, const F& f) {
    const int64 tasks = std::min<int64>(lines, 16 * concurrent_tasks());
    parallel_for(tasks, 4 * o.work.products, [&](int64 task) {
      for (int64 i = lines * task / tasks; i < lines * (task + 1) / tasks; ++i) {
        if (i % kRowsPerCheckpoint == 0) checkpoint();
        f(i);
      }
    });
  }
};

template <class U, class V>
struct SparseByBands {
  static void run(const Plan& plan, const Matrix& left, const Matrix& right, Scalar alpha, Scalar beta, Matrix& c) {
    using T = Product<U, V>;
    const typename Segments<U, V>::Operands o(plan, left, right, alpha, c);
    const Update<T> keep(0.0, beta);
    Segments<U, V>::for_each_line(plan.rows, o, [&](int64 i) {
      for (int64 e = o.to.indptr[i]; e < o.to.indptr[i + 1]; ++e) keep.one(o.to.rest + e, T{});
      for (int64 e = o.a.begin(i); e < o.a.begin(i + 1); ++e) {
        const int64 k = o.a.column(e);
        for_each_crossed(o.b.bands.strips, k, plan.cols, [&](const Strip& strip, int64 first, int64 last) {
          for (int64 offset = first; offset < last; ++offset) {
            o.add(i, k + offset, multiply(o.a.entry(e), o.b.band(strip.number + offset - strip.low, k)));
          }
        });
      }
    });
  }
};

template <class U, class V>
struct BandsBySparse {
  static void run(const Plan& plan, const Matrix& left, const Matrix& right, Scalar alpha, Scalar, Matrix& c) {
    const typename Segments<U, V>::Operands o(plan, left, right, alpha, c);
    Op turned = plan.op_b;
    turned.transposed = !turned.transposed;
    const QuasiBand of_columns(*plan.b, turned);
    const QuasiBandValues<V> columns(of_columns, *rows_of_rest(of_columns), right);
    // Column k of A crosses the diagonals of A that row k of its transpose crosses.
    Op of_rows = plan.op_a;
    of_rows.transposed = !of_rows.transposed;
    const QuasiBandValues<U> of_a(QuasiBand(*plan.a, of_rows), *o.work.a, left);
    Segments<U, V>::for_each_line(plan.cols, o, [&](int64 j) {
      for (int64 f = columns.begin(j); f < columns.begin(j + 1); ++f) {
        const int64 k = columns.column(f);
        for_each_crossed(of_a.bands.strips, k, plan.rows, [&](const Strip& strip, int64 first, int64 last) {
          for (int64 offset = first; offset < last; ++offset) {
            o.add(k + offset, j, multiply(of_a.band(strip.number + offset - strip.low, k), columns.entry(f)));
          }
        });
      }
    });
  }
};

template <class U, class V>
struct SparseBySparse {
  static void run(const Plan& plan, const Matrix& left, const Matrix& right, Scalar alpha, Scalar, Matrix& c) {
    const typename Segments<U, V>::Operands o(plan, left, right, alpha, c);
    Segments<U, V>::for_each_line(plan.rows, o, [&](int64 i) {
      for (int64 e = o.a.begin(i); e < o.a.begin(i + 1); ++e) {
        const int64 k = o.a.column(e);
        for (int64 f = o.b.begin(k); f < o.b.begin(k + 1); ++f) {
          o.add(i, o.b.column(f), multiply(o.a.entry(e), o.b.entry(f)));
        }
      }
    });
  }
};

void prepare(const Plan& plan) {
  Op turned = plan.op_b;
  turned.transposed = !turned.transposed;
  rows_of_rest(QuasiBand(*plan.b, turned));
}

}  // namespace

MatmulRow multiply_quasi_bands_by_segments() {
  return {"segments",
          every_pair<MultiplyBands, MatmulKernel>(),
          prepare,
          {{"sparse x bands", every_pair<SparseByBands, MatmulKernel>()},
           {"bands x sparse", every_pair<BandsBySparse, MatmulKernel>()},
           {"sparse x sparse", every_pair<SparseBySparse, MatmulKernel>()}},
          "bands x bands"};
}

}  // namespace diagsparse
