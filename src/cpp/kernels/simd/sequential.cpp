// Kernels "sequential" of dia, hm and cdm: plain loops over diagonals, on one thread, one value at a time. They provide
// the CPU column of the tables of Haque, Parvez and Hossain (2024), and a slow but simple reference.
#include <algorithm>

#include "core/interrupt.hpp"
#include "kernels/simd/diagonal_kernels.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

// Checks for interrupts from time to time.
class InterruptCheck {
 public:
  void after(int64 steps) {
    if ((steps_ += steps) < kPerCheckpoint) return;
    steps_ = 0;
    checkpoint();
  }

 private:
  static constexpr int64 kPerCheckpoint = 1 << 14;
  int64 steps_ = 0;
};

// out = beta out; out is not read if beta = 0.
template <class T>
void begin_sums(Scalar beta, T* out, int64 count) {
  const Update<T> update(0.0, beta);
  if (!update.reads) std::fill_n(out, count, T{});
  for (int64 i = 0; update.reads && i < count; ++i) update.one(out + i, T{});
}

// out[i] += scale * u[i] v[i] for first <= i < last. Only a factor of 1 has loops without branches.
template <class U, class V, class T>
void add_products(const Factor<T>& scale, const U* u, bool conj_u, const V* v, bool conj_v, T* out, int64 first,
                  int64 last) {
  const auto product = [=](int64 i) { return multiply(conjugate_if(conj_u, u[i]), conjugate_if(conj_v, v[i])); };
  if (!scale.one()) {
    for (int64 i = first; i < last; ++i) out[i] += scale * product(i);
  } else if (is_complex<T> && (conj_u || conj_v)) {
    for (int64 i = first; i < last; ++i) out[i] += product(i);
  } else {
    for (int64 i = first; i < last; ++i) out[i] += multiply(u[i], v[i]);
  }
}

template <class U, class V>
struct MatvecSequential {
  using T = Product<U, V>;

  static void run(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const int64 period = a.layout().packing.period;
    const RowSums sums = row_sums(packed_spans_of(a.layout(), op), period);
    const U* values = a.values.as<U>();
    const Factor<T> scale(alpha);
    const bool contiguous = period == 0 && x.row_stride == 1 && y.row_stride == 1;
    InterruptCheck interrupt_check;
    for (int64 c = 0; c < x.cols; ++c) {
      const V* in = x.as<V>() + c * x.col_stride;
      T* out = y.as<T>() + c * y.col_stride;
      if (y.row_stride == 1) begin_sums(beta, out, y.rows);
      else
        for (int64 i = 0; i < y.rows; ++i) begin_sums(beta, out + i * y.row_stride, 1);
      for (const Term& t : sums.terms) {
        interrupt_check.after(t.last - t.first);
        const bool conj = op.conjugated != t.conjugated;
        if (contiguous) {
          add_products(scale, values + t.u, conj, in + t.v, false, out, t.first, t.last);
          continue;
        }
        for (int64 i = t.first; i < t.last; ++i) {
          const U value = values[t.u + (period > 0 ? (t.shift + i) % period : i)];
          out[i * y.row_stride] += scale * multiply(conjugate_if(conj, value), in[(t.v + i) * x.row_stride]);
        }
      }
    }
  }
};

template <class U, class V>
struct MatmulSequential {
  using T = Product<U, V>;

  static void run(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
    const DiagonalWork& work = diagonal_work(plan);
    T* out = c.values.as<T>();
    add(work.sums, a, plan.op_a, b, plan.op_b, alpha, beta, out);
    if (!work.other_order) return;
    const Scalar factor = work.subtracted ? -alpha : alpha;
    MatmulSequential<V, U>::add(*work.other_order, b, plan.op_b, a, plan.op_a, factor, 1.0, out);
  }

  static void add(const Sums& sums, const Matrix& a, Op op_a, const Matrix& b, Op op_b, Scalar alpha, Scalar beta,
                  T* out) {
    const U* u = a.values.as<U>();
    const V* v = b.values.as<V>();
    const Factor<T> scale(alpha);
    InterruptCheck interrupt_check;
    std::vector<Term> buffer;
    for (const Sum& s : sums.sums) {
      begin_sums(beta, out + s.out + s.first, s.last - s.first);
      const auto [begin, end] = sums.terms_of(s, s.first, s.last, buffer);
      for (const Term* t = begin; t < end; ++t) {
        const Term& term = *t;
        interrupt_check.after(term.last - term.first);
        add_products(scale, u + term.u, op_a.conjugated, v + term.v, op_b.conjugated, out + s.out, term.first,
                     term.last);
      }
    }
  }
};

}  // namespace

Typed<MatvecKernel> matvec_sequential() { return every_stored_pair<MatvecSequential, MatvecKernel>(); }
Typed<MatmulKernel> matmul_sequential() { return every_pair<MatmulSequential, MatmulKernel>(); }

}  // namespace diagsparse::DIAGSPARSE_ISA
