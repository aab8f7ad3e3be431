// ellcsr on the GPU: the kernels.
//
// y = alpha op(A) x + beta y.
//   A: m x n; row i has values[w + i width] in column head[i, w] up to the first -1, and then values[m width + e] in
//   column rest[e] for indptr[i] <= e < indptr[i + 1].  x: n, or n x k.  y: m, or m x k.
//
// "warp_per_row": a warp processes a row; each lane adds every 32nd entry, first of the leading part and then of the
// rest, and the lanes' sums are added by shuffles. "shared_x", the default: shared_x.cuh. The others are those of
// Mahmoud, Hoffmann and Reza (2018), with shuffles instead of their shared memory. "warp2", as described in their text:
// one warp processes the leading part, the next one the rest, and the first adds both. "block_16", "block_32" and
// "block_64", as in their algorithm 7: "warp_per_row" in blocks of so many threads; those of 16 have half a warp per
// row. Lanes read neighbouring entries, and the corresponding elements of x through the caches. A row of blocks
// processes every gridDim.y-th column of x. The order of a sum depends only on the matrix, so every run gives the same
// bits. The kernels are meant for long rows. A transpose is gathered by rows, with an index of them. If the leading
// part is one triangle of the matrix, the kernels multiply only the rest; the leading part and its mirror image are
// added by mirrored.cuh.
#include "device/dense.cuh"
#include "device/lanes.cuh"
#include "formats/ellcsr/layout.hpp"
#include "formats/ellcsr/mirrored.cuh"
#include "formats/ellcsr/shared_x.cuh"
#include "kernels/rows/kernels.hpp"
#include "layouts/columns.cuh"

namespace diagsparse::cuda::ellcsr {

namespace {

// A lane's part of the sum of row i over its leading entries, and over its rest.
template <int Lanes = 32, class I, class U, class V>
__device__ Product<U, V> sum_of_leading(const EllCsr<U, I>& a, int64 i, bool conj, const V* x, int64 step) {
  Product<U, V> sum{};
  for (int64 w = threadIdx.x % Lanes; w < a.width; w += Lanes) {
    const std::int32_t j = a.head.of(load(a.head.indices + i * a.width + w), i * a.chunks + w / kChunk);
    if (j < 0) break;
    sum += multiply(conjugate_if(conj, load(a.head_values + i * a.width + w)), load(x + j * step));
  }
  return sum;
}
template <int Lanes = 32, class I, class U, class V>
__device__ Product<U, V> sum_of_rest(const EllCsr<U, I>& a, int64 i, bool conj, const V* x, int64 step) {
  Product<U, V> sum{};
  for (int64 e = a.indptr[i] + threadIdx.x % Lanes; e < a.indptr[i + 1]; e += Lanes) {
    sum += multiply(conjugate_if(conj, load(a.rest_values + e)),
                    load(x + a.rest.of(load(a.rest.indices + e), e / kChunk) * step));
  }
  return sum;
}

template <class I, class U, class V, int Lanes = 32>
__global__ void __launch_bounds__(kBlock)
    sum_rows(const EllCsr<U, I> a, bool conj, const Block<const V> x, const Block<Product<U, V>> y, int64 cols,
             const __grid_constant__ Update<Product<U, V>> update) {
  const int64 i = thread_index() / Lanes;
  if (i >= a.rows) return;
  for (int64 c = blockIdx.y; c < cols; c += gridDim.y) {
    const V* const in = x.data + c * x.col;
    const auto sum =
        sum_of_lanes<Lanes>(sum_of_leading<Lanes>(a, i, conj, in, x.row) + sum_of_rest<Lanes>(a, i, conj, in, x.row));
    if (threadIdx.x % Lanes == 0) update.one(y.data + i * y.row + c * y.col, sum);
  }
}

__global__ void __launch_bounds__(kBlock)
    sum_halves(const EllCsr<double> a, bool conj, const Block<const double> x, const Block<double> y, int64 cols,
               const __grid_constant__ Update<double> update) {
  __shared__ double sums[kBlock / 32];
  const int warp = threadIdx.x / 32;
  const int64 i = thread_index() / 64;
  const bool first = warp % 2 == 0, writes = threadIdx.x % 64 == 0 && i < a.rows;
  for (int64 c = blockIdx.y; c < cols; c += gridDim.y) {
    const double* const in = x.data + c * x.col;
    double sum = 0;
    if (i < a.rows) sum = first ? sum_of_leading(a, i, conj, in, x.row) : sum_of_rest(a, i, conj, in, x.row);
    sum = sum_of_lanes<32>(sum);
    if (threadIdx.x % 32 == 0) sums[warp] = sum;
    __syncthreads();
    if (writes) update.one(y.data + i * y.row + c * y.col, sums[warp] + sums[warp + 1]);
    __syncthreads();
  }
}

// `threads` threads process a row.
template <class U, class V, class A, class Kernel>
void launch_rows(Kernel kernel, int threads, const A& a, Op op, Scalar alpha, const Dense& x, Scalar beta,
                 const Dense& y, int block = kBlock) {
  using T = Product<U, V>;
  launch("ellcsr matvec", kernel, blocks_by_columns(a.rows * threads * (kBlock / block), x.cols), dim3(block), a,
         op.conjugated, Block<const V>(x), Block<T>(y), x.cols, Update<T>(alpha, beta));
}

// "warp_per_row", which the other kernels run for what they do not support.
template <class I, class U, class V>
void sum_by_warps(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
  if constexpr (reads_columns<I, U, V>) {
    launch_rows<U, V>(sum_rows<I, U, V>, 32, EllCsr<U, I>::of(m), op, alpha, x, beta, y);
  } else {
    const auto lengthen = [](const Matrix& a) { return lengthened(a); };
    sum_by_warps<std::int32_t, U, V>(long_columns(m, lengthen, "ell_indices", "csr_indices"), op, alpha, x, beta, y);
  }
}

// The leading part of a matrix with mirror images, by itself.
struct ResidentTriangle {
  StructurePtr structure;
  Array indptr;

