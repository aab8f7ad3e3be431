// Kernel "band" of dia, hm and cdm: C = alpha op(A) op(B) + beta C of two bands, on the FP64 matrix units.
//
// A band is a row of dense tiles. A block takes 16 rows of C for each of its warps. It brings A's and B's lines for
// these rows into shared memory as they are stored (asynchronous copies; the row stride keeps the skewed reads of the
// fragments free of bank conflicts). A warp walks the rows k of B that its rows of A meet, 8 at a time: `Tiles` tiles
// of 16 x 8 of C are open at once in registers, the first of them is complete after each step, and is put back into
// diagonals through a ring in shared memory and written once.
//
//     rows i of C   | a a a a . . . .     The band of A times the band of B; tile t of C holds the columns
//     (16 a warp)   | . a a a a . . .     8 t ... 8 t + 7, counted from the first that the rows reach.
//                   | . . a a a a . .
//
// All types run in double precision, complex products as four real ones. Tiles also multiply what is not stored, as
// zeros: so a sum that is infinite or no number is done again over the stored pairs alone.
// The same bits on every run.
#include "kernels/band_tiles.cuh"
#include "kernels/diagonal_kernels.hpp"
#include "memory.cuh"
#include "resident.cuh"

namespace diagsparse::cuda {

namespace {

constexpr int kRing = 24, kRingStride = 18;  // diagonals of C on their way out, a warp's rows each

template <int Tiles, class U, class V>
__global__ void __launch_bounds__(128)
    band_tiles(const __grid_constant__ Bands bands, const U* a, bool conj_a, const V* b, bool conj_b, Product<U, V>* c,
               const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  extern __shared__ double2 memory[];
  const int warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int rows = warps * kWarpRows, inner_steps = (kWarpRows - 1 + bands.a_width + 7) / 8;
  const int met = rows - kWarpRows + 8 * inner_steps;  // rows of B
  U* a_lines = reinterpret_cast<U*>(memory);
  V* b_lines = reinterpret_cast<V*>(reinterpret_cast<char*>(memory) +
                                    (sizeof(U) * bands.a_width * bands.a_stride + 15) / 16 * 16);
  T* ring = reinterpret_cast<T*>(reinterpret_cast<char*>(b_lines) +
                                 (sizeof(V) * bands.b_width * bands.b_stride + 15) / 16 * 16) +
            warp * kRing * kRingStride;
  const int64 i0 = static_cast<int64>(blockIdx.x) * rows;
  // The lines of A and B lie where the rings will be.
  Line* a_table = reinterpret_cast<Line*>(ring - warp * kRing * kRingStride);
  Line* b_table = a_table + bands.a_width;
  for (int d = threadIdx.x; d < bands.a_width; d += blockDim.x) a_table[d] = bands.a[d];
  for (int e = threadIdx.x; e < bands.b_width; e += blockDim.x) b_table[e] = bands.b[e];
  __syncthreads();
  const int mine = static_cast<int>(min(int64(rows), bands.rows - i0));
  for (int d = warp; d < bands.a_width; d += warps) {
    U* line = a_lines + d * bands.a_stride;
    fetch(line, a, a_table[d], i0, mine, bands);
    for (int t = mine + lane; t < rows; t += 32) line[t] = U{};
  }
  for (int e = warp; e < bands.b_width; e += warps) {
    fetch(b_lines + e * bands.b_stride, b, b_table[e], i0 + bands.a_low, met, bands);
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();

  const int first = warp * kWarpRows;
  const int64 i1 = i0 + first;
  const BandProduct<U, V> product{bands, a_lines + first, b_lines + first, conj_a, conj_b};
  const int c_width = bands.a_width + bands.b_width - 1;
  const int row = lane / 4, column = lane % 4 * 2;
  const int steps = (c_width + 14) / 8 + 1;
  Tile<T> tiles[Tiles];
  for (int g = 0; g < steps; ++g) {
    // The lines that this step completes, one in each of the first eight lanes, asked for ahead of the arithmetic.
    const int complete = 8 * g - 15, mine = complete + lane % 8;
    const Line line = mine >= 0 && mine < c_width ? bands.c[mine] : Line{0, 0, 0};
    if (g < inner_steps) {
      product.step(tiles, g, 0);
      product.step(tiles, g, 1);
    }
    // The first tile is complete: to the ring, by diagonals.
    const int base = g % 3 * 8;
    __syncwarp();
#pragma unroll
    for (int v = 0; v < 4; ++v) {
      const int r = row + (v < 2 ? 0 : 8), slot = base + column + v % 2 - r;
      ring[(slot < 0 ? slot + kRing : slot) * kRingStride + r] = value_of(tiles[0], v);
    }
#pragma unroll
    for (int t = 0; t + 1 < Tiles; ++t) tiles[t] = tiles[t + 1];
    tiles[Tiles - 1] = Tile<T>{};
    __syncwarp();
    // Two diagonals at a time, a half of the warp each.
    const int r = lane % 16;
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      const int which = 2 * q + lane / 16, slot = base - 15 + which;
      const Line to{__shfl_sync(0xffffffffu, line.base, which), __shfl_sync(0xffffffffu, line.first, which),
                    __shfl_sync(0xffffffffu, line.last, which)};
      const int64 at = i1 + r < bands.rows ? find(to, i1 + r, bands.cyclic, bands.n) : -1;
      if (at < 0) continue;
      T value = ring[(slot < 0 ? slot + kRing : slot) * kRingStride + r];
      if (!finite(value)) value = product.alone(r, i1 + r, complete + which);
      if (update.plain) store_once(c + at, value);
      else update.one(c + at, value);
    }
  }
}

struct Lists {
  bool are_bands = false;
  Array a, b, c;
  int a_width = 0, b_width = 0;
  int64 a_low = 0;
  bool cyclic = false;

