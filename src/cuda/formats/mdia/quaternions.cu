// Products of mdia matrices of quaternions with vectors: y = op(Q) x or x op(Q), for Q = A + B j.
//
//   A, B: m x n masked diagonals, both triangles, without a palette.  x: n x 4 p.  y: m x 4 p.  Bytes at least:
//   A + B + x + y.
//
// As in matvec.cu, a warp processes a block of 32 rows, and a lane a row, whose components of y are in registers. If x
// is a block, A and B are read once for four of its vectors. Every run gives the same bits.
#include "formats/mdia/readers.cuh"
#include "kernels/matvec/quaternions.cuh"

namespace diagsparse::cuda::mdia {

namespace {

constexpr int kQuaternionThreads = 128;

// distance: from A's values to B's, in bytes.
template <int Columns, template <class> class Reader, class U, class R>
__global__ void __launch_bounds__(kQuaternionThreads)
    quaternion_masks(const __grid_constant__ typename Reader<Complex<U>>::Matrix a, int64 distance,
                     const __grid_constant__ QuaternionVectors<R> vectors) {
  using A = Complex<U>;
  using Listed = typename Reader<A>::Listed;
  constexpr int At = Columns == 1 ? 2 : 1;  // diagonals whose loads are in flight together
  __shared__ Listed lists[kQuaternionThreads / 32][32];
  const int64 block = thread_index() / 32, row = kMaskRows * block + threadIdx.x % 32, width = vectors.width;
  if (kMaskRows * block >= a.rows()) return;
  const int lane = threadIdx.x % 32;
  const Mask lower = below(lane);
  Listed* const list = lists[threadIdx.x / 32];
  for (int64 c = 4 * Columns * blockIdx.y; c < width; c += 4 * Columns * gridDim.y) {
    R sums[Columns][4] = {};
    Reader<A> here(a, block);
    for (int64 base = 0; base < a.diagonals(); base += 32) {
      const Listed mine = here.examine(base, lane, width * static_cast<int64>(sizeof(R)));
      const unsigned some = __ballot_sync(~0u, mine.rows != 0);
      const int count = __popc(some);
      if (mine.rows != 0) list[__popc(some & lower)] = mine;
      if (lane >= count) list[lane].rows = 0;
      __syncwarp();
#pragma unroll 1
      for (int first = 0; first < count; first += At) {
        A from_a[At], from_b[At];
        R x[At][Columns][4];
        bool holds[At];
#pragma unroll
        for (int k = 0; k < At; ++k) {
          const Listed from = list[first + k];
          holds[k] = from.rows >> lane & 1;
          if (!holds[k]) continue;
          const A* const position = from.position(here, lower);
          from_a[k] = load_once(position);
          from_b[k] = load_once(reinterpret_cast<const A*>(reinterpret_cast<const char*>(position) + distance));
          const char* const from_x = reinterpret_cast<const char*>(vectors.x + row * width + c) + from.across();
#pragma unroll
          for (int j = 0; j < Columns; ++j) {
            if (Columns == 1 || c + 4 * j < width) vectors.load(reinterpret_cast<const R*>(from_x) + 4 * j, x[k][j]);
          }
        }
#pragma unroll
        for (int k = 0; k < At; ++k) {
          if (!holds[k]) continue;
          R q[4];
          vectors.element(from_a[k], from_b[k], q);
#pragma unroll
          for (int j = 0; j < Columns; ++j) {
            if (Columns == 1 || c + 4 * j < width) vectors.add(q, x[k][j], sums[j]);
          }
        }
      }
      __syncwarp();
    }
    if (row >= a.rows()) continue;
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
      if (Columns == 1 || c + 4 * j < width) vectors.store(vectors.y + row * width + c + 4 * j, sums[j]);
    }
  }
}

template <class A, class R>
struct QuaternionMasks {
  static void run(const Matrix& a, const Matrix& b, bool transposed, const QuaternionSigns& signs, const Dense& x,
                  const Dense& y) {
    if (!transposed) return launch_reader<InOrder>({Mdia<A>::of(a), false}, a, b, signs, x, y);
    const auto diagonals = resident_diagonals(*a.structure, {true, false});
    launch_reader<Transposed>({operand<A>(a), diagonals->begin(), diagonals->count, y.rows}, a, b, signs, x, y);
  }

 private:
  template <template <class> class Reader>
  static void launch_reader(const typename Reader<A>::Matrix& read, const Matrix& a, const Matrix& b,
                            const QuaternionSigns& signs, const Dense& x, const Dense& y) {
    const int64 distance = b.values.as<char>() - a.values.as<char>();
    const int64 blocks = ceil_div(masks_along(y.rows), kQuaternionThreads / 32);
    with_columns<R>(x, y, signs, blocks, [&](const auto& vectors, auto columns, dim3 grid) {
      launch("quaternion masks", quaternion_masks<decltype(columns)::value, Reader, Real<A>, R>, grid,
             dim3(kQuaternionThreads), read, distance, vectors);
    });
  }
};

const RegisterQuaternions registered_quaternions("mdia", 0, &quaternion_kernels<QuaternionMasks>);

}  // namespace

}  // namespace diagsparse::cuda::mdia
