// Symmetric storage of ellcsr on the CPU: products with the leading entries and their mirror images.
#pragma once

#include "formats/ellcsr/layout.hpp"
#include "kernels/entry_sums.hpp"
#include "kernels/scatter.hpp"

namespace diagsparse {

template <class U, class V, class I>
struct Mirrored {
  using T = Product<U, V>;
  static constexpr int64 kPerCheckpoint = 1 << 16;  // rows between two calls of checkpoint()
  static constexpr int64 kImageCost = 8;            // cost of a partial sum, in positions

  // Adds the product with the leading entries and with their mirror images. Each entry is read once. The rows are
  // divided into ranges that depend only on the matrix and run in parallel. Each range has its own partial sums for the
  // columns of the mirror images. They are added at the end, in the order of the ranges.
  static void add(const Matrix& m, Op op, Scalar alpha, const Dense& x, const Dense& y) {
    const auto a = EllCsr<U, I>::of(m);
    const Update<T> update(alpha, 1.0);
    const MirrorOps conj = mirror_ops(m, op);
    const int64 columns = mirrored_columns(m), positions = a.rows * a.width, step = x.row_stride;
    if (columns == 0 || positions == 0) return;
    const int64 ranges = std::clamp<int64>(positions / (kImageCost * columns), 1, std::min(kMaxChunks, a.rows));
    const Array partial_sums = Array::empty(dtype_of<T>(), {ranges * columns});
    for (int64 c = 0; c < x.cols; ++c) {
      const V* const in = x.as<V>() + c * x.col_stride;
      T* const out = y.as<T>() + c * y.col_stride;
      parallel_for(ranges, 2 * positions, [&](int64 range) {
        T* const images = partial_sums.as<T>() + range * columns;
        std::fill_n(images, columns, T{});
        for (int64 i = a.rows * range / ranges, end = a.rows * (range + 1) / ranges; i < end; ++i) {
          if (i % kPerCheckpoint == kPerCheckpoint - 1) checkpoint();
          update.one(out + i * y.row_stride, row(a, i, conj, in, step, images));
        }
      });
      parallel_for(kMaxChunks, ranges * columns, [&](int64 task) {
        for (int64 j = columns * task / kMaxChunks; j < columns * (task + 1) / kMaxChunks; ++j) {
          T sum = partial_sums.as<T>()[j];
          for (int64 range = 1; range < ranges; ++range) sum += partial_sums.as<T>()[range * columns + j];
          update.one(out + j * y.row_stride, sum);
        }
      });
    }
  }

 private:
  // Returns the sum of the leading entries of row i, and adds their mirror images to `images`. These are added to
  // different elements, so four elements are read before they are written.
  static T row(const EllCsr<U, I>& a, int64 i, MirrorOps conj, const V* in, int64 step, T* images) {
    const V factor = in[i * step];
    const int64 count = a.leading(i);
    const U* const values = a.head_values + i * a.width;
    const I* const indices = a.head.indices + i * a.width;
    const auto term = [&](int64 w, int64 j) { return multiply(conjugate_if(conj.entries, values[w]), in[j * step]); };
    const auto image = [&](int64 w, int64 j) {
      return images[j] + multiply(conjugate_if(conj.images, values[w]), factor);
    };
    T sum{}, second{}, third{}, fourth{};
    for (int64 first = 0; first < count; first += kChunk) {
      const std::int32_t base = sizeof(I) < 4 && a.head.bases ? a.head.bases[i * a.chunks + first / kChunk] : 0;
      const int64 stop = std::min(count, first + kChunk);
      int64 w = first;
      for (; w + 4 <= stop; w += 4) {
        prefetch_ahead(indices + w, values + w);
        const int64 j0 = base + indices[w], j1 = base + indices[w + 1], j2 = base + indices[w + 2],
                    j3 = base + indices[w + 3];
        sum += term(w, j0), second += term(w + 1, j1), third += term(w + 2, j2), fourth += term(w + 3, j3);
        const T i0 = image(w, j0), i1 = image(w + 1, j1), i2 = image(w + 2, j2), i3 = image(w + 3, j3);
        images[j0] = i0, images[j1] = i1, images[j2] = i2, images[j3] = i3;
      }
      for (; w < stop; ++w) {
        const int64 j = base + indices[w];
        sum += term(w, j);
        images[j] = image(w, j);
      }
    }
    return (sum + second) + (third + fourth);
  }
};

}  // namespace diagsparse
