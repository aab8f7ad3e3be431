// Products y = alpha A x + beta y of mdia, 32 rows of A at a time, one diagonal after another: the values are
// multiplied by consecutive elements of x and added to sums in registers. Each thread processes blocks with equal work.
// If x is a matrix with contiguous rows, each value is loaded once for eight columns.
//
// Real values are expanded to their rows in registers, eight at a time. If one of the dtypes is complex, they are
// expanded in memory.
#pragma once

#include "cpu/parallel.hpp"
#include "formats/mdia/simd_rows.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

// `begin` does not count the elements of diagonals with tables, which a third of the rows are assumed to have.
template <class U>
inline int64 work_before(const Mdia<U>& a, int64 block) {
  const int64 per_diagonal = a.codings != nullptr ? kMaskRows / 3 : 1;
  return a.begin[block] + block * (kMaskRows + per_diagonal * a.diagonals);
}

// Calls visit(offset, rows, values) for each diagonal that has elements in a block.
template <class U, class F>
[[gnu::always_inline]] inline void for_each_run(const Mdia<U>& a, int64 block, const F& visit) {
  for_each_diagonal(a, block, [&](int64 d, Mask rows, const U* value) { visit(a.offsets[d], rows, value); });
}

// Whether eight values can be read from the first value of any eight rows, after a conversion to V.
template <class V, class U>
bool can_overread(const Mdia<U>& a, int64 d, const U* value) {
  return !std::is_same_v<U, V> || a.can_overread(d, value);
}

// Whether all sums of a block are finite. If not, zeros of the expansion may have been multiplied by infinities.
template <class T>
[[gnu::always_inline]] inline bool are_finite(
    const typename Row<Real<T>>::Vec (&sums)[1][kEights * Row<Real<T>>::parts]) {
  constexpr int parts = Row<Real<T>>::parts;
  Row<Real<T>> all;
#pragma GCC unroll 4
  for (int n = 0; n < parts; ++n) {
#pragma GCC unroll 4
    for (int g = 0; g < kEights; ++g) all.part[n] += sums[0][g * parts + n] * 0;
  }
  return all_zero(all);
}

template <class U, class V>
struct BlockGather {
  using T = Product<U, V>;
  static constexpr bool real = kReal<V> && !is_complex<U>;  // so that T is V

  static void run(const Mdia<U>& a, bool conj, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const int64 blocks = a.blocks(), work = work_before(a, blocks), tasks = std::min(blocks, tasks_for(work));
    const auto before = [&](int64 b) { return work_before(a, b); };
    const Update<T> update(alpha, beta);
    const bool by_rows = real && x.col_stride == 1 && x.cols > 1;
    parallel_for(tasks, work * x.cols, [&](int64 task) {
      const int64 first = border(blocks, work, tasks, task, before),
                  last = border(blocks, work, tasks, task + 1, before);
      for (int64 b = first; b < last; ++b) {
        const int64 height = std::min(kMaskRows, a.rows - kMaskRows * b);
        T* const out = y.as<T>() + kMaskRows * b * y.row_stride;
        for (int64 c = 0; by_rows && c < x.cols; c += 8) {
          alignas(64) T sums[8 * kMaskRows] = {};
          const int64 width = std::min<int64>(8, x.cols - c);
          add_rows(a, b, x.as<V>() + c, x.row_stride, width, sums);
          for (int64 r = 0; r < height; ++r) {
            for (int64 k = 0; k < width; ++k) {
              put(update, out + r * y.row_stride + (c + k) * y.col_stride, sums[8 * r + k]);
            }
          }
        }
        for (int64 c = 0; !by_rows && c < x.cols; ++c) {
          const V* const in = x.as<V>() + c * x.col_stride;
          T* const to = out + c * y.col_stride;
          if constexpr (real) {
            if (put_vectors(a, b, in, x.row_stride, update, to, y.row_stride, height)) continue;
          }
          alignas(64) T sums[kMaskRows] = {};
          if (real || !add_spread(a, b, conj, in, x.row_stride, sums)) {
            std::fill_n(sums, kMaskRows, T{});
            add_elements(a, b, conj, in, x.row_stride, sums);
          }
          for (int64 r = 0; r < height; ++r) put(update, to + r * y.row_stride, sums[r]);
        }
      }
    });
  }

