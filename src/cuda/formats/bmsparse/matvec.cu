// Kernel "row": y = alpha op(A) x + beta y.
//
//   A: m x n in blocks of 8 x 8 (formats/bmsparse/layout.hpp).  x: n, or n x k.  y: m, or m x k.
//
// If blocks are not nearly empty, a half warp processes a block, and a thread four neighbouring elements of it
// (`sum_positions`). Otherwise, and for a transpose, groups of eight threads process blocks (`sum_rows`). A thread of a
// group processes a row of a block, whose values it reads one after another, or, for a transpose, a column of the block
// as it is stored, so that the group reads neighbouring values. One such team (half warp or group) processes a row of
// blocks; if there are few rows, two or four teams do, and each processes every second or fourth block. The next block
// of A is prefetched before a block is summed. The order of the sums of a row depends only on the matrix and the shape
// of x, so every run gives the same bits. Rows with many more blocks than others are processed in a second launch, by a
// thread block each. A transpose needs an index of the blocks in the order of columns, which is cached with A: 8 bytes
// per block and per column of blocks.
//
// For four or more columns of x, or if the elements of x are not contiguous, matvec_tiles.cu processes all rows except
// the long ones. Bytes at least: A, x and y.
#include "device/dense.cuh"
#include "device/lanes.cuh"
#include "device/resident.cuh"
#include "formats/bmsparse/kernels.hpp"
#include "formats/bmsparse/operand_rows.cuh"

namespace diagsparse::cuda::bmsparse {

namespace {

constexpr int64 kEmpty = 10;        // mean number of elements per block below which groups process the blocks by rows
constexpr int64 kEnough = 1 << 16;  // teams that keep a device busy
constexpr int64 kFewColumns = 3;    // most columns of x that are multiplied one by one
constexpr int kHalfWarp = 16;
constexpr int kLongBlock = 512, kLongGroups = kLongBlock / kLanes;  // threads and groups that process a long row

// The stride of x if its elements are contiguous; otherwise it is a number.
struct UnitStride {
  __device__ int operator*(int k) const { return k; }
};

// Hides how a pointer was computed, so that offsets from it stay small. Otherwise the compiler would combine them with
// the terms of the pointer.
template <class T>
__device__ T* opaque(T* p) {
  asm("" : "+l"(p));
  return p;
}

// Adds the products of this thread's part of a block with the elements of x from `x` on. Step: int64 or UnitStride.
template <bool transpose, class U, class V, class Step>
__device__ void add_block(bool conj, const BlockView<U>& block, const V* x, Step step, Product<U, V>& sum) {
  const int lane = threadIdx.x % kLanes;
  const unsigned high = block.bitmap >> 32, low = static_cast<unsigned>(block.bitmap);
  if constexpr (!transpose) {
    const int shift = 24 - 8 * (lane % 4);
    const unsigned half = lane < 4 ? high : low;
    const U* value = block.values + ((lane < 4 ? 0 : __popc(high)) + __popc(half >> shift >> 8));
    for (unsigned set = half << (24 - shift); set >= 0x1000000u;) {
      const int c = __clz(set);
      set ^= 0x80000000u >> c;
      sum += multiply(conjugate_if(conj, arithmetic(load_once(value++))), load(x + step * c));
    }
  } else {
    const auto has = [&](int k) { return ((k < 4 ? high : low) << (8 * (k % 4) + lane) >> 31) != 0; };
    U value[kLanes];
    int before = 0;
#pragma unroll
    for (int k = 0; k < kLanes; ++k) {
      const unsigned row = (k < 4 ? high : low) >> (24 - 8 * (k % 4)) & 0xffu;
      if (has(k)) value[k] = load_once(block.values + before + __popc(row >> (8 - lane)));
      before += __popc(row);
    }
#pragma unroll
    for (int k = 0; k < kLanes; ++k) {
      if (has(k)) sum += multiply(conjugate_if(conj, arithmetic(value[k])), load(x + step * k));
    }
  }
}

// The sum of every `each`-th of `count` blocks from `begin` on; a row has less than 2^31 of them.
template <bool transpose, class U, class V, class Step>
__device__ Product<U, V> sum_of_blocks(const OperandRows<U>& a, std::int64_t begin, int count, int part, int each,
                                       const V* x, Step step) {
  const std::int32_t *const col = opaque(a.col + begin), *const number = transpose ? opaque(a.number + begin) : nullptr;
  const Bitmap* const bitmap = opaque(a.blocks.bitmap + (transpose ? 0 : begin));
  const std::int64_t* const values_at = opaque(a.blocks.begin + (transpose ? 0 : begin));
  const auto view = [&](int e) -> BlockView<U> {
    const int p = transpose ? number[e] : e;
    return {bitmap[p], a.blocks.values + values_at[p]};
  };
  Product<U, V> sum{};
  BlockView<U> next{};
  std::int32_t next_col = 0;
  if (part < count) next = view(part), next_col = col[part];
  for (int e = part; e < count; e += each) {
    const BlockView<U> block = next;
    const V* const in = opaque(x + step * (kLanes * next_col));
    if (e + each < count) next = view(e + each), next_col = col[e + each];
    add_block<transpose>(a.blocks.conj, block, in, step, sum);
  }
  __syncwarp();
  return sum;
}

// The work of a team of `Lanes` threads: part of a row of blocks, which is divided among 2^shared teams.
template <int Lanes>
struct Chunk {
  int64 i, row;  // row of blocks, and this thread's row of A
  int part, each, count;
  std::int64_t begin;
  bool writes;  // whether this thread has the row's sum at the end

