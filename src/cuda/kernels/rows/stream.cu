// y = alpha op(A) x + beta y by rows, entries read in long runs: "stream", the default of csr, csc and coo.
//
//   op(A): m x n, by rows (rows.cuh).  x: n, or n x k.  y: m, or m x k.
//
// A block takes whole rows that have up to kProducts entries together (shares.hpp). Its threads read the entries,
// neighbouring threads neighbouring ones, all that a thread has at once.
//
// Of a vector they multiply them and put the products into shared memory. There 1 to 8 threads add up each row, more of
// them the longer the rows are, and a warp a row that is much longer than the others of its share:
//
//     entries    e0 e1 e2 e3 e4 e5 e6 e7      read in order, whatever the lengths of rows
//     products   p0 p1 p2 p3 p4 p5 p6 p7      in shared memory
//     y          p0+p1  p2+p3+p4+p5+p6  p7    a row each
//
// Of a block of columns the entries themselves lie in shared memory. Then a thread takes two columns of a row: threads
// side by side take the columns of x side by side, where these lie so, and share long rows out. So a block reads its
// entries once for up to kColumns columns, and rows of x and y in pieces as long as they are.
//
// A last row that is too long for the shared memory is summed by the whole block. Other kernels take over where the
// mean row is so long that a warp reads it in long runs itself ("warp_per_row", of vectors), and where one row is so
// long that no block should have it alone ("merge"). The order of a sum follows from the matrix, the number of columns
// and whether rows or columns of x lie together: the same bits on every run.
#include <cstdint>
#include <cstdlib>

#include "device/dense.cuh"
#include "device/lanes.cuh"
#include "kernels/row_kernels.hpp"
#include "kernels/rows/rows.cuh"
#include "kernels/rows/shares.hpp"

namespace diagsparse::cuda::rows {

namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32, kEach = 4, kProducts = kThreads * kEach;
constexpr int kMuch = 32;                           // times as many entries as threads: a longer row goes on the list
constexpr int kListed = kProducts / kMuch;          // rows on it, with the last one
constexpr int kColumns = 32;                        // of x, that a block takes at most
constexpr int64 kBlocks = 1024;                     // that fill a GPU
constexpr int64 kLongMean = 256, kLongest = 32768;  // beyond these, other kernels are faster

// A block's rows, and their entries from the first on. The last row may be too long to count among them.
struct Share {
  const std::int64_t* indptr;  // of the first row
  int64 entry;
  int row, rows, entries;
  bool alone;  // one more row follows, of more entries than fit

  __device__ Share(const std::int64_t* of_all, const std::int64_t* first)
      : row(static_cast<int>(first[blockIdx.x])), rows(static_cast<int>(first[blockIdx.x + 1]) - row) {
    indptr = of_all + row;
    entry = indptr[0];
    const int64 all = indptr[rows] - entry;
    alone = all > kProducts;
    if (alone) --rows;
    entries = alone ? begin(rows) : static_cast<int>(all);
  }
  // Where row i begins, counted from the first entry.
  __device__ int begin(int i) const { return static_cast<int>(indptr[i] - entry); }
  __device__ int mean() const { return entries / max(rows, 1); }
};

// Bounds of row i, none of a row that is not there.
struct Row {
  int begin = 0, end = 0;

  __device__ Row(const Share& share, int i) {
    if (i < share.rows) begin = share.begin(i), end = share.begin(i + 1);
  }
};

// The entries of a share, of which thread t has t, t + kThreads, ..., all on their way at once.
template <class U>
struct Fetched {
  U values[kEach];
  std::int32_t columns[kEach];

  __device__ Fetched(const Rows<U>& a, const Share& share) {
    each(share, [&](int k, int e) {
      values[k] = a.value_once(share.entry + e);
      columns[k] = load_once(a.indices + share.entry + e);
    });
  }
  template <class F>
  static __device__ void each(const Share& share, const F& f) {
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const int e = threadIdx.x + k * kThreads;
      if (e < share.entries) f(k, e);
    }
  }
};

