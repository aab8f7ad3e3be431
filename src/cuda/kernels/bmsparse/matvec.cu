// Kernel "row": y = alpha op(A) x + beta y.
//
//   A: m x n in blocks of 8 x 8 (formats/bmsparse.hpp).  x: n, or n x k.  y: m, or m x k.
//
// One, two or four groups of eight threads take a row of blocks of op(A), by how many blocks a row has; each group
// takes every first, second or fourth block. What comes next of A is asked for before a block is summed. A thread of a
// group takes
//   a row of a block, whose values it reads one after another: of A with blocks that are half empty or more;
//   a column of it as it is stored, so that a group reads values that lie side by side: of fuller ones, and of a
//   transpose, whose rows these columns are. Of A it sums all eight rows, and these sums come together at the end.
// The sums of a row are added in an order that the matrix alone decides: the same bits on every run. Rows with very
// many blocks are left to a second launch, in which a block of threads takes a row. The blocks of a transpose are found
// by an index of them column by column, kept with A: 8 bytes a block and a column of blocks.
//
// Of four columns of x and more, and where the elements of x do not lie side by side, a warp takes a row of blocks and
// eight columns, on the FP64 matrix units (fragments.cuh): a place that is not stored counts as zero there, so sums
// that are infinite or no numbers are done again from what is stored alone. Bytes at least: A, x and y.
#include "device/dense.cuh"
#include "device/resident.cuh"
#include "kernels/bmsparse/fragments.cuh"
#include "kernels/bmsparse/kernels.hpp"

namespace diagsparse::cuda::bitmaps {

namespace {

constexpr int64 kLong = 2048;       // blocks of a row that one block of threads takes
constexpr int64 kFull = 20;         // elements of a block on average from which it is read column by column
constexpr int64 kEnough = 1 << 16;  // groups that keep a device busy
constexpr int64 kFewColumns = 3;    // of x, which are multiplied one by one

// op(A), row by row of blocks.
template <class T>
struct Walked {
  int64 rows, cols;  // of op(A)
  const std::int64_t* indptr;
  const std::int32_t *col, *number;
  Source<T> blocks;

  Walked(const Matrix& m, const BlockOperand& of)
      : rows(of.op.transposed ? m.cols : m.rows),
        cols(of.op.transposed ? m.rows : m.cols),
        indptr(of.indptr.as<std::int64_t>()),
        col(of.col.as<std::int32_t>()),
        number(of.number),
        blocks(m, of.op) {}

  __device__ Piece<T> piece(int64 e) const { return blocks.piece(number ? number[e] : e); }
};

// How the threads of a group share out a block.
enum class Way { rows, columns, columns_turned };

// Elements of x that lie side by side, and others.
struct Beside {
  __device__ int operator*(int k) const { return k; }
};

// A pointer as it is: offsets from it stay small numbers, which the compiler would otherwise add to its parts.
template <class T>
__device__ T* settled(T* p) {
  asm("" : "+l"(p));
  return p;
}

// What a thread has summed: its row, or all rows, each with its own column.
template <Way way, class T>
struct RowSums {
  static constexpr int count = way == Way::columns ? kLanes : 1;
  T of[count] = {};

