// ellcsr on the GPU: from rows and to rows, the gate, and kernels.
//
// y = alpha op(A) x + beta y.
//   A: m x n; row i has values[w + i width] in column head[i, w] up to the first -1, and then values[m width + e] in
//   column rest[e] for indptr[i] <= e < indptr[i + 1].  x: n, or n x k.  y: m, or m x k.
//
// "warp_per_row": a warp takes a row, every 32nd entry of its leading part and then of the rest a lane, and the lanes'
// sums meet by shuffles. "shared_x", the default: shared_x.cuh. The others are those of Mahmoud, Hoffmann and Reza
// (2018), with shuffles in the place of their shared memory. "warp2", as their text has it: one warp takes the leading
// part, its neighbour the rest, and the first adds both. "block_16", "block_32" and "block_64", as algorithm 7 lists
// it: "warp_per_row" in blocks of so many threads; those of 16 have half a warp for a row. Lanes read neighbouring
// entries, and of x what these ask for, through the caches. A row of blocks takes every gridDim.y-th column of x. The
// order of a sum follows from the matrix: the same bits on every run. They are meant for long rows. A transpose is
// gathered by rows, over an index of them. Of a matrix of which one triangle leads they take the rest; what leads is
// added with its mirror image, by mirrored.cuh.
#include "core/convert.hpp"
#include "device/dense.cuh"
#include "device/lanes.cuh"
#include "device/values.cuh"
#include "entries/coordinates.cuh"
#include "formats/csr.hpp"
#include "formats/ellcsr.hpp"
#include "kernels/mirrored.cuh"
#include "kernels/row_kernels.hpp"
#include "kernels/shared_x.cuh"
#include "matrices/faults.cuh"

namespace diagsparse {

namespace cuda::hybrid {

namespace {

constexpr int kWarps = kBlock / 32;

// The part of a lane in the sum of row i over its leading entries, and over the rest of it.
template <int Lanes = 32, class I, class U, class V>
__device__ Product<U, V> lead(const EllCsr<U, I>& a, int64 i, bool conj, const V* x, int64 step) {
  Product<U, V> sum{};
  for (int64 w = threadIdx.x % Lanes; w < a.width; w += Lanes) {
    const std::int32_t j = a.head.of(load(a.head.indices + i * a.width + w), i * a.chunks + w / kChunk);
    if (j < 0) break;
    sum += multiply(conjugate_if(conj, load(a.head_values + i * a.width + w)), load(x + j * step));
  }
  return sum;
}
template <int Lanes = 32, class I, class U, class V>
__device__ Product<U, V> follow(const EllCsr<U, I>& a, int64 i, bool conj, const V* x, int64 step) {
  Product<U, V> sum{};
  for (int64 e = a.indptr[i] + threadIdx.x % Lanes; e < a.indptr[i + 1]; e += Lanes) {
    sum += multiply(conjugate_if(conj, load(a.rest_values + e)),
                    load(x + a.rest.of(load(a.rest.indices + e), e / kChunk) * step));
  }
  return sum;
}

template <class I, class U, class V, int Lanes = 32>
__global__ void __launch_bounds__(kBlock)
    walk_rows(const EllCsr<U, I> a, bool conj, const Block<const V> x, const Block<Product<U, V>> y, int64 cols,
              const __grid_constant__ Update<Product<U, V>> update) {
  const int64 i = thread_index() / Lanes;
  if (i >= a.rows) return;
  for (int64 c = blockIdx.y; c < cols; c += gridDim.y) {
    const V* const in = x.data + c * x.col;
    const auto sum = sum_of_lanes<Lanes>(lead<Lanes>(a, i, conj, in, x.row) + follow<Lanes>(a, i, conj, in, x.row));
    if (threadIdx.x % Lanes == 0) update.one(y.data + i * y.row + c * y.col, sum);
  }
}

template <class I, class U, class V>
__global__ void __launch_bounds__(kBlock)
    walk_halves(const EllCsr<U, I> a, bool conj, const Block<const V> x, const Block<Product<U, V>> y, int64 cols,
                const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  __shared__ T sums[kWarps];
  const int warp = threadIdx.x / 32;
  const int64 i = thread_index() / 64;
  const bool first = warp % 2 == 0, writes = threadIdx.x % 64 == 0 && i < a.rows;
  for (int64 c = blockIdx.y; c < cols; c += gridDim.y) {
    const V* const in = x.data + c * x.col;
    T sum{};
    if (i < a.rows) sum = first ? lead(a, i, conj, in, x.row) : follow(a, i, conj, in, x.row);
    sum = sum_of_lanes<32>(sum);
    if (threadIdx.x % 32 == 0) sums[warp] = sum;
    __syncthreads();
    if (writes) update.one(y.data + i * y.row + c * y.col, sums[warp] + sums[warp + 1]);
    __syncthreads();
  }
}

// `threads` take a row.
template <class U, class V, class A, class Kernel>
void walk(Kernel kernel, int threads, const A& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y,
          int block = kBlock) {
  using T = Product<U, V>;
  launch("ellcsr matvec", kernel, blocks_by_columns(a.rows * threads * (kBlock / block), x.cols), dim3(block), a,
         op.conjugated, Block<const V>(x), Block<T>(y), x.cols, Update<T>(alpha, beta));
}

// What leads of a matrix with mirror images, alone.
struct ResidentTriangle {
  StructurePtr structure;
  Array indptr;