template <class U, class V>
__global__ void __launch_bounds__(kThreads, sizeof(Product<U, V>) > 8 ? 4 : 8)
    stream_vector(const Rows<U> a, bool conj, const Block<const V> x, const Block<Product<U, V>> y,
                  const __grid_constant__ Update<Product<U, V>> update, const std::int64_t* first) {
  using T = Product<U, V>;
  __shared__ T products[kProducts];
  __shared__ T of_warps[kWarps];
  __shared__ int list[kListed], listed;
  const Share share(a.indptr, first);
  const int mean = share.mean(), lanes = mean < 16 ? 1 : mean < 48 ? 2 : mean < 128 ? 4 : 8;
  const int lane = threadIdx.x % lanes, warp = threadIdx.x / 32, of_warp = threadIdx.x % 32;
  const auto write = [&](int i, T sum) { update.one(y.data + (share.row + i) * y.row, sum); };

  if (threadIdx.x == 0) listed = 0;
  const Fetched<U> fetched(a, share);
  V elements[kEach];
  fetched.each(share, [&](int k, int) { elements[k] = load(x.data + fetched.columns[k] * x.row); });
  fetched.each(share,
               [&](int k, int e) { products[e] = multiply(conjugate_if(conj, fetched.values[k]), elements[k]); });
  __syncthreads();

  for (int base = 0; base < share.rows; base += kThreads / lanes) {  // all lanes of a warp go on together
    const int i = base + threadIdx.x / lanes;
    const Row row(share, i);
    const bool much = row.end - row.begin > kMuch * lanes;
    const int end = much ? row.begin : row.end;
    T sum{};
#pragma unroll 4
    for (int e = row.begin + lane; e < end; e += lanes) sum += products[e];
    sum = sum_of_lanes(sum, lanes);
    if (i >= share.rows || lane > 0) continue;
    if (much) list[atomicAdd(&listed, 1)] = i;
    else write(i, sum);
  }
  __syncthreads();

  for (int r = warp; r < listed; r += kWarps) {
    const Row row(share, list[r]);
    T sum{};
#pragma unroll 4
    for (int e = row.begin + of_warp; e < row.end; e += 32) sum += products[e];
    sum = sum_of_lanes<32>(sum);
    if (of_warp == 0) write(list[r], sum);
  }

  if (share.alone) {
    const int64 end = share.indptr[share.rows + 1];
    T sum{};
    for (int64 e = share.entry + share.entries + threadIdx.x; e < end; e += kThreads) {
      sum += multiply(conjugate_if(conj, a.value_once(e)), load(x.data + a.indices[e] * x.row));
    }
    sum = sum_of_lanes<32>(sum);
    if (of_warp == 0) of_warps[warp] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int w = 1; w < kWarps; ++w) sum += of_warps[w];
      write(share.rows, sum);
    }
  }
}

// How a block of columns is shared out: `width` threads side by side take 2 * width columns of a row, and a block
// `columns` of them.
struct Columns {
  int width, columns;
};

// Two columns of x: side by side where Pairs, at an address that is a multiple of both, else `apart` elements apart.
template <bool Pairs, class V>
__device__ void load_two(const V* p, int64 apart, V& left, V& right) {
  if constexpr (Pairs) {
    using Piece = std::conditional_t<sizeof(V) == 4, uint2, uint4>;
    static_assert(2 * sizeof(V) == sizeof(Piece));
    const Piece piece = __ldg(reinterpret_cast<const Piece*>(p));
    __builtin_memcpy(&left, &piece, sizeof(V));
    __builtin_memcpy(&right, reinterpret_cast<const char*>(&piece) + sizeof(V), sizeof(V));
  } else {
    left = load(p), right = load(p + apart);
  }
}

// Adds the products of every step-th entry with two columns of x, from entry e on, several of them on their way.
// entry(e, value) is the column of A.
template <bool Pairs, class U, class V, class T, class Entry>
__device__ void add_products(T (&sum)[2], int e, int end, int step, const Entry& entry, const V* x, int64 row,
                             int64 apart) {
  const auto add = [&]<int Count>(std::integral_constant<int, Count>) {
    U value[Count];
    V left[Count], right[Count];
#pragma unroll
    for (int k = 0; k < Count; ++k) {
      load_two<Pairs>(x + static_cast<unsigned>(entry(e + k * step, value[k])) * row, apart, left[k], right[k]);
    }
#pragma unroll
    for (int k = 0; k < Count; ++k) sum[0] += multiply(value[k], left[k]), sum[1] += multiply(value[k], right[k]);
    e += Count * step;
  };
  constexpr std::integral_constant<int, 4> four;
  constexpr std::integral_constant<int, 2> two;
  constexpr std::integral_constant<int, 1> one;
  if constexpr (sizeof(V) > 8) {
    while (e + step < end) add(two);
  } else {
    while (e + 3 * step < end) add(four);
    if (e + step < end) add(two);
  }
  if (e < end) add(one);
}

