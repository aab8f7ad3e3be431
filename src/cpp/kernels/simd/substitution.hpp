// Substitution with a triangle, a row at a time: what the kernels for rows (triangle.cpp) and for diagonals
// (diagonal_substitution.hpp) have in common.
#pragma once

#include <algorithm>

#include "cpu/parallel.hpp"
#include "cpu/triangle.hpp"
#include "kernels/simd/vec.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

using triangles::System;

constexpr int64 kColumns = 8;  // columns of a task
constexpr int64 kTask = 4096;  // independent rows in a task

template <class T>
T negative(T v) {
  if constexpr (is_complex<T>) return {-v.re, -v.im};
  else return -v;
}

// sum -= a x
template <class T>
[[gnu::always_inline]] inline void subtract_product(T& sum, T a, T x) {
  add_product(sum, negative(a), x);
}

template <class T>
struct Substitution {
  const System& t;
  const T* values;
  const T* inverse;  // null if the main diagonal is 1
  T* x;
  int64 columns;

  Substitution(const System& triangle, T* x, int64 columns)
      : t(triangle),
        values(triangle.matrix.values.as<T>()),
        inverse(triangle.inverse.size() ? triangle.inverse.as<T>() : nullptr),
        x(x),
        columns(columns) {}

  // Calls f.template operator()<K>(first) for groups of K columns from `first` on.
  template <class F>
  void for_columns(int64 work, const F& f) const {
    const int64 tasks = (columns + kColumns - 1) / kColumns;
    parallel_for(tasks, work * columns, [&](int64 task) {
      int64 c = task * kColumns;
      const int64 last = std::min(columns, c + kColumns);
      if (last - c == kColumns) return f.template operator()<kColumns>(c);
      for (; c + 4 <= last; c += 4) f.template operator()<4>(c);
      for (; c + 2 <= last; c += 2) f.template operator()<2>(c);
      if (c < last) f.template operator()<1>(c);
    });
  }

  // Row i of K columns: x[i] = (x[i] - sum of a x[j]) / pivot, where terms(f) calls f(a, j) for each term.
  template <int K, class Terms>
  [[gnu::always_inline]] void substitute(int64 i, int64 first, const Terms& terms) const {
    T* const to = x + i * columns + first;
    T sum[K];
    for (int c = 0; c < K; ++c) sum[c] = to[c];
    terms([&](T a, int64 j) {
      const T* const from = x + j * columns + first;
      a = negative(a);
      for (int c = 0; c < K; ++c) add_product(sum[c], a, from[c]);
    });
    for (int c = 0; c < K; ++c) to[c] = inverse ? product(inverse[i], sum[c]) : sum[c];
  }
};

}  // namespace diagsparse::DIAGSPARSE_ISA