  // Adds a block in columns from x on. Step: int64 or Beside.
  template <class U, class V, class Step>
  __device__ void add(bool conj, const Piece<U>& block, const V* x, Step step) {
    const int lane = threadIdx.x % kLanes;
    const unsigned high = block.bitmap >> 32, low = static_cast<unsigned>(block.bitmap);
    if constexpr (way == Way::rows) {
      const int shift = 24 - 8 * (lane % 4);
      const unsigned half = lane < 4 ? high : low;
      const U* value = block.values + ((lane < 4 ? 0 : __popc(high)) + __popc(half >> shift >> 8));
      for (unsigned set = half << (24 - shift); set >= 0x1000000u;) {
        const int c = __clz(set);
        set ^= 0x80000000u >> c;
        of[0] += multiply(conjugate_if(conj, load_once(value++)), load(x + step * c));
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
      const bool any = (block.bitmap & kFirstColumn >> lane) != 0;
      V own{};
      if (way == Way::columns && any) own = load(x + step * lane);
#pragma unroll
      for (int k = 0; k < kLanes; ++k) {
        if (!has(k)) continue;
        const U factor = conjugate_if(conj, value[k]);
        if constexpr (way == Way::columns) of[k] += multiply(factor, own);
        else of[0] += multiply(factor, load(x + step * k));
      }
    }
  }

  // The sum of this thread's row, once every thread of the group has what it took.
  __device__ T total() const {
    if constexpr (way != Way::columns) {
      return of[0];
    } else {
      const int lane = threadIdx.x % kLanes;
      T mine{};
#pragma unroll
      for (int k = 0; k < kLanes; ++k) {
        T sum = of[k];
        for (int step = 1; step < kLanes; step *= 2) sum += from_other(sum, step);
        if (lane == k) mine = sum;
      }
      return mine;
    }
  }

 private:
  __device__ static T from_other(T v, int step) {
    if constexpr (is_complex<T>) {
      return {__shfl_xor_sync(kAllLanes, v.re, step), __shfl_xor_sync(kAllLanes, v.im, step)};
    } else {
      return __shfl_xor_sync(kAllLanes, v, step);
    }
  }
};

// Adds every `each`th block of `count` blocks from `begin` on; a row has less than 2^31 of them.
template <Way way, class U, class V, class Step>
__device__ void add_blocks(const Walked<U>& a, std::int64_t begin, int count, int part, int each, const V* x, Step step,
                           RowSums<way, Product<U, V>>& sums) {
  constexpr bool turned = way == Way::columns_turned;
  const std::int32_t *const col = settled(a.col + begin), *const number = turned ? settled(a.number + begin) : nullptr;
  const Bitmap* const bitmap = settled(a.blocks.bitmap + (turned ? 0 : begin));
  const std::int64_t* const values_at = settled(a.blocks.begin + (turned ? 0 : begin));
  const auto piece = [&](int e) -> Piece<U> {
    const int p = turned ? number[e] : e;
    return {bitmap[p], a.blocks.values + values_at[p]};
  };
  Piece<U> next{};
  std::int32_t next_col = 0;
  if (part < count) next = piece(part), next_col = col[part];
  for (int e = part; e < count; e += each) {
    const Piece<U> block = next;
    const V* const in = settled(x + step * (kLanes * next_col));
    if (e + each < count) next = piece(e + each), next_col = col[e + each];
    sums.add(a.blocks.conj, block, in, step);
  }
}

template <class T>
__device__ T from_above(T v, int distance) {
  if constexpr (is_complex<T>) {
    return {__shfl_down_sync(kAllLanes, v.re, distance), __shfl_down_sync(kAllLanes, v.im, distance)};
  } else {
    return __shfl_down_sync(kAllLanes, v, distance);
  }
}

// 2^shared groups take a row of blocks. Elements of x lie side by side.
template <Way way, class U, class V>
__global__ void __launch_bounds__(kBlock, way == Way::rows ? 5 : 4)
    sum_rows(const Walked<U> a, int64 rows, int shared, const Block<const V> x, const Block<Product<U, V>> y,
             int64 cols, const __grid_constant__ Update<Product<U, V>> update) {
  const int64 g = group_index(), i = g >> shared, row = kTile * i + threadIdx.x % kLanes;
  const int each = 1 << shared, part = static_cast<int>(g) & (each - 1);
  const std::int64_t begin = i < rows ? a.indptr[i] : 0, end = i < rows ? a.indptr[i + 1] : 0;
  const int count = end - begin > kLong ? 0 : static_cast<int>(end - begin);
  const bool writes = part == 0 && row < a.rows && end - begin <= kLong;
  for (int64 c = blockIdx.y; c < cols; c += gridDim.y) {
    RowSums<way, Product<U, V>> sums;
    add_blocks(a, begin, count, part, each, x.data + c * x.col, Beside{}, sums);
    __syncwarp();
    Product<U, V> sum = sums.total();
    for (int other = each / 2; other > 0; other /= 2) sum += from_above(sum, kLanes * other);
    if (writes) update.one(y.data + row * y.row + c * y.col, sum);
  }
}

// A block of threads takes a row of blocks that is long.
template <Way way, class U, class V>
__global__ void __launch_bounds__(kBlock)
    sum_long_rows(const Walked<U> a, const std::int64_t* rows, const Block<const V> x, const Block<Product<U, V>> y,
                  int64 cols, const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  __shared__ Bits<T> memory[kBlock];
  T* const of_group = reinterpret_cast<T*>(memory);
  const int64 i = rows[blockIdx.x], row = kTile * i + threadIdx.x;
  const int count = static_cast<int>(a.indptr[i + 1] - a.indptr[i]), group = threadIdx.x / kLanes;
  for (int64 c = blockIdx.y; c < cols; c += gridDim.y) {
    RowSums<way, T> sums;
    add_blocks(a, a.indptr[i], count, group, kGroups, x.data + c * x.col, x.row, sums);
    __syncwarp();
    of_group[threadIdx.x] = sums.total();
    __syncthreads();
    if (threadIdx.x < kLanes && row < a.rows) {
      T sum{};
      for (int g = 0; g < kGroups; ++g) sum += of_group[g * kLanes + threadIdx.x];
      update.one(y.data + row * y.row + c * y.col, sum);
    }
    __syncthreads();
  }
}

// ---- Several columns of x ------------------------------------------------------------------------------
// Element (r, c) of the tile of y, from what is stored alone.
template <class U, class V>
__device__ __noinline__ Product<U, V> stored_sum(const Walked<U>& a, int64 i, int r, const V* x, int64 x_step) {
  Product<U, V> sum{};
  for (std::int64_t e = a.indptr[i]; e < a.indptr[i + 1]; ++e) {
    const Piece<U> block = a.piece(e);
    for (int k = 0; k < kLanes; ++k) {
      if (!a.blocks.has(block, r, k)) continue;
      sum += multiply(a.blocks.value(block, r, k), load(x + (kTile * a.col[e] + k) * x_step));
    }
  }
  return sum;
}

template <class U, class V>
__global__ void __launch_bounds__(kBlock)
    sum_tiles(const Walked<U> a, int64 rows, const Block<const V> x, const Block<Product<U, V>> y, int64 cols,
              const __grid_constant__ Update<Product<U, V>> update) {
  const int64 i = thread_index() / 32;
  if (i >= rows || a.indptr[i + 1] - a.indptr[i] > kLong) return;
  const int lane = threadIdx.x % 32, row = lane / 4, inner = lane % 4;
  const Places<U> places(a.blocks, row, inner, 0, 4);
  const Bitmap half = a.blocks.turned ? kTop : kLeft;
  const std::int64_t end = a.indptr[i + 1];
  for (int64 c = blockIdx.y * kTile; c < cols; c += gridDim.y * kTile) {
    const bool inside = c + row < cols;  // this lane's column of x
    const V* const in = x.data + (c + row) * x.col;
    Sums<Product<U, V>> sums;
    for (std::int64_t first = a.indptr[i]; first < end; first += 32) {
      Piece<U> piece{};
      std::int32_t col = 0;
      if (first + lane < end) piece = a.piece(first + lane), col = a.col[first + lane];
      const int here = static_cast<int>(min(static_cast<std::int64_t>(32), end - first));
#pragma unroll 2
      for (int e = 0; e < here; ++e) {
        const Piece<U> block = from_lane(piece, e);
        const int64 j = kTile * __shfl_sync(kAllLanes, col, e) + inner;
        const bool some[2] = {(block.bitmap & half) != 0, (block.bitmap & ~half) != 0};
        U of_a[2];
        V of_x[2];
#pragma unroll
        for (int s = 0; s < 2; ++s) {
          if (!some[s]) continue;
          of_a[s] = places.read(block, s);
          of_x[s] = inside && j + 4 * s < a.cols ? load(in + (j + 4 * s) * x.row) : V{};
        }
#pragma unroll
        for (int s = 0; s < 2; ++s) {
          if (some[s]) sums.add(of_a[s], of_x[s]);
        }
      }
    }
#pragma unroll
    for (int v = 0; v < 2; ++v) {
      const int64 column = c + 2 * inner + v;
      if (column >= cols || kTile * i + row >= a.rows) continue;
      Product<U, V> sum = sums.value(v);
      if (!sums.finite(v)) sum = stored_sum(a, i, row, x.data + column * x.col, x.row);
      update.one(y.data + (kTile * i + row) * y.row + column * y.col, sum);
    }
  }
}

// The rows of blocks of op(A) that are long.
struct LongRows {
  Array rows;

