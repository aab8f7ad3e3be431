// The products of an entry of A and one of B in the part of a product of quasi-bands outside of Ab Bb, that is, in As
// Bb + Ab Bs + As Bs. They are numbered in three parts:
//
//     As Bb   entry e of As, diagonal d of B     e * (diagonals of B) + d
//     Ab Bs   entry f of Bs, diagonal d of A     f * (diagonals of A) + d
//     As Bs   entry e of As, entry f of row k of Bs, where k is the column of e
//
// In the first two parts, some numbers do not correspond to a product, because the diagonal has no element there.
#pragma once

#include "device/bisection.cuh"
#include "device/resident.cuh"
#include "entries/coordinates.cuh"
#include "formats/qband/products.hpp"

namespace diagsparse::cuda::qband {

enum class Pairing { sparse_by_bands, bands_by_sparse, sparse_by_sparse };

struct RestProduct {
  int64 row, col, left, right;  // coordinates in C; positions in the values of A and of B
  bool exists;
};

// The bands of C, in the form in which kernels search them.
struct Bands {
  const Span* spans;  // sorted by offset
  int64 count;

  // The position of element (i, j) among the values of C, -1 outside of the bands.
  __device__ int64 position(int64 i, int64 j) const {
    const int64 d = bisect(0, count, [&](int64 k) { return spans[k].offset < j - i; });
    return d < count && spans[d].offset == j - i ? spans[d].start + i - spans[d].row : -1;
  }
};

// The arguments of kernels; RestProducts owns the arrays.
struct RestProductsOnDevice {
  const Span *a_spans, *b_spans;
  const std::int64_t *a_indptr, *b_indptr, *a_positions, *b_positions;
  const std::int32_t *a_columns, *b_columns, *a_rows, *b_rows;  // coordinates of each entry
  int64 a_diagonals, b_diagonals, a_entries, b_entries, a_first, b_first, rows, inner, cols;
  const std::int64_t* ends;  // number of products of As Bs up to the end of each entry of As

  __device__ int64 left_of(int64 e) const { return a_first + (a_positions ? a_positions[e] : e); }
  __device__ int64 right_of(int64 f) const { return b_first + (b_positions ? b_positions[f] : f); }

  int64 parts[3];  // the count of numbers of each part

  // Product t of all.
  __device__ RestProduct at(int64 t) const {
    if (t < parts[0]) return sparse_by_bands(t);
    t -= parts[0];
    return t < parts[1] ? bands_by_sparse(t) : sparse_by_sparse(t - parts[1]);
  }
  // Product t of this part.
  template <Pairing Of>
  __device__ RestProduct at(int64 t) const {
    if constexpr (Of == Pairing::sparse_by_bands) return sparse_by_bands(t);
    else if constexpr (Of == Pairing::bands_by_sparse) return bands_by_sparse(t);
    else return sparse_by_sparse(t);
  }

 private:
  struct Divided {
    std::uint32_t quotient, remainder;
  };
  // In 32 bits, which is much faster: there are fewer than 2^31 numbers.
  static __device__ Divided divided(int64 t, int64 by) {
    const auto n = static_cast<std::uint32_t>(t), d = static_cast<std::uint32_t>(by);
    return {n / d, n % d};
  }

  __device__ RestProduct sparse_by_bands(int64 t) const {
    const auto [e, d] = divided(t, b_diagonals);
    const int64 k = a_columns[e];
    const Span s = b_spans[d];
    const bool exists = k >= s.row && k < s.row + s.length;
    return {a_rows[e], k + s.offset, left_of(e), s.start + k - s.row, exists};
  }
  __device__ RestProduct bands_by_sparse(int64 t) const {
    const auto [f, d] = divided(t, a_diagonals);
    const Span s = a_spans[d];
    const int64 i = b_rows[f] - s.offset;
    const bool exists = i >= s.row && i < s.row + s.length;
    return {i, b_columns[f], s.start + i - s.row, right_of(f), exists};
  }
  __device__ RestProduct sparse_by_sparse(int64 t) const {
    const int64 e = bisect(0, a_entries, [&](int64 k) { return ends[k] <= t; });
    const int64 f = b_indptr[a_columns[e]] + t - (e == 0 ? 0 : ends[e - 1]);
    return {a_rows[e], b_columns[f], left_of(e), right_of(f), true};
  }
};

class RestProducts {
 public:
  RestProducts(const QuasiBand& a, const QuasiBand& b);

  int64 count(Pairing of) const { return view_.parts[static_cast<int>(of)]; }
  int64 total() const { return view_.parts[0] + view_.parts[1] + view_.parts[2]; }
  const RestProductsOnDevice& on_device() const { return view_; }
  int64 nbytes() const {
    int64 n = 0;
    visit([&](const Array& array) { n += array.nbytes(); });
    return n;
  }
  template <class F>
  void visit(const F& f) const {
    for (const Array* array : {&a_spans_, &b_spans_, &a_rows_, &b_rows_, &ends_}) f(*array);
  }

 private:
  Array a_spans_, b_spans_, a_rows_, b_rows_, ends_;
  std::shared_ptr<void> a_index_, b_index_;
  RestProductsOnDevice view_;
};

// The rest of a product, cached with the plan.
struct RestOnGpu : Work {
  RestProducts products;
  Array first;    // int32 (count + 1): where the terms of each sum begin
  Array pairs;    // the terms: left << 32 | right
  Array targets;  // int64 (count): position of a sum among C's values
  Array many;     // int32: the sums with many terms
  int64 count = 0;
  int64 sums = 0;  // number of products

  explicit RestOnGpu(RestProducts result) : products(std::move(result)) {}
  int64 nbytes() const override {
    return products.nbytes() + first.nbytes() + pairs.nbytes() + targets.nbytes() + many.nbytes();
  }
  int64 operations() const override { return sums; }
  void used_here(const Plan& plan) const;  // records that this stream uses all arrays that its kernels read
};
inline const RestOnGpu& rest_on_gpu(const Plan& plan) {
  return static_cast<const RestOnGpu&>(*quasi_band_work(plan).rest);
}

}  // namespace diagsparse::cuda::qband