  template <class F>
  void visit(const F& f) const {
    for (const Array* array : {&a, &b, &c}) f(*array);
  }
};

std::shared_ptr<Lists> lists_of(const Plan& plan) {
  return keep<Lists>(plan.kept, "band", [&] {
    auto made = std::make_shared<Lists>();
    Band a, b, c;
    made->are_bands = find_bands(plan, a, b, c);
    if (!made->are_bands) return made;
    made->a = upload(a.lines);
    made->b = upload(b.lines);
    made->c = upload(c.lines);
    made->a_width = a.width();
    made->b_width = b.width();
    made->a_low = a.low;
    made->cyclic = a.cyclic;
    return made;
  });
}

// The next number from `least` on that is `rest` modulo `step`.
int next(int least, int rest, int step) { return least + (rest - least % step + step) % step; }

void run_row(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
  find_matmul(plan.format, "row").typed(a.dtype, b.dtype)(plan, a, b, alpha, beta, c);
}

// Pairs of different types are rare, and each would cost every installation a minute of compiling.
template <class U, class V>
struct BandMatmul {
  static void run(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
    run_row(plan, a, b, alpha, beta, c);
  }
};

template <class T>
struct BandMatmul<T, T> {
  static constexpr int most_tiles = is_complex<T> ? 8 : 15;

  static void run(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
    const auto lists = lists_of(plan);
    const int tiles = (lists->b_width + 14) / 8;
    Bands bands{lists->a.as<const Line>(),
                lists->b.as<const Line>(),
                lists->c.as<const Line>(),
                lists->a_width,
                lists->b_width,
                lists->a_low,
                plan.rows,
                plan.rows,
                lists->cyclic,
                0,
                0};
    int warps = plan.rows >= 1 << 16 ? 4 : plan.rows >= 1 << 14 ? 2 : 1, shared = 0;
    for (; warps > 0 && (shared = shared_bytes(bands, warps)) > most_shared(); warps /= 2) {
    }
    if (!lists->are_bands || warps == 0 || tiles > most_tiles) return run_row(plan, a, b, alpha, beta, c);
    const dim3 grid(static_cast<unsigned>(ceil_div(plan.rows, warps * kWarpRows)));
    with_tiles<2>(tiles, [&](auto kernel) {
      CUDA_CALL(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
      launch_shared("matmul band", kernel, grid, dim3(32 * warps), shared, bands, a.values.as<T>(),
                    plan.op_a.conjugated, b.values.as<T>(), plan.op_b.conjugated, c.values.as<T>(),
                    Update<T>(alpha, beta));
    });
  }

 private:
  // Sets the strides too: free of bank conflicts for the skewed reads of A's and of B's fragments.
  static int shared_bytes(Bands& bands, int warps) {
    const int banks = sizeof(T) < 16 ? 64 / static_cast<int>(sizeof(T)) * 2 : 8, rows = warps * kWarpRows;
    bands.a_stride = next(rows, banks / 4, banks);
    bands.b_stride = next(rows - kWarpRows + (kWarpRows - 1 + bands.a_width + 7) / 8 * 8, 4, banks);
    const auto round = [](std::size_t bytes) { return (bytes + 15) / 16 * 16; };
    return static_cast<int>(
        round(sizeof(T) * bands.a_width * bands.a_stride) + round(sizeof(T) * bands.b_width * bands.b_stride) +
        std::max(sizeof(T) * warps * kRing * kRingStride, sizeof(Line) * (bands.a_width + bands.b_width)));
  }

  static int most_shared() {
    int device = 0, bytes = 0;
    CUDA_CALL(cudaGetDevice(&device));
    CUDA_CALL(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    return bytes;
  }

  // Calls f with the kernel for at least this many open tiles.
  template <int Tiles, class F>
  static void with_tiles(int tiles, const F& f) {
    if constexpr (Tiles >= most_tiles) {
      f(band_tiles<most_tiles, T, T>);
    } else if (tiles <= Tiles) {
      f(band_tiles<Tiles, T, T>);
    } else {
      with_tiles<Tiles + (Tiles < 4 ? 1 : Tiles < 8 ? 2 : Tiles < 11 ? 3 : 4)>(tiles, f);
    }
  }
};

void prepare(const Plan& plan) {
  lists_of(plan);
  find_matmul(plan.format, "row").prepare(plan);  // for operands of other types than the planned ones too
}

}  // namespace

MatmulRow matmul_band() { return {"band", every_pair<BandMatmul, MatmulKernel>(), prepare}; }

}  // namespace diagsparse::cuda