template <bool Pairs, class U, class V>
__global__ void __launch_bounds__(kThreads, sizeof(Product<U, V>) > 8 ? 4 : 6)
    stream_block(const Rows<U> a, bool conj, const Block<const V> x, const Block<Product<U, V>> y, int cols,
                 const Columns by, const __grid_constant__ Update<Product<U, V>> update, const std::int64_t* first) {
  using T = Product<U, V>;
  constexpr int widest = 8, batch = 4;  // threads over columns; rows of the list that are summed together
  __shared__ U values[kProducts];
  __shared__ std::int32_t columns[kProducts];
  __shared__ T parts[batch][kWarps][2 * widest];
  __shared__ int list[kListed], listed;
  const Share share(a.indptr, first);
  const int width = by.width, group = 2 * width, mean = share.mean();
  int team = width;  // threads that take a row: as many as there are, and four entries for each
  while (team < 32 && 2 * team * share.rows <= kThreads && 8 * team <= mean * width) team *= 2;
  const int lanes = team / width, lane = threadIdx.x % team / width, place = threadIdx.x % width;

  if (threadIdx.x == 0) listed = 0;
  const Fetched<U> fetched(a, share);
  Row row(share, threadIdx.x / team);
  fetched.each(share, [&](int k, int e) {
    values[e] = conjugate_if(conj, fetched.values[k]);
    columns[e] = fetched.columns[k];
  });
  __syncthreads();

  const auto fits = [&](int e, U& value) {
    value = values[e];
    return columns[e];
  };
  const auto stored = [&](int e, U& value) {
    value = conjugate_if(conj, a.value(share.entry + e));
    return load(a.indices + share.entry + e);
  };
  // This thread's columns of a group: c and c + apart. Those that are not there are computed as others and not written.
  const int own = Pairs ? 2 * place : place, apart = Pairs ? 1 : width;
  const int begin_col = blockIdx.y * by.columns, end_col = min(cols, begin_col + by.columns);
  const auto add = [&](T(&sum)[2], int c, int e, int end, int step, const auto& entry) {
    if (c >= end_col) return;
    const int64 other = c + apart < end_col ? apart * x.col : 0;
    add_products<Pairs, U>(sum, e, end, step, entry, x.data + c * x.col, x.row, other);
  };
  const auto write = [&](int i, int c, T sum) {
    if (c < end_col) update.one(y.data + (share.row + i) * y.row + c * y.col, sum);
  };

  for (int base = 0; base < share.rows; base += kThreads / team) {  // all threads of a warp go on together
    const int i = base + threadIdx.x / team;
    const bool there = i < share.rows;
    const bool much = row.end - row.begin > kMuch * lanes;
    if (there && much && threadIdx.x % team == 0) list[atomicAdd(&listed, 1)] = i;
    for (int c = begin_col + own; c - own < end_col; c += group) {
      T sum[2]{};
      if (!much) add(sum, c, row.begin + lane, row.end, lanes, fits);
      for (T& s : sum) s = sum_of_lanes(s, team, width);  // over threads that have the same columns
      if (there && !much && lane == 0) write(i, c, sum[0]), write(i, c + apart, sum[1]);
    }
    row = Row(share, i + kThreads / team);
  }
  __syncthreads();
  if (share.alone && threadIdx.x == 0) list[listed++] = share.rows;
  __syncthreads();

  // Rows on the list: each thread of the block takes a part of each.
  for (int done = 0; done < listed; done += batch) {
    const int here = min(batch, listed - done);
    for (int c = begin_col + own; c - own < end_col; c += group) {
      for (int r = 0; r < here; ++r) {
        const int i = list[done + r], e = share.begin(i) + threadIdx.x / width, end = share.begin(i + 1);
        T sum[2]{};
        if (i < share.rows) add(sum, c, e, end, kThreads / width, fits);
        else add(sum, c, e, end, kThreads / width, stored);
        for (T& s : sum) s = sum_of_lanes(s, 32, width);
        if (threadIdx.x % 32 < width) {
          T* const part = parts[r][threadIdx.x / 32];
          part[own] = sum[0], part[own + apart] = sum[1];
        }
      }
      __syncthreads();
      if (threadIdx.x < here * group) {
        const int r = threadIdx.x / group, column = threadIdx.x % group;
        T sum = parts[r][0][column];
        for (int w = 1; w < kWarps; ++w) sum += parts[r][w][column];
        write(list[done + r], c - own + column, sum);
      }
      __syncthreads();
    }
  }
}

