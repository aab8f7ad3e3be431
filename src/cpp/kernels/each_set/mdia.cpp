// The kernels of mdia on the CPU.
#include "formats/mdia.hpp"

#include <algorithm>

#include "core/hollow_products.hpp"
#include "cpu/hollow.hpp"
#include "cpu/parallel.hpp"
#include "kernels/each_set/spread.hpp"
#include "kernels/scatter.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

constexpr int kEights = kMaskRows / 8;

// Which of up to 32 masks have rows: found for all of them at once, since nobody foresees the next one.
[[gnu::always_inline]] inline std::uint32_t used_of(const Mask* masks, int count) {
  std::uint32_t used = 0;
  int d = 0;
#if defined(__AVX512F__)
  for (; d < count; d += 16) {
    const auto inside = static_cast<__mmask16>(first_rows(count - d));
    const __m512i some = _mm512_maskz_loadu_epi32(inside, masks + d);
    used |= static_cast<std::uint32_t>(_mm512_test_epi32_mask(some, some)) << d;
  }
#elif defined(__AVX2__)
  for (; d + 8 <= count; d += 8) {
    const __m256i some = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(masks + d));
    const __m256i none = _mm256_cmpeq_epi32(some, _mm256_setzero_si256());
    used |= static_cast<std::uint32_t>(~_mm256_movemask_ps(_mm256_castsi256_ps(none)) & 255) << d;
  }
#endif
  for (; d < count; ++d) used |= static_cast<std::uint32_t>(masks[d] != 0) << d;
  return used;
}

// Calls f(g, values of these eight rows) for each eight rows of a mask of which some are in `needed`; those that are
// not in the mask are 0. Enough: eight values may be read from any of its own on.
template <class T, class F>
[[gnu::always_inline]] inline void each_eight(Mask rows, Mask needed, const T* value, bool enough, const F& f) {
  if (rows == kAllRows) {
#pragma GCC unroll 4
    for (int g = 0; g < kEights; ++g) f(g, Row<T>::at(value + 8 * g));
    return;
  }
#pragma GCC unroll 4
  for (int g = 0; g < kEights; ++g) {
    const unsigned set = rows >> 8 * g & 255;
    if ((set & needed >> 8 * g) == 0) continue;
    f(g, spread(set, value + std::popcount(rows & first_rows(8 * g)), enough));
  }
}

// The values of a mask in the type V.
template <class V, class U>
[[gnu::always_inline]] inline const V* in_type(Mask rows, const U* values, V* room) {
  if constexpr (std::is_same_v<U, V>) {
    return values;
  } else {
    const int count = std::popcount(rows);
    if (count >= Row<V>::lanes) return widened(values, count, room);
    for (int k = 0; k < count; ++k) room[k] = convert<V>(static_cast<Real<V>>(values[k]));
    return room;
  }
}

