// Rows of products of matrices of quaternions with vectors, for a list of diagonals (core/quaternions.hpp).
//
// One vector: a register holds the components of one or several rows of x, which are neighbours in memory. The
// components of the elements of these rows are spread over the lanes, (q0 q0 q0 q0 q0' q0' q0' q0'), ..., and
// multiplied by it. Several vectors: a register holds quaternions of one row of x, and all lanes the component of one
// element.
//
// Since k = i j = -j i, the sums of q x are those of q0 x + q1 (i x) and, with j on the left, of q2 x - q3 (i x). So
// each register of x has two sums, and needs to be permuted once. x q is the same with other signs.
#pragma once

#include <algorithm>

#include "core/quaternions.hpp"
#include "core/sums.hpp"
#include "kernels/simd/stream.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

// How rows are written: as they are, past the caches, or added to those that are there.
enum class Writing { stored, streamed, added };

template <class U, class R>
class QuaternionRows {
  using A = Complex<U>;
  static constexpr int lanes = std::max(4, kVectorBytes / static_cast<int>(sizeof(R)));
  static constexpr int N = kVectorBytes == 64 ? 8 : 4;  // vectors at a time: each of them has two sums

 public:
  static constexpr int step = lanes / 4;  // rows in a vector

  // ahead: distance in bytes at which values are prefetched.
  QuaternionRows(const QuaternionSigns& signs, const Dense& x, int64 ahead)
      : x_(x.as<R>()), width_(x.cols), ahead_(ahead) {
    for (int l = 0; l < lanes; ++l) {
      const int c = l % 4;
      by_i_[l] = static_cast<R>(signs(1, c));
      by_j_[l] = static_cast<R>(signs(2, c));
      by_k_[l] = static_cast<R>(signs(3, c ^ 2) * signs(2, c ^ 2));  // lane c contributes to component c ^ 2
    }
  }

  // The rows [first, last) of the sum over these terms of A and B, all of which cover them; y begins with row `first`.
  void sum(const A* a, const A* b, const Term* begin, const Term* end, int64 first, int64 last, R* y,
           Writing how) const {
    if (width_ > 4) {
      // Otherwise some rows do not begin where a vector can be written past the caches.
      if (how == Writing::streamed && width_ % lanes != 0) how = Writing::stored;
      for (int64 i = first; i < last; ++i, y += width_) {
        int64 c = 0;
        for (; c + lanes <= width_; c += lanes) tile<lanes, 1, true>(a, b, begin, end, i, c, y + c, how);
        for (; c < width_; c += 4) tile<4, 1, true>(a, b, begin, end, i, c, y + c, how);
      }
      return;
    }
    int64 i = first;
    const auto one_row = [&] {
      tile<4, 1, true>(a, b, begin, end, i++, 0, y, how == Writing::added ? how : Writing::stored);
      y += 4;
    };
    while (how == Writing::streamed && i < last && reinterpret_cast<std::uintptr_t>(y) % kVectorBytes != 0) one_row();
    for (; i + N * step <= last; i += N * step, y += N * lanes) tile<lanes, N, false>(a, b, begin, end, i, 0, y, how);
    for (; i + step <= last; i += step, y += lanes) tile<lanes, 1, false>(a, b, begin, end, i, 0, y, how);
    while (i < last) one_row();
  }

 private:
  // N vectors of row i and the rows behind it, from column c on, to `y`.
  template <int Lanes, int N, bool OneRow>
  [[gnu::always_inline]] void tile(const A* a, const A* b, const Term* begin, const Term* end, int64 i, int64 c, R* y,
                                   Writing how) const {
    using Vec = Vector<R, Lanes>;
    Vec sums[N][2] = {};
    const Vec by_i = load<R, Lanes>(by_i_), by_k = load<R, Lanes>(by_k_);
    constexpr std::make_index_sequence<Lanes> index;
    for (const Term* t = begin; t < end; ++t) {
      const A *const of_a = a + (t->u + i), *const of_b = b + (t->u + i);
      const R* const x = x_ + (t->v + i) * width_ + c;
      if constexpr (!OneRow) {
        for (int64 line = 0; line < static_cast<int64>(N * step * sizeof(A)); line += 64) {
          __builtin_prefetch(reinterpret_cast<const char*>(of_a) + ahead_ + line);
          __builtin_prefetch(reinterpret_cast<const char*>(of_b) + ahead_ + line);
        }
      }
#pragma GCC unroll 8
      for (int j = 0; j < N; ++j) {
        const Vec v = load<R, Lanes>(x + j * Lanes);
        const int64 row = OneRow ? 0 : j * step;
        const Vec w = permuted<1>(v, index);
        sums[j][0] += component<Lanes, OneRow, 0>(of_a + row) * v;
        sums[j][0] += component<Lanes, OneRow, 1>(of_a + row) * (by_i * w);
        sums[j][1] += component<Lanes, OneRow, 0>(of_b + row) * v;
        sums[j][1] += component<Lanes, OneRow, 1>(of_b + row) * (by_k * w);
      }
    }
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j) {
      put<Lanes>(sums[j][0] + load<R, Lanes>(by_j_) * permuted<2>(sums[j][1], index), y + j * Lanes, how);
    }
  }

  // The real (Part = 0) or imaginary parts of consecutive values, each of them four times; or of one value, in all
  // lanes.
  template <int Lanes, bool OneRow, int Part>
  [[gnu::always_inline]] static Vector<R, Lanes> component(const A* values) {
    const auto* const parts = reinterpret_cast<const U*>(values);
    if constexpr (OneRow || Lanes == 4) return static_cast<R>(parts[Part]) - Vector<R, Lanes>{};
    else return spread<Part>(load_as<R, Lanes / 2>(parts), std::make_index_sequence<Lanes>{});
  }
  template <int Part, class V, std::size_t... I>
  [[gnu::always_inline]] static Vector<R, sizeof...(I)> spread(V v, std::index_sequence<I...>) {
    return __builtin_shufflevector(v, v, static_cast<int>(I / 4 * 2 + Part)...);
  }

  template <int K, class V, std::size_t... I>
  [[gnu::always_inline]] static V permuted(V v, std::index_sequence<I...>) {
    return __builtin_shufflevector(v, v, static_cast<int>(I ^ K)...);
  }

  template <int Lanes>
  [[gnu::always_inline]] static void put(Vector<R, Lanes> v, R* to, Writing how) {
    if (how == Writing::added) v += load<R, Lanes>(to);
    if constexpr (Lanes * sizeof(R) == kVectorBytes) {
      if (how == Writing::streamed) return stream(to, v);
    }
    store(to, v);
  }

  const R* x_;
  int64 width_;  // of a row of x and y
  int64 ahead_;
  alignas(64) R by_i_[lanes], by_j_[lanes], by_k_[lanes];  // signs
};

}  // namespace diagsparse::DIAGSPARSE_ISA