  template <class F>
  void visit(const F& f) const {
    f(indptr);
  }
};
Matrix triangle_of(const Matrix& m) {
  const auto kept = keep<ResidentTriangle>(m.kept(), "its triangle", [&] {
    const Matrix made = leading_of(m);
    return std::make_shared<ResidentTriangle>(made.structure, made.index("csr_indptr"));
  });
  return {kept->structure, m.values.slice(0, kept->structure->values_shape)};
}

// y += alpha op(E + its mirror image) x: in one pass, or in two where shared memory has no room.
template <class U, class V, class I>
void add_triangle(const Matrix& m, Op op, Scalar alpha, const Dense& x, const Dense& y) {
  if (add_in_one_pass<U, V, I>(m, EllCsr<U, I>::of(m), op, alpha, x, y)) return;
  const Matrix triangle = triangle_of(m);
  const MirrorOps conj = mirror_ops(m, op);
  walk<U, V>(walk_rows<I, U, V>, 32, EllCsr<U, I>::of(triangle), {false, conj.entries}, alpha, x, 1.0, y);
  rows::gather_transpose<U, V>(triangle, {true, conj.images}, alpha, x, 1.0, y);
}

// Calls f with a matrix and the view of it by its type of index; a transpose needs no view. Of a matrix with mirror
// images that is the rest, and what leads is added.
template <class U, class V, class F>
void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y, const F& f) {
  if (has_mirror(m)) {
    run<U, V>(rest_of(m), op, alpha, x, beta, y, f);
    return with_index_type(m.index("ell_indices").dtype, [&](auto zero) {
      if constexpr (sizeof(zero) > 1) add_triangle<U, V, decltype(zero)>(m, op, alpha, x, y);
    });
  }
  if (op.transposed) return rows::gather_transpose<U, V>(m, op, alpha, x, beta, y);
  with_index_type(m.index("ell_indices").dtype, [&](auto zero) { f(m, EllCsr<U, decltype(zero)>::of(m)); });
}

void prepare_rest(const Matrix& m, Op op) {
  if (has_mirror(m)) mirrored_columns(m);  // which asks the GPU
  rows::prepare_transpose(has_mirror(m) ? rest_of(m) : m, op);
}

template <class U, class V>
struct Warp {
  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    hybrid::run<U, V>(m, op, alpha, x, beta, y, [&]<class I>(const Matrix&, const EllCsr<U, I>& a) {
      walk<U, V>(walk_rows<I, U, V>, 32, a, op, alpha, x, beta, y);
    });
  }
};
template <class U, class V>
struct Warp2 {
  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    hybrid::run<U, V>(m, op, alpha, x, beta, y, [&]<class I>(const Matrix&, const EllCsr<U, I>& a) {
      walk<U, V>(walk_halves<I, U, V>, 64, a, op, alpha, x, beta, y);
    });
  }
};