// ---- Products with vectors ------------------------------------------------------------------------------
// Kernel "block" of y = alpha op(A) x + beta y: 32 rows of A at a time, and of them one diagonal after another. Real
// values are spread to their rows, eight at a time.
// op = N: they are multiplied by neighbouring elements of x and added to sums in registers; threads take blocks with
//         equal work. Blocks x whose rows are contiguous take each value once for eight columns.
// op = T: they are multiplied by the elements of x of their rows, and added to neighbouring elements of y
//         (kernels/scatter.hpp).
// One half: both of it, so that A is read once.
template <class U, class V>
struct BlockMatvec {
  using T = Product<U, V>;
  static constexpr bool real = kReal<V> && !is_complex<U>;  // so that T is V

  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const auto a = Mdia<U>::of(m);
    if (in_order(*m.structure, op)) return gather(a, op.conjugated, alpha, x, beta, y);
    const Symmetry symmetry = m.structure->symmetry();
    const bool mirrored = symmetry != Symmetry::none;
    const bool hermitian = symmetry == Symmetry::hermitian;  // its transpose is its conjugate
    const auto cut = [&](int64 pieces, int64 k) {
      return border(a.blocks(), work_before(a, a.blocks()), pieces, k, [&](int64 b) { return work_before(a, b); });
    };
    const auto walk = [&](int64 begin, int64 end, const auto& take) {
      for (int64 b = begin; b < end; ++b) {
        if ((b - begin) % kUnasked == kUnasked - 1) checkpoint();
        each_run(a, b, [&](int64 offset, Mask rows, const U* value) {
          each_row_of(rows, [&](int i) {
            const int64 row = kMaskRows * b + i;
            if (mirrored) take(row + offset)(row, *value);
            if (!mirrored || offset != 0) take(row)(row + offset, conjugate_if(hermitian, *value));
            ++value;
          });
        });
      }
    };
    const bool conj = op.conjugated != (hermitian && op.transposed);
    if constexpr (real) {
      const auto add = [&](int64 begin, int64 end, const V* in, T* to) {
        for (int64 b = begin; b < end; ++b) {
          if ((b - begin) % kUnasked == kUnasked - 1) checkpoint();
          mirrored ? add_block<true>(a, b, in, to) : add_block<false>(a, b, in, to);
        }
      };
      scatter<U, V>(m, conj, alpha, x, beta, y, cut, walk, kAround, add);
    } else {
      scatter<U, V>(m, conj, alpha, x, beta, y, cut, walk, kAround);
    }
  }

 private:
  static constexpr int64 kUnasked = 1 << 12;  // blocks between two questions whether to go on
  static constexpr int64 kAround = 7;         // of eight elements of y one at least has an entry

  static int64 work_before(const Mdia<U>& a, int64 block) { return a.begin[block] + block * (kMaskRows + a.diagonals); }

  // Calls take(offset, rows, values) for each diagonal that has elements in a block.
  template <class F>
  [[gnu::always_inline]] static void each_run(const Mdia<U>& a, int64 block, const F& take) {
    const Mask* const masks = a.mask + block * a.diagonals;
    const U* value = a.values + a.begin[block];
    for (int64 first = 0; first < a.diagonals; first += kMaskRows) {
      const int count = static_cast<int>(std::min(kMaskRows, a.diagonals - first));
      each_row_of(used_of(masks + first, count), [&](int d) {
        const Mask rows = masks[first + d];
        take(a.offsets[first + d], rows, value);
        value += std::popcount(rows);
      });
    }
  }

  static bool enough(const Mdia<U>& a, const U* value) {
    return !std::is_same_v<U, V> || value - a.values <= a.ample();
  }

  static void gather(const Mdia<U>& a, bool conj, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
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
              update.one(out + r * y.row_stride + (c + k) * y.col_stride, sums[8 * r + k]);
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
          for (int64 r = 0; r < height; ++r) update.one(to + r * y.row_stride, sums[r]);
        }
      }
    });
  }

  static void add_elements(const Mdia<U>& a, int64 block, bool conj, const V* x, int64 step, T* sums) {
    each_run(a, block, [&](int64 offset, Mask rows, const U* value) {
      const V* const in = x + (kMaskRows * block + offset) * step;
      each_row_of(rows, [&](int i) { sums[i] += multiply(conjugate_if(conj, *value++), in[i * step]); });
    });
  }

  // 32 elements of x, in `room`; those beyond it are 0.
  [[gnu::noinline]] static const V* gathered(const V* x, int64 step, int64 first, int64 count, V* room) {
    for (int64 i = 0; i < kMaskRows; ++i) {
      room[i] = first + i >= 0 && first + i < count ? x[(first + i) * step] : V{};
    }
    return room;
  }

  static constexpr int parts = Row<Real<T>>::parts;
  using Vec = typename Row<Real<T>>::Vec;

  // Whether sums are finite; zeros may have met an infinity where they are not.
  [[gnu::always_inline]] static bool are_finite(const Vec (&sums)[1][kEights * parts]) {
    Row<Real<T>> all;
#pragma GCC unroll 4
    for (int n = 0; n < parts; ++n) {
#pragma GCC unroll 4
      for (int g = 0; g < kEights; ++g) all.part[n] += sums[0][g * parts + n] * 0;
    }
    return is_nothing(all);
  }

  // False, and nothing is written, where a sum is not finite.
  [[gnu::always_inline]] static bool put_vectors(const Mdia<U>& a, int64 block, const V* x, int64 step,
                                                 const Update<T>& update, T* to, int64 to_step, int64 height) {
    alignas(64) V of_x[kMaskRows], of_a[kMaskRows + 8];
    Vec sums[1][kEights * parts] = {};
    const int64 row = kMaskRows * block;
    const auto windows = static_cast<std::uint64_t>(step == 1 ? std::max<int64>(0, a.cols - kMaskRows + 1) : 0);
    each_run(a, block, [&](int64 offset, Mask rows, const U* value) {
      const int64 first = row + offset;
      const V* in = x + first;  // 32 of them lie in x, side by side
      if (static_cast<std::uint64_t>(first) >= windows) [[unlikely]]
        in = gathered(x, step, first, a.cols, of_x);
      each_eight(rows, rows, in_type<V>(rows, value, of_a), enough(a, value), [&](int g, const Row<T>& some) {
        const Row<T> factors = Row<T>::at(in + 8 * g);
#pragma GCC unroll 4
        for (int n = 0; n < parts; ++n) sums[0][g * parts + n] += some.part[n] * factors.part[n];
      });
    });
    if (!are_finite(sums)) return false;
    if (height == kMaskRows && to_step == 1) {
      DIAGSPARSE_ISA::put_vectors(update, sums, [=](int) { return to; });
    } else {
      alignas(64) T some[kMaskRows];
      std::memcpy(some, sums, sizeof some);
      for (int64 r = 0; r < height; ++r) update.one(to + r * to_step, some[r]);
    }
    return true;
  }

  // The sums of a block where one type is complex: its values are spread in memory. False where one is not finite.
  static bool add_spread(const Mdia<U>& a, int64 block, bool conj, const V* x, int64 step, T* sums) {
    using M = Mac<U, V>;
    constexpr int count = kMaskRows / M::step;
    typename M::Acc parts[count];
    alignas(64) V of_x[kMaskRows];
    alignas(64) U of_a[kMaskRows];
    const int64 row = kMaskRows * block;
    const auto windows = static_cast<std::uint64_t>(step == 1 ? std::max<int64>(0, a.cols - kMaskRows + 1) : 0);
    each_run(a, block, [&](int64 offset, Mask rows, const U* value) {
      const int64 first = row + offset;
      const V* in = x + first;
      if (static_cast<std::uint64_t>(first) >= windows) [[unlikely]]
        in = gathered(x, step, first, a.cols, of_x);
      if (rows != kAllRows) {
        std::memset(static_cast<void*>(of_a), 0, sizeof of_a);
        each_row_of(rows, [&](int i) { of_a[i] = *value++; });
        value = of_a;
      }
#pragma GCC unroll 16
      for (int k = 0; k < count; ++k) M::add(parts[k], M::left(value + k * M::step), M::right(in + k * M::step));
    });
    const typename M::Signs signs = M::signs(conj, false);
    for (int k = 0; k < count; ++k) store(reinterpret_cast<Real<T>*>(sums + k * M::step), M::total(parts[k], signs));
    return all_finite(sums, kMaskRows);
  }

  // y += A^T x of one block of A or, where it is one half, A x.
  template <bool Mirrored>
  static void add_block(const Mdia<U>& a, int64 block, const V* x, T* y) {
    alignas(64) V of_a[kMaskRows + 8];
    const int64 row = kMaskRows * block;
    const bool whole = row + kMaskRows <= a.rows && all_finite(x + row, kMaskRows);
    Vec sums[1][kEights * parts] = {};
    Mask any = 0;
    each_run(a, block, [&](int64 offset, Mask rows, const U* value) {
      const int64 first = row + offset;
      const bool image = !Mirrored || offset != 0;
      any |= rows;
      if (!whole || first < 0 || first + kMaskRows > a.cols) {
        each_row_of(rows, [&](int i) {
          if (Mirrored) y[row + i] += multiply(*value, x[first + i]);
          if (image) y[first + i] += multiply(*value, x[row + i]);
          ++value;
        });
        return;
      }
      each_eight(rows, rows, in_type<V>(rows, value, of_a), enough(a, value), [&](int g, const Row<T>& some) {
        if constexpr (Mirrored) {
          const Row<T> factors = Row<T>::at(x + first + 8 * g);
#pragma GCC unroll 4
          for (int n = 0; n < parts; ++n) sums[0][g * parts + n] += some.part[n] * factors.part[n];
          if (!image) return;
        }
        const Row<T> factors = Row<T>::at(x + row + 8 * g);
        Row<T> out = Row<T>::at(y + first + 8 * g);
#pragma GCC unroll 4
        for (int n = 0; n < parts; ++n) out.part[n] += some.part[n] * factors.part[n];
        out.put(y + first + 8 * g);
      });
    });
    if (!Mirrored) return;
    alignas(64) T some[kMaskRows];
    std::memcpy(some, sums, sizeof some);
    if (!are_finite(sums)) {  // the same from what is stored alone
      std::fill_n(some, kMaskRows, T{});
      each_run(a, block, [&](int64 offset, Mask rows, const U* value) {
        const int64 first = row + offset;
        if (first < 0 || first + kMaskRows > a.cols) return;
        each_row_of(rows, [&](int i) { some[i] += multiply(*value++, x[first + i]); });
      });
    }
    each_row_of(any, [&](int i) { y[row + i] += some[i]; });  // others may be another thread's
  }

  // Up to eight columns of x, whose rows are contiguous.
  static void add_rows(const Mdia<U>& a, int64 block, const V* x, int64 step, int64 width, T* sums) {
    if constexpr (real) {
      each_run(a, block, [&](int64 offset, Mask rows, const U* value) {
        const V* const in = x + (kMaskRows * block + offset) * step;
        each_row_of(rows, [&](int i) {
          const T factor = convert<T>(static_cast<Real<T>>(*value++));
          const V* const row = in + i * step;
          if (width == 8) {
            Row<T> sum = Row<T>::at(sums + 8 * i);
            const Row<T> of_x = Row<T>::at(row);
            for (int n = 0; n < Row<T>::parts; ++n) sum.part[n] += factor * of_x.part[n];
            sum.put(sums + 8 * i);
          } else {
            for (int64 k = 0; k < width; ++k) sums[8 * i + k] += factor * row[k];
          }
        });
      });
    }
  }
};

