// Kernel "row" of dia, hm and cdm: y = alpha op(A) x + beta y.
//
// A thread takes a few rows, a block's width apart, so that neighbouring threads read neighbouring values of a
// diagonal and of x; it walks A's diagonals and keeps its sums in registers. A's values are read once, past the
// caches; x comes from the caches, where the rows nearby have brought it. A sum adds up in the order of the
// offsets: the same bits on every run. Up to kInline diagonals the list travels as the launch's argument, beyond it
// lies on the device.
#include "dense.cuh"
#include "kernels/diagonal_kernels.hpp"
#include "memory.cuh"
#include "resident.cuh"

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

template <int Rows, class Terms, class U, class V>
__global__ void __launch_bounds__(kBlock)
    vector_rows(const __grid_constant__ Terms terms, const U* values, bool conj, const V* x, Product<U, V>* y,
                int64 rows, const __grid_constant__ Update<Product<U, V>> update) {
  const int64 first = static_cast<int64>(blockIdx.x) * (kBlock * Rows) + threadIdx.x;
  Product<U, V> sums[Rows] = {};
  for (const Term* t = terms.begin(); t != terms.end(); ++t) {
    const U* u = values + t->u;
    const V* v = x + t->v;
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      const int64 i = first + r * kBlock;
      if (i >= t->first && i < t->last) sums[r] += multiply(conjugate_if(conj, load_once(u + i)), load(v + i));
    }
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const int64 i = first + r * kBlock;
    if (i < rows) update.one(y + i, sums[r]);
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
      constexpr int rows = is_complex<T> ? 2 : 4;
      launch("matvec row", vector_rows<rows, Terms, U, V>, blocks(y.rows, rows), dim3(kBlock), terms, values, conj,
             x.as<V>(), y.as<T>(), y.rows, update);
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