 private:
  static constexpr int64 kAhead = 2048 / sizeof(U);  // prefetch distance in values
  static constexpr int parts = Row<Real<T>>::parts;
  using Vec = typename Row<Real<T>>::Vec;

  static void put(const Update<T>& update, T* out, T sum) { *out = updated(update, sum, *out); }

  // Adds the stored elements only, rounded as in vectors: a complex product is accumulated as two real multiples.
  static void add_elements(const Mdia<U>& a, int64 block, bool conj, const V* x, int64 step, T* sums) {
    constexpr bool both = is_complex<U> && is_complex<V>;
    T by_imag[kMaskRows] = {};
    for_each_run(a, block, [&](int64 offset, Mask rows, const U* value) {
      const V* const in = x + (kMaskRows * block + offset) * step;
      for_each_row(rows, [&](int i) {
        const U u = conjugate_if(conj, *value++);
        const V v = in[i * step];
        if constexpr (both) {
          add_product(sums[i], u, v.re);
          add_product(by_imag[i], u, v.im);
        } else {
          add_product(sums[i], u, v);
        }
      });
    });
    if constexpr (both) {
      for (int i = 0; i < kMaskRows; ++i) sums[i] += T{-by_imag[i].im, by_imag[i].re};
    }
  }

  // 32 consecutive elements of x, starting at any index. Those outside of x are 0.
  struct Windows {
    const V* x;
    int64 step, count;
    std::uint64_t inside = static_cast<std::uint64_t>(step == 1 ? std::max<int64>(0, count - kMaskRows + 1) : 0);
    alignas(64) V buffer[kMaskRows];

    Windows(const V* x, int64 step, int64 count) : x(x), step(step), count(count) {}
    [[gnu::always_inline]] const V* from(int64 first) {
      return static_cast<std::uint64_t>(first) < inside ? x + first : gathered(first);
    }
    [[gnu::noinline]] const V* gathered(int64 first) {
      for (int64 i = 0; i < kMaskRows; ++i) {
        buffer[i] = first + i >= 0 && first + i < count ? x[(first + i) * step] : V{};
      }
      return buffer;
    }
  };

  // Stores the products of a block with a real x. Returns false, and writes nothing, if a sum is not finite.
  [[gnu::always_inline]] static bool put_vectors(const Mdia<U>& a, int64 block, const V* x, int64 step,
                                                 const Update<T>& update, T* to, int64 to_step, int64 height) {
    alignas(64) V values_a[kMaskRows + 8];
    Windows windows(x, step, a.cols);
    Vec sums[1][kEights * parts] = {};
    const auto add_coded = [&](int64 d, Mask rows) {
      const V* const in = windows.from(kMaskRows * block + a.offsets[d]);
      for_each_coded_eight<V>(a, block, d, rows, values_a, [&](int g, const Row<T>& elements) {
        const Row<T> factors = Row<T>::at(in + 8 * g);
#pragma GCC unroll 4
        for (int n = 0; n < parts; ++n) sums[0][g * parts + n] += elements.part[n] * factors.part[n];
      });
    };
    const auto add_stored = [&](int64 d, Mask rows, const U* value) {
      const int64 offset = a.offsets[d];
      const V* const in = windows.from(kMaskRows * block + offset);
      // To all caches: what is prefetched past the L2 cache of an Intel processor takes twice as long.
      for (int line = 0; line < 4; ++line) __builtin_prefetch(value + kAhead + line * 64 / sizeof(U));
      for_each_eight(rows, rows, converted<V>(rows, value, values_a), can_overread<V>(a, d, value),
                     [&](int g, const Row<T>& elements) {
                       const Row<T> factors = Row<T>::at(in + 8 * g);
#pragma GCC unroll 4
                       for (int n = 0; n < parts; ++n) sums[0][g * parts + n] += elements.part[n] * factors.part[n];
                     });
    };
    for_each_diagonal(a, block, add_stored, add_coded);
    if (!are_finite<T>(sums)) return false;
    if (height == kMaskRows && to_step == 1) {
      DIAGSPARSE_ISA::put_vectors(update, sums, [=](int) { return to; });
    } else {
      alignas(64) T elements[kMaskRows];
      std::memcpy(elements, sums, sizeof elements);
      for (int64 r = 0; r < height; ++r) put(update, to + r * to_step, elements[r]);
    }
    return true;
  }

