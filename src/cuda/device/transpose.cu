// Copies between arrays in C order and in F order, by tiles in shared memory.
#include "device/launch.cuh"
#include "device/transpose.hpp"

namespace diagsparse::cuda {

namespace {

constexpr int kTile = 32, kTileRows = 8;  // of elements, and of threads

// to[j * to_stride + i] = from[i * from_stride + j] for i < rows, j < cols. A block copies a tile; neighbouring threads
// read, and write, neighbouring elements.
template <class T>
__global__ void __launch_bounds__(kTile* kTileRows)
    transpose_tiles(const T* from, int64 from_stride, int64 rows, int64 cols, T* to, int64 to_stride) {
  __shared__ T tile[kTile][kTile + 1];
  const int64 across = (cols + kTile - 1) / kTile, tile_row = blockIdx.x / across, tile_col = blockIdx.x % across;
  const int x = static_cast<int>(threadIdx.x % kTile), y = static_cast<int>(threadIdx.x / kTile);
#pragma unroll
  for (int k = 0; k < kTile; k += kTileRows) {
    const int64 i = tile_row * kTile + y + k, j = tile_col * kTile + x;
    if (i < rows && j < cols) tile[y + k][x] = from[i * from_stride + j];
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kTile; k += kTileRows) {
    const int64 i = tile_row * kTile + x, j = tile_col * kTile + y + k;
    if (i < rows && j < cols) to[j * to_stride + i] = tile[x][y + k];
  }
}

template <class T>
void transpose(const Dense& from, const Dense& to) {
  const bool by_rows = from.col_stride == 1;  // else it has its elements along columns
  const int64 rows = by_rows ? from.rows : from.cols, cols = by_rows ? from.cols : from.rows;
  const int64 from_stride = by_rows ? from.row_stride : from.col_stride;
  const int64 to_stride = by_rows ? to.col_stride : to.row_stride;
  const dim3 grid(static_cast<unsigned>(ceil_div(rows, kTile) * ceil_div(cols, kTile)));
  launch("transpose", transpose_tiles<T>, grid, dim3(kTile * kTileRows), from.as<const T>(), from_stride, rows, cols,
         to.as<T>(), to_stride);
}

}  // namespace

bool are_transposes(const Dense& from, const Dense& to) {
  const int64 item = item_size(from.dtype);
  const int64 tiles = ceil_div(from.rows, kTile) * ceil_div(from.cols, kTile);
  if (from.dtype != to.dtype || (item != 4 && item != 8 && item != 16) || tiles > 0x7fffffff) return false;
  const auto address = [](const Dense& a) { return reinterpret_cast<std::uintptr_t>(a.data); };
  if (std::min(from.rows, from.cols) < 2 || (address(from) | address(to)) % item != 0) return false;
  return (from.col_stride == 1 && to.row_stride == 1) || (from.row_stride == 1 && to.col_stride == 1);
}

void copy_transposed(const Dense& from, const Dense& to) {
  switch (item_size(from.dtype)) {
    case 4: return transpose<unsigned>(from, to);
    case 8: return transpose<uint2>(from, to);
    default: return transpose<uint4>(from, to);
  }
}

}  // namespace diagsparse::cuda
