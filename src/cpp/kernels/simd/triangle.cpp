// Substitution with the triangles of cpu/triangle.hpp, in place.
//
//   x: rows x columns, C order. Traffic in bytes: the triangle + 2 x, once each.
//
// Threads process columns, or rows that do not depend on each other. The terms of a row and their order depend on the
// triangle alone, so the result has the same bits for any number of threads.
#include "cpu/triangle.hpp"

#include <algorithm>

#include "core/compressed_rows.hpp"
#include "kernels/simd/diagonal_substitution.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

using triangles::Solve;

// ---- csr ------------------------------------------------------------------------------------------
template <class T>
struct RowSubstitution : Substitution<T> {
  using Substitution<T>::t, Substitution<T>::x, Substitution<T>::columns, Substitution<T>::inverse;
  Csr<T> a;

  RowSubstitution(const System& triangle, T* x, int64 columns)
      : Substitution<T>(triangle, x, columns), a(Csr<T>::of(triangle.matrix)) {}

  template <int K>
  [[gnu::always_inline]] void row(int64 i, int64 first) const {
    int64 begin = a.indptr[i], end = t.split[i];
    if (!t.lower) {
      begin = end, end = a.indptr[i + 1];
      if (begin < end && a.indices[begin] == i) ++begin;
    }
    this->template substitute<K>(i, first, [&](const auto& subtract) {
      for (int64 e = begin; e < end; ++e) subtract(a.values[e], a.indices[e]);
    });
  }

  void run() const {
    const int64 work = a.indptr[a.rows] + a.rows;
    if (t.order == Order::levels && columns == 1) {
      for (std::size_t level = 0; level + 1 < t.levels.size(); ++level) {
        const int64 first = t.levels[level], count = t.levels[level + 1] - first, tasks = (count + kTask - 1) / kTask;
        parallel_for(tasks, work / t.rows * count, [&](int64 task) {
          const int64 last = first + std::min(count, (task + 1) * kTask);
          for (int64 at = first + task * kTask; at < last; ++at) row<1>(t.sorted[at], 0);
        });
      }
      return;
    }
    this->for_columns(work, [&]<int K>(int64 first) {
      for (int64 q = 0; q < t.rows; ++q) row<K>(t.row(q), first);
    });
  }
};

template <class T>
void solve(const System& t, T* x, int64 columns) {
  if (t.rows == 0 || columns == 0) return;
  if (diagonals_of(*t.matrix.structure) != nullptr) DiagonalSubstitution<T>(t, x, columns).run();
  else RowSubstitution<T>(t, x, columns).run();
}

const ForEachSet<Solve<float>> of_floats(kIsa, solve<float>);
const ForEachSet<Solve<double>> of_doubles(kIsa, solve<double>);
const ForEachSet<Solve<Complex<float>>> of_complex_floats(kIsa, solve<Complex<float>>);
const ForEachSet<Solve<Complex<double>>> of_complex_doubles(kIsa, solve<Complex<double>>);

}  // namespace

}  // namespace diagsparse::DIAGSPARSE_ISA