  int64 count() const { return rows.nbytes() / 8; }
  template <class F>
  void visit(const F& f) const {
    f(rows);
  }
};

std::shared_ptr<LongRows> long_rows(const Matrix& m, const BlockOperand& of) {
  return keep<LongRows>(m.kept(), of.op.transposed ? "long columns of blocks" : "long rows of blocks", [&] {
    const std::vector<std::int64_t> indptr = download(of.indptr.as<const std::int64_t>(), of.rows + 1);
    std::vector<std::int64_t> rows;
    for (int64 i = 0; i < of.rows; ++i) {
      if (indptr[i + 1] - indptr[i] > kLong) rows.push_back(i);
    }
    return std::make_shared<LongRows>(LongRows{upload(rows)});
  });
}

template <class U, class V>
struct RowsOfBlocks {
  using T = Product<U, V>;

  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const BlockOperand of(*m.structure, op);
    if (op.transposed) return multiply<Way::columns_turned>(m, of, alpha, x, beta, y);
    const bool full = m.values.size() >= kFull * of.blocks();
    if (full) multiply<Way::columns>(m, of, alpha, x, beta, y);
    else multiply<Way::rows>(m, of, alpha, x, beta, y);
  }

 private:
  template <Way way>
  static void multiply(const Matrix& m, const BlockOperand& of, Scalar alpha, const Dense& x, Scalar beta,
                       const Dense& y) {
    const Walked<U> a(m, of);
    const int64 rows = of.rows;
    const Block<const V> in(x);
    const Block<T> out(y);
    const Update<T> update(alpha, beta);
    const auto by_columns = [&](int64 columns) { return static_cast<unsigned>(std::min<int64>(columns, 1024)); };
    if (x.cols > kFewColumns || x.row_stride != 1) {
      dim3 grid = blocks(32 * rows);
      grid.y = by_columns(ceil_div(x.cols, kTile));
      launch("bmsparse columns", sum_tiles<U, V>, grid, dim3(kBlock), a, rows, in, out, x.cols, update);
    } else {
      int shared = 0;
      const int64 mean = of.blocks() / std::max<int64>(1, rows);
      if (way == Way::rows && mean >= 6) shared = 1;
      while (shared < 2 && rows << shared < kEnough && mean > 4 << shared) ++shared;
      dim3 grid = groups(rows << shared);
      grid.y = by_columns(x.cols);
      launch("bmsparse matvec", sum_rows<way, U, V>, grid, dim3(kBlock), a, rows, shared, in, out, x.cols, update);
    }
    const auto left = long_rows(m, of);
    const dim3 grid(static_cast<unsigned>(left->count()), by_columns(x.cols));
    launch("bmsparse long rows", sum_long_rows<way, U, V>, grid, dim3(kBlock), a,
           left->rows.template as<const std::int64_t>(), in, out, x.cols, update);
  }
};

void prepare(const Matrix& m, Op op) { long_rows(m, BlockOperand(*m.structure, op)); }

}  // namespace

MatvecRow by_rows() { return {"row", every_pair<RowsOfBlocks, MatvecKernel>(), prepare}; }

}  // namespace diagsparse::cuda::bitmaps
