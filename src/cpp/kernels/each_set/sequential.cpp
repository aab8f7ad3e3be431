// Kernels "sequential" of dia, hm and cdm: the plain loops over diagonals, one thread, one value at a time.
// The CPU column of the tables of Haque, Parvez and Hossain (2024), and the slow, obvious reference.
#include "core/interrupt.hpp"
#include "kernels/each_set/diagonal_kernels.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

// Asks now and then whether to go on.
class Pause {
 public:
  void after(int64 steps) {
    if ((steps_ += steps) < kUnasked) return;
    steps_ = 0;
    checkpoint();
  }

 private:
  static constexpr int64 kUnasked = 1 << 14;
  int64 steps_ = 0;
};

template <class U, class V>
struct MatvecSequential {
  using T = Product<U, V>;

  static void run(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const int64 period = a.layout().packing.period;
    const RowSums sums = row_sums(packed_spans_of(a.layout(), op), period);
    const U* values = a.values.as<U>();
    const Factor<T> scale(alpha);
    const bool plain = period == 0 && alpha == 1.0 && x.row_stride == 1 && y.row_stride == 1;
    Pause pause;
    for (int64 c = 0; c < x.cols; ++c) {
      const V* in = x.as<V>() + c * x.col_stride;
      T* out = y.as<T>() + c * y.col_stride;
      for (int64 i = 0; i < y.rows; ++i) Update<T>(0.0, beta).one(out + i * y.row_stride, T{});
      for (const Term& t : sums.terms) {
        pause.after(t.last - t.first);
        const bool conj = op.conjugated != t.conjugated;
        if (plain && !(is_complex<U> && conj)) {  // the common case as a loop of its own
          for (int64 i = t.first; i < t.last; ++i) out[i] += multiply(values[t.u + i], in[t.v + i]);
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
    const U* u = a.values.as<U>();
    const V* v = b.values.as<V>();
    T* out = c.values.as<T>();
    const Factor<T> scale(alpha);
    const bool plain = alpha == 1.0 && !plan.op_a.conjugated && !plan.op_b.conjugated;
    const Sums& sums = sums_of(plan);
    Pause pause;
    std::vector<Term> room;
    for (const Sum& s : sums.sums) {
      for (int64 i = s.first; i < s.last; ++i) Update<T>(0.0, beta).one(out + s.out + i, T{});
      const auto [begin, end] = sums.terms_of(s, s.first, s.last, room);
      for (const Term* t = begin; t < end; ++t) {
        const Term& term = *t;
        pause.after(term.last - term.first);
        if (plain) {
          for (int64 i = term.first; i < term.last; ++i) out[s.out + i] += multiply(u[term.u + i], v[term.v + i]);
          continue;
        }
        for (int64 i = term.first; i < term.last; ++i) {
          out[s.out + i] += scale * multiply(conjugate_if(plan.op_a.conjugated, u[term.u + i]),
                                             conjugate_if(plan.op_b.conjugated, v[term.v + i]));
        }
      }
    }
  }
};

}  // namespace

Typed<MatvecKernel> matvec_sequential() { return every_stored_pair<MatvecSequential, MatvecKernel>(); }
Typed<MatmulKernel> matmul_sequential() { return every_pair<MatmulSequential, MatmulKernel>(); }

}  // namespace diagsparse::DIAGSPARSE_ISA
