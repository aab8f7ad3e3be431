// Kernel "block" of mdia: y = alpha op(A) x + beta y, 32 rows of A at a time, one diagonal after another.
//
// op = N: sums in registers (simd_gather.hpp).
// op = T: the values are multiplied by the elements of x of their rows, and added to consecutive elements of y
//         (kernels/scatter.hpp).
// If one triangle is stored, both triangles are processed at once, so that A is read once.
#include "formats/mdia/simd_gather.hpp"
#include "kernels/scatter.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

constexpr int64 kPerCheckpoint = 1 << 12;  // blocks between two calls of checkpoint()

// The entries of the transpose; with symmetric storage, those of both triangles of A.
template <class U>
struct MaskedEntries {
  Mdia<U> a;
  Symmetry symmetry;

  static MaskedEntries of(const Matrix& m) { return {Mdia<U>::of(m), m.structure->symmetry()}; }
  int64 begin(int64 ranges, int64 k) const {
    return border(a.blocks(), work_before(a, a.blocks()), ranges, k, [&](int64 b) { return work_before(a, b); });
  }
  template <class Visit>
  void traverse(int64 begin, int64 end, const Visit& visit) const {
    const bool mirrored = symmetry != Symmetry::none, hermitian = symmetry == Symmetry::hermitian;
    for (int64 b = begin; b < end; ++b) {
      if ((b - begin) % kPerCheckpoint == kPerCheckpoint - 1) checkpoint();
      for_each_run(a, b, [&](int64 offset, Mask rows, const U* value) {
        for_each_row(rows, [&](int i) {
          const int64 row = kMaskRows * b + i;
          if (mirrored) visit(row + offset)(row, *value);
          if (!mirrored || offset != 0) visit(row)(row + offset, conjugate_if(hermitian, *value));
          ++value;
        });
      });
    }
  }
};

template <class U, class V>
struct BlockMatvec {
  using T = Product<U, V>;
  static constexpr bool real = kReal<V> && !is_complex<U>;  // so that T is V

  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const auto a = Mdia<U>::of(m);
    if (in_order(*m.structure, op)) return BlockGather<U, V>::run(a, op.conjugated, alpha, x, beta, y);
    const bool mirrored = m.structure->symmetry() != Symmetry::none;
    const bool hermitian = m.structure->symmetry() == Symmetry::hermitian;  // the transpose is the conjugate
    const MaskedEntries<U> entries{a, m.structure->symmetry()};
    const bool conj = op.conjugated != (hermitian && op.transposed);
    if constexpr (real) {
      const auto add = [&](int64 begin, int64 end, const V* in, T* to) {
        for (int64 b = begin; b < end; ++b) {
          if ((b - begin) % kPerCheckpoint == kPerCheckpoint - 1) checkpoint();
          mirrored ? add_block<true>(a, b, in, to) : add_block<false>(a, b, in, to);
        }
      };
      scatter<V>(entries, m, conj, alpha, x, beta, y, kMargin, add);
    } else {
      scatter<V>(entries, m, conj, alpha, x, beta, y, kMargin);
    }
  }

 private:
  static constexpr int64 kMargin = 7;  // eight elements of y are updated at once, at least one of which has an entry

  static constexpr int parts = Row<Real<T>>::parts;
  using Vec = typename Row<Real<T>>::Vec;

  // y += A^T x for one block of A, or A x for symmetric storage.
  template <bool Mirrored>
  static void add_block(const Mdia<U>& a, int64 block, const V* x, T* y) {
    alignas(64) V values_a[kMaskRows + 8];
    const int64 row = kMaskRows * block;
    const bool complete = row + kMaskRows <= a.rows && all_finite(x + row, kMaskRows);
    Vec sums[1][kEights * parts] = {};
    Mask any = 0;
    for_each_diagonal(a, block, [&](int64 d, Mask rows, const U* value) {
      const int64 offset = a.offsets[d], first = row + offset;
      const bool image = !Mirrored || offset != 0;
      any |= rows;
      if (!complete || first < 0 || first + kMaskRows > a.cols) {
        for_each_row(rows, [&](int i) {
          if (Mirrored) y[row + i] += multiply(*value, x[first + i]);
          if (image) y[first + i] += multiply(*value, x[row + i]);
          ++value;
        });
        return;
      }
      for_each_eight(rows, rows, converted<V>(rows, value, values_a), can_overread<V>(a, d, value),
                     [&](int g, const Row<T>& elements) {
                       if constexpr (Mirrored) {
                         const Row<T> factors = Row<T>::at(x + first + 8 * g);
#pragma GCC unroll 4
                         for (int n = 0; n < parts; ++n) sums[0][g * parts + n] += elements.part[n] * factors.part[n];
                         if (!image) return;
                       }
                       const Row<T> factors = Row<T>::at(x + row + 8 * g);
                       Row<T> out = Row<T>::at(y + first + 8 * g);
#pragma GCC unroll 4
                       for (int n = 0; n < parts; ++n) out.part[n] += elements.part[n] * factors.part[n];
                       out.put(y + first + 8 * g);
                     });
    });
    if (!Mirrored) return;
    alignas(64) T elements[kMaskRows];
    std::memcpy(elements, sums, sizeof elements);
    if (!are_finite<T>(sums)) {  // sum again, from stored elements only
      std::fill_n(elements, kMaskRows, T{});
      for_each_run(a, block, [&](int64 offset, Mask rows, const U* value) {
        const int64 first = row + offset;
        if (first < 0 || first + kMaskRows > a.cols) return;
        for_each_row(rows, [&](int i) { elements[i] += multiply(*value++, x[first + i]); });
      });
    }
    for_each_row(any, [&](int i) { y[row + i] += elements[i]; });  // other rows may belong to another thread
  }
};

}  // namespace

Typed<MatvecKernel> masked_matvec() { return every_stored_pair<BlockMatvec, MatvecKernel>(); }

}  // namespace diagsparse::DIAGSPARSE_ISA
