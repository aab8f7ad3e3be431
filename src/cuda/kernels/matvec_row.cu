// Kernel "row" of dia, hm and cdm: y = alpha op(A) x + beta y.
//
// A thread takes a few rows, 32 apart; it walks the diagonals that meet them, several at a time, and keeps its sums in
// registers. A's values are read once, past the caches, by whole warps at neighbouring addresses, wherever a diagonal
// starts; x comes from the caches, where the rows nearby have brought it. A block has the list of diagonals in shared
// memory; the blocks between the ends of the diagonals, nearly all, test nothing. Of small matrices the warps of a
// block share the rows, each a part of the diagonals. A sum adds up in an order that the matrix alone decides: the same
// bits on every run.
#include "dense.cuh"
#include "kernels/diagonal_kernels.hpp"
#include "kernels/matvec_block.cuh"
#include "memory.cuh"
#include "resident.cuh"

namespace diagsparse::cuda {

namespace {

constexpr int kNear = 136;  // diagonals that a block has in shared memory, and room to look past their end

// Rows [first, last) meet terms [term, term_end), all of these in full, and no others.
struct Interior {
  int64 first = 0, last = 0;
  int term = 0, term_end = 0;

  // That of the middle row. (`first` and `last` of the terms never increase.)
  Interior(const std::vector<Term>& terms, int64 rows) {
    const int64 middle = rows / 2;
    const auto count = static_cast<int>(terms.size());
    while (term < count && terms[term].first > middle) ++term;
    for (term_end = term; term_end < count && terms[term_end].last > middle;) ++term_end;
    first = term_end > term ? terms[term].first : 0;
    last = term_end > term ? terms[term_end - 1].last : rows;
    if (term > 0) last = std::min(last, terms[term - 1].first);
    if (term_end < count) first = std::max(first, terms[term_end].last);
  }
};

// A block takes neighbouring rows, a warp 32 Rows of them, a thread every 32nd; At terms at a time, so that their
// values are on their way together. Shared: all warps take the same rows, each its share of the terms.
template <int Rows, int At, bool Shared, class U, class V>
__global__ void __launch_bounds__(kBlock)
    vector_rows(const Term* terms, int count, const __grid_constant__ Interior interior, const U* values, bool conj,
                const V* x, Product<U, V>* y, int64 rows, const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  constexpr int warps = kBlock / 32, shares = Shared ? warps : 1, block_rows = (Shared ? 32 : kBlock) * Rows;
  __shared__ Term near[kNear + (shares - 1) * At];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int64 start = static_cast<int64>(blockIdx.x) * block_rows, stop = start + block_rows;
  const int64 i = start + (Shared ? 0 : warp * (32 * Rows)) + lane;
  const bool inside = start >= interior.first && stop <= interior.last;
  T sums[Rows] = {};
  const auto walk = [&](int end, auto holds) {
    for (int t = Shared ? warp * At : 0; t < end; t += At * shares) {
      U u[At][Rows];
      V v[At][Rows];
#pragma unroll
      for (int k = 0; k < At; ++k) {
        const U* from_u = values + near[t + k].u + i;
        const V* from_v = x + near[t + k].v + i;
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
          if (t + k < end && holds(near[t + k], i + 32 * r)) {
            u[k][r] = load_once(from_u + 32 * r);
            v[k][r] = load(from_v + 32 * r);
          }
        }
      }
#pragma unroll
      for (int k = 0; k < At; ++k) {
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
          if (t + k < end && holds(near[t + k], i + 32 * r)) {
            sums[r] += multiply(conjugate_if(conj, u[k][r]), v[k][r]);
          }
        }
      }
    }
  };
  const int begin = inside ? interior.term : 0, end = inside ? interior.term_end : count;
  for (int t = begin; t < end; t += kNear - 8) {
    const int some = min(end - t, kNear - 8);
    __syncthreads();
    for (int k = threadIdx.x; k < some; k += kBlock) near[k] = terms[t + k];
    __syncthreads();
    if (inside) walk(some, [](const Term&, int64) { return true; });
    else walk(some, [](const Term& term, int64 at) { return at >= term.first && at < term.last; });
  }
  if constexpr (Shared) {
    __shared__ Packed<T> parts[warps][32 * Rows];
#pragma unroll
    for (int r = 0; r < Rows; ++r) parts[warp][lane + 32 * r] = pack(sums[r]);
    __syncthreads();
    if (warp > 0) return;
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      for (int w = 1; w < warps; ++w) sums[r] += unpack<T>(parts[w][lane + 32 * r]);
    }
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    if (i + 32 * r < rows) update.one(y + i + 32 * r, sums[r]);
  }
}