  template <class U>
  __device__ Chunk(const OperandRows<U>& a, int64 rows, int shared) {
    const int64 team = thread_index() / Lanes;
    const int lane = threadIdx.x % Lanes, of_row = Lanes / kLanes;
    i = team >> shared;
    row = kTile * i + lane / of_row;
    each = 1 << shared;
    part = static_cast<int>(team) & (each - 1);
    begin = i < rows ? a.indptr[i] : 0;
    const std::int64_t length = i < rows ? a.indptr[i + 1] - begin : 0;
    count = length > a.most ? 0 : static_cast<int>(length);
    writes = part == 0 && lane % of_row == 0 && row < a.rows && length <= a.most;
  }

  // The sum over all threads that process the same row.
  template <class T>
  __device__ T reduce(T sum) const {
    if (Lanes > kLanes) sum += of_lane_after(sum, 1);
    for (int other = each / 2; other > 0; other /= 2) sum += of_lane_after(sum, Lanes * other);
    return sum;
  }
};

// Half warps process blocks. The elements of x are contiguous.
template <class U, class V>
__global__ void __launch_bounds__(kBlock, 5)
    sum_positions(const OperandRows<U> a, int64 rows, int shared, const Block<const V> x, const Block<Product<U, V>> y,
                  int64 cols, const __grid_constant__ Update<Product<U, V>> update) {
  constexpr int positions = static_cast<int>(kTile * kTile) / kHalfWarp;
  const Chunk<kHalfWarp> chunk(a, rows, shared);
  const int lane = threadIdx.x % kHalfWarp, shift = 28 - 8 * (lane / 2 % 4) - positions * (lane % 2);
  const std::int32_t* const col = opaque(a.col + chunk.begin);
  const Bitmap* const bitmap = opaque(a.blocks.bitmap + chunk.begin);
  const std::int64_t* const values_at = opaque(a.blocks.begin + chunk.begin);
  for (int64 c = blockIdx.y; c < cols; c += gridDim.y) {
    const V* const in = opaque(x.data + c * x.col + positions * (lane % 2));
    Product<U, V> sum{};
    Bitmap next = 0;
    std::int64_t next_at = 0;
    std::int32_t next_col = 0;
    const auto fetch = [&](int e) { next = bitmap[e], next_at = values_at[e], next_col = col[e]; };
    if (chunk.part < chunk.count) fetch(chunk.part);
    for (int e = chunk.part; e < chunk.count; e += chunk.each) {
      const unsigned high = next >> 32, low = static_cast<unsigned>(next), half = lane < kHalfWarp / 2 ? high : low;
      const unsigned up = half >> shift, mine = up & 15;
      const int before = (lane < kHalfWarp / 2 ? 0 : __popc(high)) + __popc(up >> positions);
      const U* const value = opaque(a.blocks.values + (next_at + before));
      const V* const of_x = opaque(in + static_cast<int64>(kLanes) * next_col);
      if (e + chunk.each < chunk.count) fetch(e + chunk.each);
      U factor[positions];
      V other[positions];
      int at = 0;
#pragma unroll
      for (int k = 0; k < positions; ++k) {
        const int has = mine >> (positions - 1 - k) & 1;
        if (has) factor[k] = load_once(value + at), other[k] = load(of_x + k);
        at += has;
      }
#pragma unroll
      for (int k = 0; k < positions; ++k) {
        if (!(mine >> (positions - 1 - k) & 1)) continue;
        sum += multiply(conjugate_if(a.blocks.conj, arithmetic(factor[k])), other[k]);
      }
    }
    __syncwarp();
    sum = chunk.reduce(sum);
    if (chunk.writes) update.one(y.data + chunk.row * y.row + c * y.col, sum);
  }
}

// Groups process blocks. The elements of x are contiguous.
template <bool transpose, class U, class V>
__global__ void __launch_bounds__(kBlock, transpose ? 4 : 5)
    sum_rows(const OperandRows<U> a, int64 rows, int shared, const Block<const V> x, const Block<Product<U, V>> y,
             int64 cols, const __grid_constant__ Update<Product<U, V>> update) {
  const Chunk<kLanes> chunk(a, rows, shared);
  for (int64 c = blockIdx.y; c < cols; c += gridDim.y) {
    const Product<U, V> sum = chunk.reduce(sum_of_blocks<transpose>(a, chunk.begin, chunk.count, chunk.part, chunk.each,
                                                                    x.data + c * x.col, UnitStride{}));
    if (chunk.writes) update.one(y.data + chunk.row * y.row + c * y.col, sum);
  }
}

// A thread block processes a long row of blocks.
template <bool transpose, class U, class V>
__global__ void __launch_bounds__(kLongBlock)
    sum_long_rows(const OperandRows<U> a, const std::int64_t* rows, const Block<const V> x,
                  const Block<Product<U, V>> y, int64 cols, const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  __shared__ Bits<T> memory[kLongBlock];
  T* const of_group = reinterpret_cast<T*>(memory);
  const int64 i = rows[blockIdx.x], row = kTile * i + threadIdx.x;
  const int count = static_cast<int>(a.indptr[i + 1] - a.indptr[i]), group = threadIdx.x / kLanes;
  for (int64 c = blockIdx.y; c < cols; c += gridDim.y) {
    of_group[threadIdx.x] =
        sum_of_blocks<transpose>(a, a.indptr[i], count, group, kLongGroups, x.data + c * x.col, x.row);
    __syncthreads();
    if (threadIdx.x < kLanes && row < a.rows) {
      T sum{};
      for (int g = 0; g < kLongGroups; ++g) sum += of_group[g * kLanes + threadIdx.x];
      update.one(y.data + row * y.row + c * y.col, sum);
    }
    __syncthreads();
  }
}

// The rows of blocks of op(A) that are long.
struct LongRows {
  Array rows;