  auto arrays() const { return std::tie(indptr); }
};
Matrix triangle_of(const Matrix& m) {
  const auto resident_data = cached<ResidentTriangle>(m.cache(), "its triangle", [&] {
    const Matrix result = leading_of(m);
    return std::make_shared<ResidentTriangle>(result.structure, result.index("csr_indptr"));
  });
  return {resident_data->structure, m.values.slice(0, resident_data->structure->values_shape)};
}

// y += alpha op(E + its mirror image) x: in one pass, or in two if it does not fit into shared memory.
template <class U, class V, class I>
void add_triangle(const Matrix& m, Op op, Scalar alpha, const Dense& x, const Dense& y) {
  if constexpr (reads_columns<I, U, V>) {
    if (add_in_one_pass<U, V, I>(m, EllCsr<U, I>::of(m), op, alpha, x, y)) return;
  }
  const Matrix triangle = triangle_of(m);
  const MirrorOps conj = mirror_ops(m, op);
  sum_by_warps<I, U, V>(triangle, {false, conj.entries}, alpha, x, 1.0, y);
  rows::gather_transpose<U, V>(triangle, {true, conj.images}, alpha, x, 1.0, y);
}

// Calls f<I>() with a matrix whose indices are of type I. A transpose is gathered instead. For a matrix with mirror
// images, f multiplies the rest, and the leading part is added afterwards.
template <class U, class V, class F>
void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y, const F& f) {
  if (has_mirror(m)) {
    run<U, V>(rest_of(m), op, alpha, x, beta, y, f);
    return with_index_type(m.index("ell_indices").dtype, [&](auto zero) {
      if constexpr (sizeof(zero) > 1) add_triangle<U, V, decltype(zero)>(m, op, alpha, x, y);
    });
  }
  if (op.transposed) return rows::gather_transpose<U, V>(m, op, alpha, x, beta, y);
  with_index_type(m.index("ell_indices").dtype, [&](auto zero) { f.template operator()<decltype(zero)>(m); });
}

void prepare_rest(const Matrix& m, Op op) {
  if (has_mirror(m)) mirrored_columns(m);  // which reads from the GPU
  rows::prepare_transpose(has_mirror(m) ? rest_of(m) : m, op);
}

template <class U, class V>
struct Warp {
  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    ellcsr::run<U, V>(m, op, alpha, x, beta, y,
                      [&]<class I>(const Matrix& plain) { sum_by_warps<I, U, V>(plain, op, alpha, x, beta, y); });
  }
};

// The other kernels of the paper exist for comparison: in double precision and with 32-bit columns, as there. Otherwise
// they are "warp_per_row".
template <auto kernel, int Threads, int Block>
MatvecRow row_of_paper(const char* name) {
  MatvecRow row{name, every_pair<Warp, MatvecKernel>(), prepare_rest};
  constexpr int f64 = static_cast<int>(DType::f64);
  row.typed.at[f64][f64] = [](const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    using T = double;
    if (op.transposed || has_mirror(m) || m.index("ell_indices").dtype != DType::i32)
      return Warp<T, T>::run(m, op, alpha, x, beta, y);
    launch_rows<T, T>(kernel, Threads, EllCsr<T>::of(m), op, alpha, x, beta, y, Block);
  };
  return row;
}

template <class U, class V>
struct SharedX {
  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    ellcsr::run<U, V>(m, op, alpha, x, beta, y, [&]<class I>(const Matrix& plain) {
      if constexpr (reads_columns<I, U, V>) {
        if (multiply_shared_x<U, V>(plain, EllCsr<U, I>::of(plain), op, alpha, x, beta, y)) return;
      }
      sum_by_warps<I, U, V>(plain, op, alpha, x, beta, y);
    });
  }
};

void prepare(const Matrix& m, Op op) {
  prepare_rest(m, op);
  if (!op.transposed) prepare_shared_x(has_mirror(m) ? rest_of(m) : m);
}

FormatKernels make() {
  return {{{"shared_x", every_pair<SharedX, MatvecKernel>(), prepare},
           {"warp_per_row", every_pair<Warp, MatvecKernel>(), prepare_rest},
           row_of_paper<sum_halves, 64, kBlock>("warp2"),
           row_of_paper<sum_rows<std::int32_t, double, double, 16>, 16, 16>("block_16"),
           row_of_paper<sum_rows<std::int32_t, double, double>, 32, 32>("block_32"),
           row_of_paper<sum_rows<std::int32_t, double, double>, 32, 64>("block_64")},
          {}};
}
const RegisterKernels registered("ellcsr", 0, make);

}  // namespace

}  // namespace diagsparse::cuda::ellcsr
