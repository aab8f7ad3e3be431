// One triangle of ellcsr: the leading part, below the diagonal, and its mirror image in one pass.
//
// y += alpha (E + E^T) x, or with E^H.
//   E: n x n, with entries below the diagonal, only in the columns before c.  x, y: n.
//
// An entry E[i, j] contributes to y[i], and its mirror image to y[j] with j < c. A block holds the first c elements of
// x in shared memory, and each warp its own sums of the images:
//
//     shared memory     x[0 .. c)  |  sums[0 .. c) of warp 0  |  of warp 1  |  ...
//
// A warp processes a row. Its lanes process different columns, so no two of them add to the same sum: no atomics. Most
// of the sums are in different banks of shared memory, because columns are distributed over banks (struct BankOrder).
// All loads of a step are issued before its stores, so that they wait for nothing. When its rows are done, a block adds
// the sums of its warps, and another kernel adds those of the blocks to y. The order of a sum depends only on the
// matrix, so every run gives the same bits.
#pragma once

#include "device/dense.cuh"
#include "device/lanes.cuh"
#include "device/resident.cuh"
#include "device/values.cuh"
#include "formats/ellcsr/layout.hpp"

namespace diagsparse::cuda::ellcsr {

constexpr int kMirrorWarps = 7;  // most warps per block, limited by registers
constexpr int kNeighbours = 4;   // positions that a lane processes at once

template <class T>
constexpr int kSteps = !is_complex<T>   ? 6
                       : sizeof(T) == 8 ? 3
                                        : 1;  // of 128 positions that are loaded together

template <class I, class U, class V>
__global__ void __launch_bounds__(kMirrorWarps * 32, 1)
    add_mirrored(const EllCsr<U, I> a, int columns, MirrorOps conj, const V* x, int64 x_step, Product<U, V>* y,
                 int64 y_step, Product<U, V>* images, const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  constexpr int each = kNeighbours, steps = kSteps<T>;
  extern __shared__ double2 shared[];
  V* const part = reinterpret_cast<V*>(shared);
  T* const sums = reinterpret_cast<T*>(shared + (columns * static_cast<int>(sizeof(V)) + 15) / 16);
  const int warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int first_own = static_cast<int>(reinterpret_cast<char*>(sums + warp * columns) - reinterpret_cast<char*>(shared));
  asm("" : "+r"(first_own));  // hides how it was computed, so that each address needs only one instruction
  const auto own = [&](int j) -> T& {
    return *reinterpret_cast<T*>(reinterpret_cast<char*>(shared) + (first_own + j * static_cast<int>(sizeof(T))));
  };
  for (int j = threadIdx.x; j < columns; j += blockDim.x) part[j] = load(x + j * x_step);
  for (int j = lane; j < columns; j += 32) own(j) = T{};
  __syncthreads();

  const int width = static_cast<int>(a.width);
  for (int64 i = static_cast<int64>(blockIdx.x) * warps + warp; i < a.rows;
       i += static_cast<int64>(gridDim.x) * warps) {
    const V factor = load(x + i * x_step);
    T updated{};  // y[i], loaded early
    if (lane == 0) updated = y[i * y_step];
    const int64 line = i * a.width;
    T sum{};
    for (int at = 0; at < width; at += 32 * each * steps) {
      const int first = at + lane * each;
      U value[steps][each];
      I column[steps][each];
#pragma unroll
      for (int k = 0; k < steps; ++k) {
        const int w = first + 32 * each * k;
        if (w < width) {
          load_once(a.head_values + line + w, value[k]), load_once(a.head.indices + line + w, column[k]);
        } else {
#pragma unroll
          for (int q = 0; q < each; ++q) column[k][q] = static_cast<I>(-1);
        }
      }
      T image[steps][each];
#pragma unroll
      for (int k = 0; k < steps; ++k) {
#pragma unroll
        for (int q = 0; q < each; ++q) {
          const I j = column[k][q];
          if (!Columns<I>::padding(j)) {
            sum += multiply(conjugate_if(conj.entries, value[k][q]), part[j]);
            image[k][q] = own(j);
          }
        }
      }
#pragma unroll
      for (int k = 0; k < steps; ++k) {
#pragma unroll
        for (int q = 0; q < each; ++q) {
          const I j = column[k][q];
          if (!Columns<I>::padding(j)) {
            own(j) = image[k][q] + multiply(conjugate_if(conj.images, value[k][q]), factor);
          }
        }
      }
      __syncwarp();
    }
    sum = sum_of_lanes<32>(sum);
    if (lane == 0) {
      update.one(&updated, sum);
      y[i * y_step] = updated;
    }
  }
  __syncthreads();
  for (int j = threadIdx.x; j < columns; j += blockDim.x) {
    T sum = sums[j];
    for (int k = 1; k < warps; ++k) sum += sums[k * columns + j];
    images[static_cast<int64>(blockIdx.x) * columns + j] = sum;
  }
}

// 32 columns per block. Each row of threads adds every 32nd of the blocks' images.
constexpr int kImageRows = 32;
template <class T>
__global__ void __launch_bounds__(32 * kImageRows)
    add_images(const T* images, int columns, int blocks, T* y, int64 y_step, const __grid_constant__ Update<T> update) {
  __shared__ T sums[kImageRows][32];
  const int j = blockIdx.x * 32 + threadIdx.x % 32, row = threadIdx.x / 32;
  T sum{};
  if (j < columns) {
    for (int b = row; b < blocks; b += kImageRows) sum += images[static_cast<int64>(b) * columns + j];
  }
  sums[row][threadIdx.x % 32] = sum;
  __syncthreads();
  if (row > 0 || j >= columns) return;
  for (int k = 1; k < kImageRows; ++k) sum += sums[k][threadIdx.x];
  update.one(y + j * y_step, sum);
}

// Runs the kernel for each column of x if it fits into shared memory; returns whether it did.
template <class U, class V, class I>
bool add_in_one_pass(const Matrix& m, const EllCsr<U, I>& a, Op op, Scalar alpha, const Dense& x, const Dense& y) {
  using T = Product<U, V>;
  const Limits& device = limits<add_mirrored<I, U, V>>();
  const int64 columns = mirrored_columns(m), part = ceil_div(columns * static_cast<int64>(sizeof(V)), 16) * 16;
  const int64 capacity =
      columns > 0 ? (device.shared - part) / (columns * static_cast<int64>(sizeof(T))) : kMirrorWarps;
  const bool aligned = a.width % kNeighbours == 0 && a.head.bases == nullptr &&
                       reinterpret_cast<std::uintptr_t>(a.head_values) % 16 == 0;
  if (capacity < 2 || !aligned) return false;
  const int warps = static_cast<int>(std::min<int64>(capacity, kMirrorWarps));
  const int count = static_cast<int>(std::min<int64>(device.multiprocessors, ceil_div(a.rows, warps)));
  if (columns == 0 || count == 0) return true;
  const Update<T> update(alpha, 1.0);
  const Scratch<T> images(count * columns);
  for (int64 c = 0; c < x.cols; ++c) {
    T* const out = y.as<T>() + c * y.col_stride;
    launch_shared("ellcsr matvec", add_mirrored<I, U, V>, dim3(count), dim3(warps * 32),
                  static_cast<int>(part + warps * columns * sizeof(T)), a, static_cast<int>(columns), mirror_ops(m, op),
                  x.as<const V>() + c * x.col_stride, x.row_stride, out, y.row_stride, images.get(), update);
    launch("add images", add_images<T>, dim3(static_cast<unsigned>(ceil_div(columns, 32))), dim3(32 * kImageRows),
           static_cast<const T*>(images.get()), static_cast<int>(columns), count, out, y.row_stride, update);
  }
  return true;
}

}  // namespace diagsparse::cuda::ellcsr
