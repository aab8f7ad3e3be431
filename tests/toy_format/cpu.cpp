// pell on the CPU: the kernel "row".
#include "core/kernel_table.hpp"
#include "formats/pell/layout.hpp"
#include "kernels/scatter.hpp"
#include "layouts/cpu_rows.hpp"

namespace diagsparse {

namespace {

// Calls f(j, value) for the entries of row i.
template <class U, class F>
void for_row(const Pell<U>& a, int64 i, const F& f) {
  for (int64 e = a.begin(i); e < a.end(i) && a.column(e) >= 0; ++e) f(a.column(e), a.values[e]);
}

template <class U>
struct PellEntries {
  Pell<U> a;

  static PellEntries of(const Matrix& m) { return {Pell<U>::of(m)}; }
  int64 begin(int64 blocks, int64 k) const { return a.rows * k / blocks; }
  template <class Visit>
  void traverse(int64 begin, int64 end, const Visit& visit) const {
    for (int64 i = begin; i < end; ++i) {
      const auto add = visit(i);
      for_row(a, i, [&](int64 j, U value) { add(j, value); });
    }
  }
};

template <class U, class V>
struct PellMatvec {
  using T = Product<U, V>;

  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const Pell<U> a = Pell<U>::of(m);
    if (op.transposed) return scatter<V>(PellEntries<U>{a}, m, op.conjugated, alpha, x, beta, y);
    const Update<T> update(alpha, beta);
    for_stored_rows(a.rows, m.values.size() * x.cols, [&](int64 i) {
      for (int64 c = 0; c < x.cols; ++c) {
        const V* const in = x.as<V>() + c * x.col_stride;
        T sum{};
        for_row(a, i,
                [&](int64 j, U value) { sum += multiply(conjugate_if(op.conjugated, value), in[j * x.row_stride]); });
        update.one(y.as<T>() + c * y.col_stride + i * y.row_stride, sum);
      }
    });
  }
};

FormatKernels make() { return {{{"row", every_pair<PellMatvec, MatvecKernel>()}}, {}}; }
const RegisterKernels registered("pell", kEverySet, make);

}  // namespace

template struct StoredRows<Pell>;

}  // namespace diagsparse