template <int Threads>
void walk_in_blocks(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
  using T = double;
  constexpr int lanes = Threads < 32 ? Threads : 32;
  if (op.transposed || has_mirror(m) || m.index("ell_indices").dtype != DType::i32)
    return Warp<T, T>::run(m, op, alpha, x, beta, y);
  walk<T, T>(walk_rows<std::int32_t, T, T, lanes>, lanes, EllCsr<T>::of(m), op, alpha, x, beta, y, Threads);
}
// In double precision and with columns of 32 bits, as the paper has them; else "warp_per_row".
template <int Threads>
MatvecRow row_in_blocks(const char* name) {
  MatvecRow row{name, every_pair<Warp, MatvecKernel>(), prepare_rest};
  constexpr int f64 = static_cast<int>(DType::f64);
  row.typed.at[f64][f64] = walk_in_blocks<Threads>;
  return row;
}

template <class U, class V>
struct SharedX {
  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    hybrid::run<U, V>(m, op, alpha, x, beta, y, [&]<class I>(const Matrix& plain, const EllCsr<U, I>& a) {
      if (share_x<U, V>(plain, a, op, alpha, x, beta, y)) return;
      walk<U, V>(walk_rows<I, U, V>, 32, a, op, alpha, x, beta, y);
    });
  }
};

void prepare(const Matrix& m, Op op) {
  prepare_rest(m, op);
  if (!op.transposed) prepare_to_share_x(has_mirror(m) ? rest_of(m) : m);
}

FormatKernels make() {
  return {{{"shared_x", every_pair<SharedX, MatvecKernel>(), prepare},
           {"warp_per_row", every_pair<Warp, MatvecKernel>(), prepare_rest},
           {"warp2", every_pair<Warp2, MatvecKernel>(), prepare_rest},
           row_in_blocks<16>("block_16"),
           row_in_blocks<32>("block_32"),
           row_in_blocks<64>("block_64")},
          {}};
}
const RegisterKernels registered("ellcsr", 0, make);

// ---- From rows and to rows ---------------------------------------------------------------------------
Csr<float> structure_of(const Matrix& m) {
  return {m.rows, m.cols, m.index("indptr").as<int64>(), m.index("indices").as<std::int32_t>(), nullptr};
}

// A thread takes a row: how many of its entries do not lead.
__global__ void __launch_bounds__(kBlock) count_rest(const Csr<float> csr, Leading leading, std::int64_t* counts) {
  const int64 i = thread_index();
  if (i >= csr.rows) return;
  const std::int32_t* const columns = csr.indices + csr.indptr[i];
  const int64 count = csr.indptr[i + 1] - csr.indptr[i];
  counts[i] = leading.kept(i, columns, count) - leading.of(i, columns, count);
}

// A warp takes a row.
template <class T>
__global__ void __launch_bounds__(kBlock)
    split_rows(const Csr<T> csr, int64 width, Leading leading, const std::int64_t* indptr, std::int32_t* head,
               std::int32_t* rest, T* values) {
  const int64 i = thread_index() / 32, lane = threadIdx.x % 32;
  if (i >= csr.rows) return;
  const int64 begin = csr.indptr[i], end = begin + leading.kept(i, csr.indices + begin, csr.indptr[i + 1] - begin);
  const int64 middle = end - (indptr[i + 1] - indptr[i]);
  for (int64 w = lane; w < width; w += 32) {
    const bool entry = begin + w < middle;
    head[i * width + w] = entry ? csr.indices[begin + w] : -1;
    values[i * width + w] = entry ? csr.values[begin + w] : T{};
  }
  for (int64 to = indptr[i] + lane, from = middle + lane; to < indptr[i + 1]; to += 32, from += 32) {
    rest[to] = csr.indices[from];
    values[csr.rows * width + to] = csr.values[from];
  }
}

// Leading entries of row i.
template <class T>
__device__ int64 length_of(const EllCsr<T>& a, int64 i) {
  return bisect(0, a.width, [&](int64 w) { return a.head.indices[i * a.width + w] >= 0; });
}

__global__ void __launch_bounds__(kBlock) measure_rows(const EllCsr<float> a, std::int64_t* lengths) {
  const int64 i = thread_index();
  if (i < a.rows) lengths[i] = length_of(a, i) + a.indptr[i + 1] - a.indptr[i];
}