// ---- Products of hollow diagonals -----------------------------------------------------------------------
// Kernel "block" of C = alpha op(A) op(B) + beta C: 32 rows of C at a time, with sums for each of its diagonals that
// has elements there. Each diagonal of A is spread to its rows, and multiplied by 32 rows of each of B's that it meets,
// in the order of A's offsets; what B has there lies in one or two of its blocks, which are read in order. Threads take
// blocks of C with equal work. Zeros that are multiplied so leave a sum as it is, but not beside an infinity: then the
// block is summed again, from what is stored alone.
template <class U, class V>
struct BlockMatmul {
  using T = Product<U, V>;
  static constexpr bool real = kReal<V> && kReal<U>;  // so that T is V

  static void run(const Plan& plan, const Matrix& left, const Matrix& right, Scalar alpha, Scalar beta, Matrix& out) {
    const BlockMatmul product{hollow_work(plan), {left, plan.op_a}, {right, plan.op_b}};
    const auto c = Mdia<T>::of(out);
    const int64 blocks = c.blocks(), each = static_cast<int64>(product.work.to.size());
    const int64 work = 4 * c.count() + blocks * each, tasks = std::min(blocks, tasks_for(work));
    const auto before = [&](int64 b) { return 4 * c.begin[b] + b * each; };
    const Update<T> update(alpha, beta);
    const bool real_first = is_complex<T> && real_diagonal_first(plan);
    parallel_for(tasks, work, [&](int64 task) {
      const int64 first = border(blocks, work, tasks, task, before),
                  last = border(blocks, work, tasks, task + 1, before);
      Room room(product.a.diagonals.size(), c.diagonals);
      for (int64 b = first; b < last; ++b) {
        const Mask* const masks = c.mask + b * c.diagonals;
        std::size_t used = 0;
        for (int64 d = 0; d < c.diagonals; ++d) {
          room.slot[d] = used;
          used += masks[d] != 0;
        }
        room.sums.assign(kMaskRows * used, T{});
        product.spread_a(b, room);
        product.template add<real>(b, room);
        T *const to = out.values.as<T>() + c.begin[b], *const end = out.values.as<T>() + c.begin[b + 1];
        if constexpr (real) {
          if (update.plain && put_rows(masks, c.diagonals, room.sums.data(), to, end)) continue;
          if (!all_finite(room.sums.data(), room.sums.size())) {
            std::ranges::fill(room.sums, T{});
            product.template add<false>(b, room);
          }
        }
        if constexpr (is_complex<T>) {
          for (int64 i = 0; real_first && masks[0] != 0 && i < kMaskRows; ++i) room.sums[i].im = 0;
        }
        put(masks, c.diagonals, room.sums.data(), update, to);
      }
    });
  }

