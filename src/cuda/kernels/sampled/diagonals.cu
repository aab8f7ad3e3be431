// Sampled products of dia, hm and cdm: C[i, i + k] = sum over p of X[i, p] Y[i + k, p] on the diagonals k of C. Also of
// batches: all members in one launch.
//
//   C: m x n, D diagonals.  X: m x p.  Y: n x p.  Bytes at least: X + Y + C.
//
// "one_column": for vectors. A thread processes a few rows, 256 apart, on one diagonal after another. Neighbouring
// threads write neighbouring values; a row of X is in registers, and those of Y are in the first-level cache.
// "near" and "far" (columns.cuh): for blocks of columns.
//
// Sums are added in an order that depends on the numbers of columns and diagonals only, so that every run gives the
// same bits.
#include "kernels/sampled/columns.cuh"

namespace diagsparse::cuda::sampled {

namespace {

constexpr int kListed = 128;         // diagonals in shared memory at a time
constexpr int64 kManyBlocks = 2048;  // that fill a GPU

// ---- One column ---------------------------------------------------------------------------------------------------
// A diagonal in the rows of a block: its values, the elements of Y, and the rows [first, last) in which it exists.
template <class T>
struct alignas(16) Listed {
  T* to;
  const T* y;
  int first, last;
};

template <class T, int Rows>
__global__ void __launch_bounds__(kBlock)
    one_column(const Diagonal* diagonals, int count, int each, Block<const T> x, Block<const T> y, T* values,
               int64 rows, const __grid_constant__ Members members) {
  constexpr int height = Rows * kBlock, at_once = 4;
  __shared__ Listed<T> list[kListed];
  const int64 member = blockIdx.x / members.tiles;
  const int64 row = static_cast<int64>(blockIdx.x - member * members.tiles) * height;
  x.data += member * members.x + (row + threadIdx.x) * x.row;
  y.data += member * members.y;
  values += member * members.c;
  T left[Rows];
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    if (row + threadIdx.x + r * kBlock < rows) left[r] = load(x.data + r * kBlock * x.row);
  }
  const int64 across = threadIdx.x * y.row;
  const int end = min(count, (static_cast<int>(blockIdx.y) + 1) * each);
  for (int begin = blockIdx.y * each; begin < end; begin += kListed) {
    const int some = min(end - begin, kListed);
    __syncthreads();
    if (threadIdx.x < some) {
      const Diagonal d = diagonals[begin + threadIdx.x];
      const auto within = [&](int64 i) { return static_cast<int>(i < row ? 0 : i < row + height ? i - row : height); };
      list[threadIdx.x] = {values + (d.base + row), y.data + (row + d.offset) * y.row, within(d.first), within(d.last)};
    }
    __syncthreads();
    for (int d = 0; d < some; d += at_once) {
      T right[at_once][Rows];
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        if (d + k >= some) break;
        const Listed<T> here = list[d + k];
        const T* const from = here.y + across;
        const bool complete = here.first == 0 && here.last == height;
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
          const int i = threadIdx.x + r * kBlock;
          if (complete || (i >= here.first && i < here.last)) right[k][r] = load(from + r * kBlock * y.row);
        }
      }
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        if (d + k >= some) break;
        const Listed<T> here = list[d + k];
        T* const to = here.to + threadIdx.x;
        const bool complete = here.first == 0 && here.last == height;
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
          const int i = threadIdx.x + r * kBlock;
          if (complete || (i >= here.first && i < here.last)) {
            store_once(to + r * kBlock, multiply(left[r], right[k][r]));
          }
        }
      }
    }
  }
}

template <class T, int Rows>
void run_one_column(const ResidentDiagonals& resident, const Dense& x, const Dense& y, Matrix& c, Members members) {
  members.tiles = static_cast<unsigned>(ceil_div(c.rows, Rows * kBlock));
  dim3 grid(static_cast<unsigned>(members.tiles * members.count));
  // Few rows: several blocks divide the diagonals.
  const int64 shares = std::clamp<int64>(kManyBlocks / grid.x, 1, resident.count);
  const int each = static_cast<int>(ceil_div(resident.count, shares));
  grid.y = static_cast<unsigned>(ceil_div(resident.count, each));
  launch("sampled diagonals", one_column<T, Rows>, grid, dim3(kBlock), resident.begin(), resident.count, each,
         Block<const T>(x), Block<const T>(y), c.values.as<T>(), c.rows, members);
}

// ---- The choice ---------------------------------------------------------------------------------------------------
template <class T>
void run_members(const Dense& x, const Dense& y, Matrix& c, Members members) {
  const Layout& layout = c.layout();
  const auto resident =
      cached<ResidentDiagonals>(layout.cache(), "sampled", [&] { return std::make_shared<ResidentDiagonals>(layout); });
  if (resident->count == 0 || members.count == 0) return;
  const bool few = c.rows * members.count < kManyBlocks * kBlock;
  if (x.cols != 1) run_columns<T>(*resident, x, y, c, members);
  else if (few || sizeof(T) == 16) run_one_column<T, 1>(*resident, x, y, c, members);
  else run_one_column<T, sizeof(T) == 4 ? 4 : 2>(*resident, x, y, c, members);
}

template <class T, class>
struct SampledDiagonals {
  static void run(const Dense& x, const Dense& y, Matrix& c) { run_members<T>(x, y, c, {}); }
};

Typed<SampledKernel> kernels_of_diagonals() { return one_type<SampledDiagonals, SampledKernel>(); }
const RegisterSampled dia("dia", 0, kernels_of_diagonals), hm("hm", 0, kernels_of_diagonals),
    cdm("cdm", 0, kernels_of_diagonals);

}  // namespace

}  // namespace diagsparse::cuda::sampled

namespace diagsparse {

void batch_sampled_product(const Dense& x, const Dense& y, int64 columns, Matrix& c) {
  const cuda::sampled::Members members{c.values.shape.rows, x.row_stride, y.row_stride, member_stride(c)};
  if (members.count == 0) return;
  with_value_type(c.dtype, [&](auto zero) {
    cuda::sampled::run_members<decltype(zero)>(member(x, 0, columns), member(y, 0, columns), c, members);
  });
}

}  // namespace diagsparse