// A warp takes a row.
template <class T>
__global__ void __launch_bounds__(kBlock)
    join_rows(const EllCsr<T> a, const std::int64_t* indptr, std::int32_t* indices, T* values) {
  const int64 i = thread_index() / 32, lane = threadIdx.x % 32;
  if (i >= a.rows) return;
  const int64 begin = indptr[i], middle = indptr[i + 1] - (a.indptr[i + 1] - a.indptr[i]);
  for (int64 to = begin + lane, from = i * a.width + lane; to < middle; to += 32, from += 32) {
    indices[to] = a.head.indices[from];
    values[to] = a.head_values[from];
  }
  for (int64 to = middle + lane, from = a.indptr[i] + lane; to < indptr[i + 1]; to += 32, from += 32) {
    indices[to] = a.rest.indices[from];
    values[to] = a.rest_values[from];
  }
}

// A warp takes a row, and deals its leading columns to banks. It counts them first.
template <class T>
__global__ void __launch_bounds__(kBlock) deal_rows(const EllCsr<T> a, std::int32_t* head, T* values) {
  __shared__ std::int32_t banks[kWarps][Deal::kBanks];
  const int64 i = thread_index() / 32, line = i * a.width;
  const int lane = threadIdx.x % 32;
  std::int32_t* const bank_of = banks[threadIdx.x / 32];
  if (i >= a.rows) return;
  if (lane < Deal::kBanks) bank_of[lane] = 0;
  __syncwarp();
  for (int64 w = lane; w < a.width; w += 32) {
    if (a.head.indices[line + w] >= 0) atomicAdd(bank_of + Deal::bank(a.head.indices[line + w]), 1);
  }
  __syncwarp();
  Deal deal;
  for (int b = 0; b < Deal::kBanks; ++b) deal.all += deal.counts[b] = bank_of[b];
  __syncwarp();
  if (lane < Deal::kBanks) bank_of[lane] = 0;  // those that came before
  for (int64 first = 0; first < a.width; first += 32) {
    const int64 w = first + lane;
    const std::int32_t j = w < a.width ? a.head.indices[line + w] : -1;
    const int bank = j >= 0 ? Deal::bank(j) : Deal::kBanks;
    const unsigned alike = __match_any_sync(0xffffffffu, bank), before = alike & ((1u << lane) - 1);
    __syncwarp();
    int64 to = w;
    if (j >= 0) to = deal.place(bank_of[bank] + __popc(before), bank);
    __syncwarp();
    if (j >= 0 && before == 0) bank_of[bank] += __popc(alike);
    if (w < a.width) head[line + to] = j, values[line + to] = a.head_values[line + w];
  }
}

// A warp takes a row, a lane counts what comes before an entry in ascending order, padding last.
template <class T>
__global__ void __launch_bounds__(kBlock) sort_rows(const EllCsr<T> a, std::int32_t* head, T* values) {
  const int64 i = thread_index() / 32, line = i * a.width;
  if (i >= a.rows) return;
  for (int64 w = threadIdx.x % 32; w < a.width; w += 32) {
    const auto column = static_cast<std::uint32_t>(a.head.indices[line + w]);
    int64 to = line;
    for (int64 v = 0; v < a.width; ++v) {
      const auto other = static_cast<std::uint32_t>(a.head.indices[line + v]);
      to += other < column || (other == column && v < w);
    }
    head[to] = a.head.indices[line + w], values[to] = a.head_values[line + w];
  }
}

// The same matrix, where `kernel` writes what leads to new arrays.
template <class F>
Matrix moved_in_rows(const char* what, const Matrix& m, const F& kernel) {
  const Shape leads = m.index("ell_indices").shape;
  Array head = Array::empty(DType::i32, leads), values = Array::empty(m.dtype, {m.values.size()});
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch(what, kernel(zero), blocks(m.rows * 32), dim3(kBlock), EllCsr<T>::of(m), head.as<std::int32_t>(),
           values.as<T>());
    const int64 first = leads.size() * sizeof(T);
    copy_bytes(values.as<char>() + first, m.values.as<char>() + first, values.nbytes() - first);
  });
  return with_head(m, std::move(head), std::move(values));
}

