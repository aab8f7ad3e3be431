// One triangle of ellcsr on the CPU: sums of what leads, and of its mirror image.
#pragma once

#include "formats/ellcsr/layout.hpp"
#include "kernels/entry_sums.hpp"
#include "kernels/scatter.hpp"

namespace diagsparse {

// Plain: neighbouring elements of x, and no conjugate.
template <class U, class V, class I, bool Plain>
struct Mirrored {
  using T = Product<U, V>;
  static constexpr int64 kPerCheckpoint = 1 << 16;  // rows between two questions whether to go on
  static constexpr int64 kImageCost = 8;            // places that a sum of an image is worth

  // Adds the product with what leads and with its mirror image, and reads what leads once. Shares of the rows, which
  // follow from the matrix alone, run side by side, each with sums of its own for the columns of the image; these meet
  // in the order of the shares.
  static void add(const Matrix& m, Op op, Scalar alpha, const Dense& x, const Dense& y) {
    const auto a = EllCsr<U, I>::of(m);
    const Update<T> update(alpha, 1.0);
    const MirrorOps conj = mirror_ops(m, op);
    const int64 columns = mirrored_columns(m), places = a.rows * a.width, step = Plain ? 1 : x.row_stride;
    if (columns == 0 || places == 0) return;
    const int64 shares = std::clamp<int64>(places / (kImageCost * columns), 1, std::min(kMaxChunks, a.rows));
    const Array room = Array::empty(dtype_of<T>(), {shares * columns});
    for (int64 c = 0; c < x.cols; ++c) {
      const V* const in = x.as<V>() + c * x.col_stride;
      T* const out = y.as<T>() + c * y.col_stride;
      parallel_for(shares, 2 * places, [&](int64 share) {
        T* const images = room.as<T>() + share * columns;
        std::fill_n(images, columns, T{});
        for (int64 i = a.rows * share / shares, end = a.rows * (share + 1) / shares; i < end; ++i) {
          if (i % kPerCheckpoint == kPerCheckpoint - 1) checkpoint();
          update.one(out + i * y.row_stride, row(a, i, conj, in, step, images));
        }
      });
      parallel_for(kMaxChunks, shares * columns, [&](int64 task) {
        for (int64 j = columns * task / kMaxChunks; j < columns * (task + 1) / kMaxChunks; ++j) {
          T sum = room.as<T>()[j];
          for (int64 share = 1; share < shares; ++share) sum += room.as<T>()[share * columns + j];
          update.one(out + j * y.row_stride, sum);
        }
      });
    }
  }

 private:
  // The sum of what leads in row i. Its mirror image is added to `images`, all of whose elements are different ones: so
  // four are read before they are written.
  static T row(const EllCsr<U, I>& a, int64 i, MirrorOps conj, const V* in, int64 step, T* images) {
    const V factor = in[i * step];
    const int64 count = a.leading(i);
    const U* const values = a.head_values + i * a.width;
    const I* const indices = a.head.indices + i * a.width;
    const auto term = [&](int64 w, int64 j) {
      return multiply(Plain ? values[w] : conjugate_if(conj.entries, values[w]), in[j * step]);
    };
    const auto image = [&](int64 w, int64 j) {
      return images[j] + multiply(Plain ? values[w] : conjugate_if(conj.images, values[w]), factor);
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