  int64 count() const { return rows.nbytes() / 8; }
  auto arrays() const { return std::tie(rows); }
};

std::shared_ptr<LongRows> long_rows(const Matrix& m, const BlockOperand& of) {
  return cached<LongRows>(m.cache(), of.op.transposed ? "long columns of blocks" : "long rows of blocks", [&] {
    const std::vector<std::int64_t> indptr = download(of.indptr.as<const std::int64_t>(), of.rows + 1);
    const std::int64_t most = most_blocks(of);
    std::vector<std::int64_t> rows;
    for (int64 i = 0; i < of.rows; ++i) {
      if (indptr[i + 1] - indptr[i] > most) rows.push_back(i);
    }
    return std::make_shared<LongRows>(LongRows{upload(rows)});
  });
}

template <class U, class V>
struct RowsOfBlocks {
  using T = Product<U, V>;

  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const BlockOperand of(*m.structure, op);
    if (op.transposed) multiply<true>(m, of, alpha, x, beta, y);
    else multiply<false>(m, of, alpha, x, beta, y);
  }

 private:
  template <bool transpose>
  static void multiply(const Matrix& m, const BlockOperand& of, Scalar alpha, const Dense& x, Scalar beta,
                       const Dense& y) {
    const OperandRows<U> a(m, of);
    const int64 rows = of.rows;
    const Block<const V> in(x);
    const Block<T> out(y);
    const Update<T> update(alpha, beta);
    const auto by_columns = [&](int64 columns) { return static_cast<unsigned>(std::min<int64>(columns, 1024)); };
    if (x.cols > kFewColumns || x.row_stride != 1) {
      by_tiles()(dtype_of<U>(), dtype_of<V>())(m, of.op, alpha, x, beta, y);
    } else {
      const bool positions = !transpose && m.values.size() >= kEmpty * of.blocks();
      const int64 mean = of.blocks() / std::max<int64>(1, rows);
      int shared = !transpose && !positions && mean >= 6 ? 1 : 0;
      while (shared < (positions ? 1 : 2) && rows << shared < kEnough && mean > 4 << shared) ++shared;
      dim3 grid = blocks((positions ? kHalfWarp : kLanes) * (rows << shared));
      grid.y = by_columns(x.cols);
      launch("bmsparse matvec", positions ? sum_positions<U, V> : sum_rows<transpose, U, V>, grid, dim3(kBlock), a,
             rows, shared, in, out, x.cols, update);
    }
    const auto left = long_rows(m, of);
    const dim3 grid(static_cast<unsigned>(left->count()), by_columns(x.cols));
    launch("bmsparse long rows", sum_long_rows<transpose, U, V>, grid, dim3(kLongBlock), a,
           left->rows.template as<const std::int64_t>(), in, out, x.cols, update);
  }
};

void prepare(const Matrix& m, Op op) { long_rows(m, BlockOperand(*m.structure, op)); }

}  // namespace

MatvecRow by_rows() { return {"row", every_stored_pair<RowsOfBlocks, MatvecKernel>(), prepare}; }

}  // namespace diagsparse::cuda::bmsparse