// A thread takes a leading column: it lies in the matrix or is padding, and comes after the one before it in its row.
__global__ void __launch_bounds__(kBlock)
    check_leading(const EllCsr<float> a, int64 mirrored, Position* outside, Position* order) {
  const int64 e = thread_index();
  if (e >= a.rows * a.width) return;
  const std::int32_t j = a.head.indices[e];
  if (j < -1 || j >= a.end_of_head(e / a.width, mirrored)) return tell(outside, e);
  const std::int32_t before = e % a.width > 0 ? a.head.indices[e - 1] : 0;
  if (j >= 0 && e % a.width > 0 && (before < 0 || j <= before)) tell(order, e);
}

// A thread takes a row: the rest of it comes after all that leads.
__global__ void __launch_bounds__(kBlock)
    check_rest(const EllCsr<float> a, int64 mirrored, Position* outside, Position* order) {
  const int64 i = thread_index();
  if (i >= a.rows || a.indptr[i] == a.indptr[i + 1]) return;
  if (!a.fits_mirror(i, mirrored)) return tell(outside, a.rows * a.width + a.indptr[i]);
  for (int64 w = 0; w < a.width; ++w) {
    if (a.leads(i, w) >= a.follows(a.indptr[i])) return tell(order, a.rows * a.width + a.indptr[i]);
  }
}

}  // namespace

}  // namespace cuda::hybrid

using namespace cuda;
using namespace cuda::hybrid;

Matrix ellcsr_from_rows(const Matrix& m, int64 width, Leading leading) {
  Array indptr = Array::zeros(DType::i64, {m.rows + 1}), head = Array::empty(DType::i32, {m.rows, width});
  auto* start = indptr.as<std::int64_t>();
  launch("count rest", count_rest, blocks(m.rows), dim3(kBlock), structure_of(m), leading, start + 1);
  const int64 count = inclusive_sum(start + 1, start + 1, m.rows);
  Array rest = Array::empty(DType::i32, {count}), values = Array::empty(m.dtype, {head.size() + count});
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch("split rows", split_rows<T>, blocks(m.rows * 32), dim3(kBlock), Csr<T>::of(m), width, leading, start,
           head.as<std::int32_t>(), rest.as<std::int32_t>(), values.as<T>());
  });
  return ellcsr_over(m.rows, m.cols, std::move(head), std::move(rest), std::move(indptr), m.values.size(),
                     std::move(values));
}

Matrix dealt(const Matrix& m) {
  return moved_in_rows("deal rows", m, [](auto zero) { return deal_rows<decltype(zero)>; });
}

Matrix undealt(const Matrix& m) {
  return moved_in_rows("sort rows", m, [](auto zero) { return sort_rows<decltype(zero)>; });
}

Matrix rows_from_ellcsr(const Matrix& m) {
  Array indptr = Array::zeros(DType::i64, {m.rows + 1});
  auto* start = indptr.as<std::int64_t>();
  launch("measure rows", measure_rows, blocks(m.rows), dim3(kBlock), EllCsr<float>::over(*m.structure, nullptr),
         start + 1);
  const int64 count = inclusive_sum(start + 1, start + 1, m.rows);
  Array indices = Array::empty(DType::i32, {count}), values = Array::empty(m.dtype, {count});
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch("join rows", join_rows<T>, blocks(m.rows * 32), dim3(kBlock), EllCsr<T>::of(m), start,
           indices.as<std::int32_t>(), values.as<T>());
  });
  return compressed(csr, m.rows, m.cols, std::move(indices), std::move(indptr), std::move(values));
}

Fault fault_in_ellcsr(const EllCsr<float>& a, int64 mirrored) {
  const Firsts found;
  launch("check leading", check_leading, blocks(a.rows * a.width), dim3(kBlock), a, mirrored, found.outside(),
         found.order());
  launch("check rest", check_rest, blocks(a.rows), dim3(kBlock), a, mirrored, found.outside(), found.order());
  return found.fault(Fault::outside);
}

}  // namespace diagsparse