  const HollowWork& work;
  HollowOperand<U> a;
  HollowOperand<V> b;

 private:
  // What a thread has of a block: 32 rows of each diagonal of A, and sums for each of C that has elements there.
  struct Room {
    std::vector<T> of_a, sums;
    std::vector<Mask> rows_of_a;
    std::vector<std::size_t> slot;  // of a diagonal of C among those with elements

    Room(std::size_t of_a, std::size_t of_c) : of_a(kMaskRows * of_a), rows_of_a(of_a), slot(of_c) {}
  };

  // Calls take(i, rows, values) for what 32 rows of an operand from `row` on have: once or twice for a diagonal.
  template <class S, class F>
  [[gnu::always_inline]] static void each_run(const HollowOperand<S>& m, int64 row, const F& take) {
    const auto turned = static_cast<std::size_t>(m.turned());
    for (std::size_t i = 0; i < turned; ++i) {
      m.runs(m.diagonals[i], row, [&](Mask rows, const S* value) { take(i, rows, value); });
    }
    if (turned == m.diagonals.size()) return;
    const int64 block = row >> kMaskShift, shift = row & (kMaskRows - 1);
    const auto walk = [&](int64 at, const auto& some) {
      if (at < 0 || at >= m.a.blocks()) return;
      const Mask* const masks = m.a.mask + at * m.a.diagonals;
      const S* value = m.a.values + m.a.begin[at];
      for (int64 first = 0; first < m.a.diagonals; first += kMaskRows) {
        const int count = static_cast<int>(std::min(kMaskRows, m.a.diagonals - first));
        each_row_of(used_of(masks + first, count), [&](int d) {
          some(turned + first + d, masks[first + d], value);
          value += std::popcount(masks[first + d]);
        });
      }
    };
    if (shift == 0) return walk(block, take);
    walk(block, [&](std::size_t i, Mask rows, const S* value) {
      if (rows >> shift) take(i, rows >> shift, value + std::popcount(rows & first_rows(shift)));
    });
    walk(block + 1, [&](std::size_t i, Mask rows, const S* value) {
      if (rows << (kMaskRows - shift)) take(i, rows << (kMaskRows - shift), value);
    });
  }

