// Kernel "row" of qband, the default: y = alpha (op(Ab) + op(As)) x + beta y.
//
//   op(A): m x n; the bands as in dia, the rest by rows (for a transpose, with an index of its rows that is cached with
//   A). x: n, or n x k.  y: m, or m x k.  Bytes at least: A + x + y.
//
// It is the kernel of dia (kernels/diagonals/row.cu): a thread processes a few rows and loops over the diagonals that
// have elements in them. Before it writes a sum, it adds the entries of the row outside of the bands, one by one, so y
// is written once. A row with more than kLong such entries is divided into chunks. A kernel that runs first computes
// their sums, with a block per chunk, and the thread adds these in order. So a dense row costs no more than reading its
// entries. The order of a sum depends only on the matrix, so every run gives the same bits.
#include "device/lanes.cuh"
#include "formats/coosr/lines_and_pairs.hpp"
#include "formats/csr/layout.hpp"
#include "formats/qband/kernels.hpp"
#include "formats/qband/rest.cuh"
#include "kernels/matvec/blocks.cuh"
#include "kernels/matvec/vectors.cuh"

namespace diagsparse::cuda::qband {

namespace {

// counts[i] = number of chunks of row i, 0 if it is not long; is_long[i]: whether it is.
__global__ void __launch_bounds__(kBlock)
    count_chunks(const std::int64_t* indptr, int64 rows, std::int64_t* is_long, std::int64_t* counts) {
  const int64 i = thread_index();
  if (i >= rows) return;
  const int64 entries = indptr[i + 1] - indptr[i];
  is_long[i] = entries > kLong;
  counts[i] = entries > kLong ? (entries + kChunk - 1) / kChunk : 0;
}

// Both arrays are running sums here.
__global__ void __launch_bounds__(kBlock) list_long_rows(const std::int64_t* is_long, const std::int64_t* counts,
                                                         int64 rows, std::int32_t* list, std::int32_t* chunks) {
  const int64 i = thread_index();
  if (i >= rows || is_long[i] == (i > 0 ? is_long[i - 1] : 0)) return;
  list[is_long[i] - 1] = static_cast<std::int32_t>(i);
  chunks[is_long[i]] = static_cast<std::int32_t>(counts[i]);
}

// A block sums a chunk, for every gridDim.y-th column.
template <class U, class V>
__global__ void __launch_bounds__(kBlock)
    sum_chunks(const RestRows<U, V> rest, const Block<const V> x, int64 cols, Product<U, V>* sums) {
  using T = Product<U, V>;
  __shared__ Bits<T> of_warps[kBlock / 32];
  const int chunk = blockIdx.x;
  const int64 r = bisect(1, rest.count, [&](int64 k) { return rest.chunks[k] <= chunk; }) - 1, i = rest.long_rows[r];
  const int64 begin = rest.a.indptr[i] + static_cast<int64>(chunk - rest.chunks[r]) * kChunk;
  const int64 end = min(begin + kChunk, rest.a.indptr[i + 1]);
  for (int64 c = blockIdx.y; c < cols; c += gridDim.y) {
    T sum{};
    for (int64 e = begin + threadIdx.x; e < end; e += kBlock) {
      const U value = conjugate_if(rest.conj, rest.a.value_once(e));
      sum += multiply(value, load(x.data + rest.a.indices[e] * x.row + c * x.col));
    }
    sum = sum_of_lanes<32>(sum);
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = to_bits(sum);
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int w = 1; w < kBlock / 32; ++w) sum += from_bits<T>(of_warps[w]);
      sums[c * rest.chunk_count + chunk] = sum;
    }
    __syncthreads();
  }
}

