// Kernel "block": y = alpha op(A) x + beta y.
//
//   A: m x n masked diagonals (formats/mdia/layout.hpp).  x: n, or n x k.  y: m, or m x k.
//
// A warp processes a block of 32 rows, and a lane a row. The lanes check 32 diagonals at a time and list those that
// have elements in the block. Then each lane loads the elements of its row for four diagonals at once; these reads are
// coalesced, and so are those of x. If A is read in the order in which it is stored, the lanes count bits to determine
// where the values of a diagonal begin. For a transpose, and for a triangle that is not stored, they read it: the
// positions in A's blocks are cached with A, 4 bytes per mask. For blocks of columns x, A is read once for four
// columns. Every run gives the same bits. Bytes at least: A, x and y.
//
// H200, float64, Heisenberg chain of 20 sites: 43 us, 0.6 of the copy rate. Distant elements of x are read from L2,
// which takes as long as reading A. Processing eight diagonals at once takes up to twice as long.
#include "core/matvec.hpp"
#include "device/dense.cuh"
#include "formats/mdia/palette_readers.cuh"
#include "formats/mdia/palette_vectors.cuh"
#include "formats/mdia/readers.cuh"

namespace diagsparse::cuda::mdia {

namespace {

constexpr int kThreads = 128;
constexpr int kUnroll = 4;   // diagonals whose values are loaded together
constexpr int kColumns = 4;  // columns of x for which A is read once

// ---- The kernel -------------------------------------------------------------------------------------------------
// Thread blocks per multiprocessor: a thread has 48 registers, or 64 if positions are looked up.
template <bool in_order, class T>
constexpr int kMinBlocks = in_order && !is_complex<T> ? 10 : 8;

template <int Columns, template <class> class Reader, class U, class V>
__global__ void __launch_bounds__(kThreads, Columns > 1 || sizeof(Product<U, V>) > 8
                                                ? 1
                                                : kMinBlocks<Reader<U>::in_order, Product<U, V>>)
    sum_blocks(const __grid_constant__ typename Reader<U>::Matrix a, const Block<const V> x,
               const Block<Product<U, V>> y, int64 cols, const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  using Listed = typename Reader<U>::Listed;
  __shared__ Listed lists[kThreads / 32][32];
  const int64 block = thread_index() / 32, row = kMaskRows * block + threadIdx.x % 32;
  if (kMaskRows * block >= a.rows()) return;
  const int lane = threadIdx.x % 32;
  const Mask lower = below(lane);
  Listed* const list = lists[threadIdx.x / 32];
  for (int64 c = static_cast<int64>(blockIdx.y) * Columns; c < cols; c += static_cast<int64>(gridDim.y) * Columns) {
    const int width = Columns == 1 ? 1 : static_cast<int>(cols - c < Columns ? cols - c : Columns);
    const V* const in = x.data + row * x.row + c * x.col;
    T sum[Columns] = {};
    Reader<U> here(a, block);
    for (int64 base = 0; base < a.diagonals(); base += 32) {
      const int count = list_diagonals(here, base, lane, x.row * static_cast<int64>(sizeof(V)), list);
#pragma unroll 1
      for (int first = 0; first < count; first += kUnroll) {
        decltype(arithmetic(U{})) value[kUnroll];
        V factor[kUnroll][Columns];
        bool has[kUnroll];
        std::uint32_t codes[kUnroll];
        if constexpr (Reader<U>::has_codes) {
#pragma unroll
          for (int k = 0; k < kUnroll; ++k) {
            const Listed& from = list[first + k];
            codes[k] = from.rows >> lane & 1 ? from.codes(here) : 0;
          }
        }
#pragma unroll
        for (int k = 0; k < kUnroll; ++k) {
          const Listed from = list[first + k];
          has[k] = from.rows >> lane & 1;
          if (has[k]) {
            if constexpr (Reader<U>::has_codes) value[k] = from.value(here, lower, codes[k]);
            else value[k] = from.value(here, lower);
            const V* const far = reinterpret_cast<const V*>(reinterpret_cast<const char*>(in) + from.across());
#pragma unroll
            for (int j = 0; j < Columns; ++j) {
              if (j < width) factor[k][j] = load(far + j * x.col);
            }
          }
        }
#pragma unroll
        for (int k = 0; k < kUnroll; ++k) {
          if (!has[k]) continue;
#pragma unroll
          for (int j = 0; j < Columns; ++j) {
            if (j < width) sum[j] += multiply(value[k], factor[k][j]);
          }
        }
      }
      __syncwarp();
    }
    if (row < a.rows()) {
#pragma unroll
      for (int j = 0; j < Columns; ++j) {
        if (j < width) update.one(y.data + row * y.row + (c + j) * y.col, sum[j]);
      }
    }
  }
}

template <template <class> class Reader, class U, class V>
void sum_columns(const typename Reader<U>::Matrix& a, int64 rows, const Dense& x, Scalar alpha, Scalar beta,
                 const Dense& y) {
  using T = Product<U, V>;
  const auto run = [&](auto columns) {
    constexpr int Columns = decltype(columns)::value;
    dim3 grid(static_cast<unsigned>(ceil_div(masks_along(rows), kThreads / 32)));
    grid.y = static_cast<unsigned>(std::min<int64>(ceil_div(x.cols, Columns), 1024));
    launch("mdia blocks", sum_blocks<Columns, Reader, U, V>, grid, dim3(kThreads), a, Block<const V>(x), Block<T>(y),
           x.cols, Update<T>(alpha, beta));
  };
  if (x.cols == 1) run(std::integral_constant<int, 1>{});
  else run(std::integral_constant<int, kColumns>{});
}

template <class U, class V>
struct BlocksOfRows {
  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const bool palette = has_palette(*m.structure), stored_order = in_order(*m.structure, op);
    if constexpr (!stored_only<U>) {
      if (sums_palette(m, op, x, y)) {
        using T = Product<U, V>;
        return sum_palette<U, V>(m, op.conjugated, x, ProductOutput<T>{y.as<T>(), {alpha, beta}});
      }
    }
    if (stored_order) {
      if (palette) sum_columns<PaletteInOrder, U, V>({operand<U>(m), op.conjugated}, y.rows, x, alpha, beta, y);
      else sum_columns<InOrder, U, V>({Mdia<U>::of(m), op.conjugated}, y.rows, x, alpha, beta, y);
      return;
    }
    const auto diagonals = resident_diagonals(*m.structure, op);
    const OperandByDiagonals<U> a{operand<U>(m), diagonals->begin(), diagonals->count, y.rows};
    if (palette) sum_columns<PaletteByElement, U, V>(a, y.rows, x, alpha, beta, y);
    else sum_columns<Transposed, U, V>(a, y.rows, x, alpha, beta, y);
  }
};

// Kernel "fused" of chains: a step is one pass if A has a palette, and otherwise as in "steps".
template <class U, class V>
struct FusedSteps {
  static void step(const Matrix& a, Op op, const Step& s, const Dense& v, const Dense& next, const Dense& y) {
    if constexpr (!stored_only<U>) {
      if (sums_palette(a, op, v, next) && finite(s.alpha, next.dtype)) {
        const StepOutput<V> output{v.as<V>(), next.as<V>(), y.as<V>(), {s.alpha, s.gamma}, {s.beta, s.c}};
        return sum_palette<U, V>(a, op.conjugated, v, output);
      }
    }
    product_step(a, op, s, v, next, y);
  }

  static void run(const Matrix& a, Op op, const Recurrence& r, const Dense& x, const Dense& y) {
    run_steps(a, op, r, x, y, step);
  }
};

void prepare(const Matrix& m, Op op) {
  const bool palette = has_palette(*m.structure), stored_order = in_order(*m.structure, op);
  if (palette && stored_order) resident_palette(*m.structure);
  if (palette || !stored_order) value_starts(*m.structure);
  if (!stored_order) resident_diagonals(*m.structure, op);
}

}  // namespace

ChainRow fused_steps() { return {"fused", every_stored_pair<FusedSteps, ChainKernel>()}; }
MatvecRow by_blocks() { return {"block", every_stored_pair<BlocksOfRows, MatvecKernel>(), prepare}; }

}  // namespace diagsparse::cuda::mdia