  void spread_a(int64 block, Room& room) const {
    std::ranges::fill(room.rows_of_a, 0);
    each_run(a, kMaskRows * block, [&](std::size_t i, Mask rows, const U* value) {
      T* const to = room.of_a.data() + kMaskRows * i;
      if (room.rows_of_a[i] == 0) std::fill_n(to, kMaskRows, T{});
      room.rows_of_a[i] |= rows;
      const bool conj = a.diagonals[i].conjugated;
      each_row_of(rows, [&](int r) { to[r] = convert<T>(conjugate_if(conj, *value++)); });
    });
  }

  template <bool Vectors>
  void add(int64 block, Room& room) const {
    const int64 ample = b.a.ample();
    for (std::size_t i = 0; i < a.diagonals.size(); ++i) {
      const Mask rows_of_a = room.rows_of_a[i];
      if (rows_of_a == 0) continue;
      const T* const of_a = room.of_a.data() + kMaskRows * i;
      const std::int32_t* const targets = work.to.data() + i * b.diagonals.size();
      each_run(b, kMaskRows * block + a.diagonals[i].offset, [&](std::size_t j, Mask rows, const V* value) {
        if ((rows & rows_of_a) == 0 || targets[j] < 0) return;
        T* const to = room.sums.data() + kMaskRows * room.slot[targets[j]];
        if constexpr (Vectors) {
          each_eight(rows, rows_of_a, value, value - b.a.values <= ample, [&](int g, const Row<T>& factors) {
            const Row<T> mine = Row<T>::at(of_a + 8 * g);
            Row<T> sum = Row<T>::at(to + 8 * g);
            for (int n = 0; n < Row<T>::parts; ++n) sum.part[n] += mine.part[n] * factors.part[n];
            sum.put(to + 8 * g);
          });
        } else {
          const bool conj = b.diagonals[j].conjugated;
          each_row_of(rows, [&](int r) {
            const V factor = conjugate_if(conj, *value++);
            if (rows_of_a >> r & 1) to[r] += multiply(of_a[r], factor);
          });
        }
      });
    }
  }