// Multiplies the bands with the kernels of dia, which add `rest` to each row.
template <class U, class V, class Rest>
void multiply_bands(const Matrix& bands, Op op, const Dense& x, const Dense& y, const Rest& rest,
                    const Update<Product<U, V>>& update) {
  const auto resident_data = matvec::resident_terms(bands, op);
  const U* const values = bands.values.as<const U>();
  if (x.cols == 1 && x.row_stride == 1 && y.row_stride == 1) {
    matvec::multiply_vector<U, V>(*resident_data, values, op.conjugated, false, x, y, rest, update);
  } else if (matvec::in_packets<V>(x, y)) {
    matvec::multiply_packets<U, V>(*resident_data, values, op.conjugated, x, y, rest, update);
  } else {
    matvec::multiply_block<U, V>(*resident_data, matvec::Neighbouring(), values, op.conjugated, x, y, rest, update);
  }
}

template <class U, class V>
struct RowMatvec {
  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    using T = Product<U, V>;
    const QuasiBand a(*m.structure, op);
    const Matrix bands = bands_of(m);
    if (a.entries() == 0) {
      static const MatvecKernel of_dia = find_matvec(bands.format, "").typed(dtype_of<U>(), dtype_of<V>());
      return of_dia(bands, op, alpha, x, beta, y);
    }
    const std::shared_ptr<ResidentRest> resident_data = resident_rest(a);
    const Scratch<T> sums(resident_data->chunk_count * x.cols);
    const RowIndex& index = resident_data->index;
    const RestRows<U, V> rest{
        {index.indptr, index.indices, index.positions, m.values.as<const U>() + a.rest_first, a.rows(), a.entries()},
        op.conjugated,
        resident_data->rows.as<const std::int32_t>(),
        resident_data->chunks.as<const std::int32_t>(),
        static_cast<std::int32_t>(resident_data->count),
        sums.get(),
        resident_data->chunk_count};
    launch(
        "sum chunks", sum_chunks<U, V>,
        dim3(static_cast<unsigned>(resident_data->chunk_count), static_cast<unsigned>(std::min<int64>(x.cols, 1024))),
        dim3(kBlock), rest, Block<const V>(x), x.cols, sums.get());
    multiply_bands<U, V>(bands, op, x, y, rest, Update<T>(alpha, beta));
  }
};

void prepare(const Matrix& m, Op op) {
  const QuasiBand a(*m.structure, op);
  matvec::resident_terms(bands_of(m), op);
  if (a.entries() > 0) resident_rest(a);
}

}  // namespace

Matrix structure_of_rest(const QuasiBand& a) {
  Array no_values;
  no_values.shape = {a.rest.stored(), -1};
  no_values.device = current_device();
  return as_lines(Matrix(a.rest.shared_from_this(), no_values));
}

std::shared_ptr<ResidentRest> resident_rest(const QuasiBand& a) {
  const auto result = cached<ResidentRest>(a.rest.cache(), a.op.transposed ? "rest, transposed" : "rest", [&] {
    const auto result = std::make_shared<ResidentRest>();
    result->index = rows_of(structure_of_rest(a), a.op.transposed);
    const std::int64_t* const indptr = result->index.indptr;
    const int64 rows = a.rows();
    const Scratch<std::int64_t> is_long(rows), counts(rows);
    launch("count chunks", count_chunks, blocks(rows), dim3(kBlock), indptr, rows, is_long.get(), counts.get());
    result->count = inclusive_sum(is_long.get(), is_long.get(), rows);
    result->chunk_count = inclusive_sum(counts.get(), counts.get(), rows);
    result->rows = Array::empty(DType::i32, {result->count});
    result->chunks = Array::zeros(DType::i32, {result->count + 1});
    launch("list long rows", list_long_rows, blocks(rows), dim3(kBlock), is_long.get(), counts.get(), rows,
           result->rows.as<std::int32_t>(), result->chunks.as<std::int32_t>());
    return result;
  });
  if (a.op.transposed) rows_of(structure_of_rest(a), true);  // records that this stream uses the index
  return result;
}

MatvecRow row() { return {"row", every_pair<RowMatvec, MatvecKernel>(), prepare}; }

}  // namespace diagsparse::cuda::qband