Columns columns_for(const Dense& x, int64 shares) {
  const bool side_by_side = std::abs(x.col_stride) < std::abs(x.row_stride);
  const int width = !side_by_side ? 1 : x.cols <= 2 ? 1 : x.cols <= 4 ? 2 : (x.cols - 1) % 16 < 8 ? 4 : 8;
  int columns = kColumns;
  while (columns > 2 * width && shares * ceil_div(x.cols, columns) < kBlocks) columns /= 2;
  return {width, columns};
}

template <class V>
bool in_pairs(const Dense& x) {
  return x.col_stride == 1 && x.row_stride % 2 == 0 && x.cols % 2 == 0 &&
         reinterpret_cast<std::uintptr_t>(x.as<V>()) % (2 * sizeof(V)) == 0;
}

const MatvecRow* taking_over(const Matrix& a, Op op, int64 longest, bool vector) {
  static const MatvecRow by_warp = gather_by_warp(), by_merge = gather_by_merge();
  const int64 rows = op.transposed ? a.cols : a.rows;
  if (vector && a.structure->stored() > kLongMean * rows) return &by_warp;
  return longest > kLongest ? &by_merge : nullptr;
}

template <class U, class V>
struct Stream {
  static void run(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    using T = Product<U, V>;
    const std::shared_ptr<ResidentShares> shares = shares_of_rows(a, op, kProducts);
    if (const MatvecRow* other = taking_over(a, op, shares->longest, x.cols == 1)) {
      return other->typed(dtype_of<U>(), dtype_of<V>())(a, op, alpha, x, beta, y);
    }
    const Rows<U> rows = Rows<U>::of(a, op);
    const Update<T> update(alpha, beta);
    const auto* first = shares->first.as<const std::int64_t>();
    const auto count = static_cast<unsigned>(shares->count);
    Block<const V> from(x);
    Block<T> to(y);
    if (x.cols == 1) {
      return launch("matvec", stream_vector<U, V>, dim3(count), dim3(kThreads), rows, op.conjugated, from, to, update,
                    first);
    }
    auto kernel = stream_block<false, U, V>;
    if constexpr (sizeof(V) <= 8) {
      if (in_pairs<V>(x)) kernel = stream_block<true, U, V>;
    }
    const Columns by = columns_for(x, count);
    const int64 most = int64{65535} * by.columns;  // columns of x that a grid takes
    for (int64 c = 0; c < x.cols; c += most) {
      const int cols = static_cast<int>(std::min(x.cols - c, most));
      launch("matvec", kernel, dim3(count, static_cast<unsigned>(ceil_div(cols, by.columns))), dim3(kThreads), rows,
             op.conjugated, from, to, cols, by, update, first);
      from.data += most * from.col, to.data += most * to.col;
    }
  }
};

void prepare(const Matrix& a, Op op) {
  const int64 longest = shares_of_rows(a, op, kProducts)->longest;
  for (const bool vector : {true, false}) {
    const MatvecRow* const other = taking_over(a, op, longest, vector);
    if (other) other->prepare(a, op);
  }
}

}  // namespace

void prepare_transpose(const Matrix& a, Op op) {
  if (op.transposed) prepare(a, op);
}

MatvecRow gather_by_stream() { return {"stream", every_pair<Stream, MatvecKernel>(), prepare}; }

}  // namespace diagsparse::cuda::rows