  // The sums of a block's diagonals, those with elements, to where they belong.
  static void put(const Mask* masks, int64 diagonals, const T* sums, const Update<T>& update, T* to) {
    for (int64 d = 0; d < diagonals; ++d) {
      if (masks[d] == 0) continue;
      each_row_of(masks[d], [&](int i) { update.one(to++, sums[i]); });
      sums += kMaskRows;
    }
  }

  // The same for alpha = 1 and beta = 0, up to `end`. False where a sum is not finite: all are to be put again.
  static bool put_rows(const Mask* masks, int64 diagonals, const T* sums, T* to, const T* end) {
    Row<T> all;
    for (int64 d = 0; d < diagonals; ++d) {
      if (masks[d] == 0) continue;
#pragma GCC unroll 4
      for (int g = 0; g < kEights; ++g) {
        const unsigned set = masks[d] >> 8 * g & 255;
        const Row<T> row = Row<T>::at(sums + 8 * g);
        for (int n = 0; n < Row<T>::parts; ++n) all.part[n] += row.part[n] * 0;
        pack(set, row, to, to + 8 <= end);
        to += std::popcount(set);
      }
      sums += kMaskRows;
    }
    return is_nothing(all);
  }
};

FormatKernels make() {
  return {{{"block", every_stored_pair<BlockMatvec, MatvecKernel>()}},
          {{"block", every_pair<BlockMatmul, MatmulKernel>()}}};
}
const RegisterKernels registered("mdia", kIsa, make);

}  // namespace

}  // namespace diagsparse::DIAGSPARSE_ISA