  // The sums of a block if one of the dtypes is complex. The values are expanded in memory. Returns false if a sum is
  // not finite.
  static bool add_spread(const Mdia<U>& a, int64 block, bool conj, const V* x, int64 step, T* sums) {
    using M = Mac<U, V>;
    constexpr int count = kMaskRows / M::step;
    typename M::Acc parts[count];
    alignas(64) U values_a[kMaskRows], looked_up[kMaskRows];
    Windows windows(x, step, a.cols);
    const auto add = [&](int64 d, const U* value) {
      const V* const in = windows.from(kMaskRows * block + a.offsets[d]);
#pragma GCC unroll 16
      for (int k = 0; k < count; ++k) M::add(parts[k], M::left(value + k * M::step), M::right(in + k * M::step));
    };
    const auto add_stored = [&](int64 d, Mask rows, const U* value) {
      if (rows == kAllRows) return add(d, value);
      std::memset(static_cast<void*>(values_a), 0, sizeof values_a);
      if constexpr (kReal<U>) {
        for_each_eight(rows, rows, value, can_overread<U>(a, d, value),
                       [&](int g, const Row<U>& elements) { elements.put(values_a + 8 * g); });
      } else {
        for_each_row(rows, [&](int i) { values_a[i] = *value++; });
      }
      add(d, values_a);
    };
    const auto add_coded = [&](int64 d, Mask rows) {
      if constexpr (kReal<U>) {
        std::memset(values_a, 0, sizeof values_a);
        for_each_coded_eight<U>(a, block, d, rows, looked_up,
                                [&](int g, const Row<U>& elements) { elements.put(values_a + 8 * g); });
      } else {
        look_up_all(a, block, d, values_a);
        for (int i = 0; rows != kAllRows && i < kMaskRows; ++i) values_a[i] = rows >> i & 1 ? values_a[i] : U{};
      }
      add(d, values_a);
    };
    for_each_diagonal(a, block, add_stored, add_coded);
    const typename M::Signs signs = M::signs(conj, false);
    for (int k = 0; k < count; ++k) store(reinterpret_cast<Real<T>*>(sums + k * M::step), M::total(parts[k], signs));
    return all_finite(sums, kMaskRows);
  }

  // The sums of a block for up to eight columns of x, whose rows are contiguous.
  static void add_rows(const Mdia<U>& a, int64 block, const V* x, int64 step, int64 width, T* sums) {
    if constexpr (real) {
      for_each_run(a, block, [&](int64 offset, Mask rows, const U* value) {
        const V* const in = x + (kMaskRows * block + offset) * step;
        for_each_row(rows, [&](int i) {
          const T factor = convert<T>(static_cast<Real<T>>(*value++));
          const V* const row = in + i * step;
          if (width == 8) {
            Row<T> sum = Row<T>::at(sums + 8 * i);
            const Row<T> row_x = Row<T>::at(row);
            for (int n = 0; n < Row<T>::parts; ++n) sum.part[n] += factor * row_x.part[n];
            sum.put(sums + 8 * i);
          } else {
            for (int64 k = 0; k < width; ++k) sums[8 * i + k] += factor * row[k];
          }
        });
      });
    }
  }
};

}  // namespace diagsparse::DIAGSPARSE_ISA
