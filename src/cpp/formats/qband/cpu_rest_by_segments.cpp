// C = alpha (Ab + As)(Bb + Bs) + beta C of quasi-bands on the CPU: "segments", algorithm 3 of Vooturi and Kothapalli
// (2016) and its mirror image.
//
// An entry of As is multiplied by each diagonal of B, and each product is added to one element of C, which is located
// by bisection in its row. In the mirror image an entry of Bs is multiplied by each diagonal of A, and the products are
// added to its column of C. As Bs is added entry by entry.
// The paper uses atomic additions. Here each thread processes rows of C, or columns in the mirror image, so that no two
// threads update the same element: the result has the same bits for any number of threads.
#include "cpu/parallel.hpp"
#include "formats/qband/cpu_kernels.hpp"
#include "formats/qband/rest_operands.hpp"

namespace diagsparse {

namespace {

template <class U, class V>
struct Segments {
  using T = Product<U, V>;

  // The operands of all stages.
  struct Operands {
    const RestOnCpu& work;
    const QuasiBand operand_a, operand_b;
    const QuasiBandValues<U> a;
    const QuasiBandValues<V> b;
    const RestOfResult<T> to;
    const Factor<T> alpha;

    Operands(const Plan& plan, const Matrix& left, const Matrix& right, Scalar alpha, Matrix& c)
        : work(rest_on_cpu(plan)),
          operand_a(*plan.a, plan.op_a),
          operand_b(*plan.b, plan.op_b),
          a(operand_a, *work.a, left),
          b(operand_b, *work.b, right),
          to(plan, c),
          alpha(alpha) {}

    void add(int64 i, int64 j, T product) const {
      const auto* const begin = to.columns + to.indptr[i];
      const auto* const end = to.columns + to.indptr[i + 1];
      const auto* const match = std::lower_bound(begin, end, j);
      T& sum = match != end && *match == j ? to.rest[match - to.columns] : to.on_band(i, j);
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
    const Update<T> scale(0.0, beta);
    Segments<U, V>::for_each_line(plan.rows, o, [&](int64 i) {
      for (int64 e = o.to.indptr[i]; e < o.to.indptr[i + 1]; ++e) scale.one(o.to.rest + e, T{});
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
    Op transposed_op_b = plan.op_b;
    transposed_op_b.transposed = !transposed_op_b.transposed;
    const QuasiBand b_transposed(*plan.b, transposed_op_b);
    const QuasiBandValues<V> columns(b_transposed, *rows_of_rest(b_transposed), right);
    // Column k of A intersects the same diagonals as row k of its transpose.
    Op transposed_op_a = plan.op_a;
    transposed_op_a.transposed = !transposed_op_a.transposed;
    const QuasiBandValues<U> operand_a(QuasiBand(*plan.a, transposed_op_a), *o.work.a, left);
    Segments<U, V>::for_each_line(plan.cols, o, [&](int64 j) {
      for (int64 f = columns.begin(j); f < columns.begin(j + 1); ++f) {
        const int64 k = columns.column(f);
        for_each_crossed(operand_a.bands.strips, k, plan.rows, [&](const Strip& strip, int64 first, int64 last) {
          for (int64 offset = first; offset < last; ++offset) {
            o.add(k + offset, j, multiply(operand_a.band(strip.number + offset - strip.low, k), columns.entry(f)));
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
  Op transposed_op_b = plan.op_b;
  transposed_op_b.transposed = !transposed_op_b.transposed;
  rows_of_rest(QuasiBand(*plan.b, transposed_op_b));
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
