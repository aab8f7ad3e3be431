// Kernel "row" of dia, hm and cdm: y = alpha op(A) x + beta y.
//
// A warp takes a run of rows, a thread a few neighbours among them; it walks the diagonals that meet the run and keeps
// its sums in registers. A's values are read once, 16 bytes a thread, past the caches; x comes from the caches, where
// the rows nearby have brought it. Diagonals start at any address: the warp reads whole vectors and hands what lies
// across to its neighbour. A sum adds up in the order of the offsets: the same bits on every run. Up to kInline
// diagonals the list travels as the launch's argument, beyond it lies on the device.
#include "dense.cuh"
#include "kernels/diagonal_kernels.hpp"
#include "memory.cuh"
#include "resident.cuh"
#include "warp_runs.cuh"

namespace diagsparse::cuda {

namespace {

constexpr int kInline = 64;

// The diagonals of op(A), in the two places where a kernel may find them.
struct InlineTerms {
  Term at[kInline];
  int count;

  __device__ const Term* begin() const { return at; }
  __device__ const Term* end() const { return at + count; }
};
struct ResidentTerms {
  const Term* first;
  int64 count;

  __device__ const Term* begin() const { return first; }
  __device__ const Term* end() const { return first + count; }
};

// The terms that meet rows [first, last): neighbours, since `first` and `last` of the terms never increase.
template <class Terms>
__device__ void meeting(const Terms& terms, int64 first, int64 last, const Term*& begin, const Term*& end) {
  const auto bisect = [&](const auto& holds) {  // the first term for which it holds no more
    const Term *low = terms.begin(), *high = terms.end();
    while (low < high) {
      const Term* middle = low + (high - low) / 2;
      if (holds(*middle)) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  begin = bisect([&](const Term& t) { return t.first >= last; });
  end = bisect([&](const Term& t) { return t.last > first; });
}

// A warp takes Chunks runs of 32 R rows, a thread R neighbours of each.
template <int Chunks, class Terms, class U, class V>
__global__ void __launch_bounds__(kBlock)
    vector_rows(const __grid_constant__ Terms terms, const U* values, bool conj, const V* x, Product<U, V>* y,
                int64 rows, const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  constexpr int R = kVector<U>, run = 32 * R;
  const int lane = threadIdx.x % 32;
  const int64 warp = thread_index() / 32, start = warp * (Chunks * run);
  if (start >= rows) return;
  T sums[Chunks][R] = {};
  const Term *begin, *end;
  meeting(terms, start, start + Chunks * run, begin, end);
  for (const Term* t = begin; t < end; ++t) {
    if (t->first <= start && t->last >= start + Chunks * run) {
      U left[Chunks][R];
      V right[Chunks][R];
#pragma unroll
      for (int q = 0; q < Chunks; ++q) {
        read_run<true>(values + t->u + start + q * run, left[q]);
        read_run<false>(x + t->v + start + q * run, right[q]);
      }
#pragma unroll
      for (int q = 0; q < Chunks; ++q) {
#pragma unroll
        for (int r = 0; r < R; ++r) sums[q][r] += multiply(conjugate_if(conj, left[q][r]), right[q][r]);
      }
    } else {
#pragma unroll
      for (int q = 0; q < Chunks; ++q) {
#pragma unroll
        for (int r = 0; r < R; ++r) {
          const int64 i = start + q * run + lane * R + r;
          if (i >= t->first && i < t->last) {
            sums[q][r] += multiply(conjugate_if(conj, load_once(values + t->u + i)), load(x + t->v + i));
          }
        }
      }
    }
  }
#pragma unroll
  for (int q = 0; q < Chunks; ++q) {
    const int64 i = start + q * run + lane * R;
    write_run(y + i, sums[q], static_cast<int>(min(rows - i, int64(R))), update);
  }
}

// A thread takes one row and Columns columns of the block, `groups` apart. Threads run along the axis on which
// x is contiguous.
template <int Columns, class Terms, class U, class V>
__global__ void __launch_bounds__(kBlock)
    block_rows(const __grid_constant__ Terms terms, const U* values, bool conj, const Block<const V> x,
               const Block<Product<U, V>> y, int64 rows, int64 cols, int64 groups, bool along_columns,
               const __grid_constant__ Update<Product<U, V>> update) {
  const int64 t0 = thread_index();
  if (t0 >= rows * groups) return;
  const int64 i = along_columns ? t0 / groups : t0 % rows, group = along_columns ? t0 % groups : t0 / rows;
  Product<U, V> sums[Columns] = {};
  for (const Term* t = terms.begin(); t != terms.end(); ++t) {
    if (i < t->first || i >= t->last) continue;
    const U value = conjugate_if(conj, load(values + t->u + i));
    const V* v = x.data + (t->v + i) * x.row;
#pragma unroll
    for (int k = 0; k < Columns; ++k) {
      const int64 c = group + k * groups;
      if (c < cols) sums[k] += multiply(value, load(v + c * x.col));
    }
  }
#pragma unroll
  for (int k = 0; k < Columns; ++k) {
    const int64 c = group + k * groups;
    if (c < cols) update.one(y.data + i * y.row + c * y.col, sums[k]);
  }
}

std::shared_ptr<ResidentSums> resident(const Matrix& a, Op op) {
  return keep<ResidentSums>(a.layout->kept, op.transposed ? "matvec T" : "matvec N", [&] {
    const int64 rows = op.transposed ? a.cols : a.rows;
    return std::make_shared<ResidentSums>(matvec_sums(spans_of(*a.layout, op), rows));
  });
}

void prepare(const Matrix& a, Op op) {
  if (a.layout->spans.size() > kInline) resident(a, op);
}

template <class U, class V>
struct RowMatvec {
  using T = Product<U, V>;

  static void run(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const int64 count = static_cast<int64>(a.layout->spans.size());
    if (count > kInline) {
      const auto lists = resident(a, op);
      return with_terms(ResidentTerms{lists->terms_begin(), count}, a, op.conjugated, alpha, x, beta, y);
    }
    InlineTerms terms;
    terms.count = static_cast<int>(count);
    const Sums sums = matvec_sums(spans_of(*a.layout, op), y.rows);
    std::copy(sums.terms.begin(), sums.terms.end(), terms.at);
    with_terms(terms, a, op.conjugated, alpha, x, beta, y);
  }

 private:
  template <class Terms>
  static void with_terms(const Terms& terms, const Matrix& a, bool conj, Scalar alpha, const Dense& x, Scalar beta,
                         const Dense& y) {
    const Update<T> update(alpha, beta);
    const U* values = a.values.as<U>();
    if (x.cols == 1 && x.row_stride == 1 && y.row_stride == 1) {
      constexpr int chunks = 2;
      launch("matvec row", vector_rows<chunks, Terms, U, V>, blocks(y.rows, chunks * kVector<U>), dim3(kBlock), terms,
             values, conj, x.as<V>(), y.as<T>(), y.rows, update);
    } else {
      constexpr int columns = 4;
      const int64 groups = ceil_div(x.cols, columns);
      launch("matvec row", block_rows<columns, Terms, U, V>, blocks(y.rows * groups), dim3(kBlock), terms, values, conj,
             Block<const V>(x), Block<T>(y), y.rows, x.cols, groups, x.col_stride == 1, update);
    }
  }
};

}  // namespace

MatvecRow matvec_row() { return {"row", every_pair<RowMatvec, MatvecKernel>(), prepare}; }

}  // namespace diagsparse::cuda