// A thread takes one row and Columns columns of the block, `groups` apart. Threads run along the axis on which
// x is contiguous.
template <int Columns, class U, class V>
__global__ void __launch_bounds__(kBlock)
    block_rows(const Term* terms, int count, const U* values, bool conj, const Block<const V> x,
               const Block<Product<U, V>> y, int64 rows, int64 cols, int64 groups, bool along_columns,
               const __grid_constant__ Update<Product<U, V>> update) {
  const int64 t0 = thread_index();
  if (t0 >= rows * groups) return;
  const int64 i = along_columns ? t0 / groups : t0 % rows, group = along_columns ? t0 % groups : t0 / rows;
  Product<U, V> sums[Columns] = {};
  for (const Term* t = terms; t != terms + count; ++t) {
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

// What a matrix keeps for its products with vectors.
struct RowLists : ResidentSums {
  int count;
  Interior interior;

  RowLists(const Sums& sums, int64 rows)
      : ResidentSums(sums), count(static_cast<int>(sums.terms.size())), interior(sums.terms, rows) {}
};

std::shared_ptr<RowLists> lists_of(const Matrix& a, Op op) {
  return keep<RowLists>(a.layout->kept, op.transposed ? "matvec T" : "matvec N", [&] {
    const int64 rows = op.transposed ? a.cols : a.rows;
    return std::make_shared<RowLists>(matvec_sums(spans_of(*a.layout, op), rows), rows);
  });
}

void prepare(const Matrix& a, Op op) { lists_of(a, op); }

template <class U, class V>
struct RowMatvec {
  using T = Product<U, V>;

  static void run(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const auto lists = lists_of(a, op);
    const Update<T> update(alpha, beta);
    const U* values = a.values.as<U>();
    const auto vector = [&](auto kernel, int rows) {
      launch("matvec row", kernel, dim3(static_cast<unsigned>(ceil_div(y.rows, rows))), dim3(kBlock),
             lists->terms_begin(), lists->count, lists->interior, values, op.conjugated, x.as<V>(), y.as<T>(), y.rows,
             update);
    };
    if (x.cols == 1 && x.row_stride == 1 && y.row_stride == 1) {
      constexpr int each = sizeof(U) <= 8 ? 2 : 1, at_once = sizeof(U) <= 4 ? 8 : 4;
      if (y.rows < kSmall) vector(vector_rows<1, 4, true, U, V>, 32);
      else vector(vector_rows<each, at_once, false, U, V>, kBlock * each);
    } else if (in_pieces<V>(x, y)) {
      constexpr int each = 4;
      const int64 all = x.cols / kPiece<V>;
      const int pieces = pieces_a_row(all);
      const dim3 grid(static_cast<unsigned>(ceil_div(y.rows, kBlock / pieces * each)),
                      static_cast<unsigned>(all / pieces));
      launch("matvec row", block_pieces<each, U, V>, grid, dim3(kBlock), lists->terms_begin(), lists->count, values,
             op.conjugated, Block<const V>(x), Block<T>(y), y.rows, pieces, update);
    } else {
      constexpr int columns = 4;
      const int64 groups = ceil_div(x.cols, columns);
      launch("matvec row", block_rows<columns, U, V>, blocks(y.rows * groups), dim3(kBlock), lists->terms_begin(),
             lists->count, values, op.conjugated, Block<const V>(x), Block<T>(y), y.rows, x.cols, groups,
             x.col_stride == 1, update);
    }
  }

 private:
  static constexpr int64 kSmall = 1 << 17;  // rows
};

}  // namespace

MatvecRow matvec_row() { return {"row", every_pair<RowMatvec, MatvecKernel>(), prepare}; }

}  // namespace diagsparse::cuda
