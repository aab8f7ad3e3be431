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
  __shared__ Listed lists[kQuaternionThreads / 32][32];
  const int64 block = thread_index() / 32, row = kMaskRows * block + threadIdx.x % 32, width = vectors.width;
  if (kMaskRows * block >= a.rows()) return;
  const int lane = threadIdx.x % 32;
  const Mask lower = below(lane);
  Listed* const list = lists[threadIdx.x / 32];
  for (int64 c = 4 * Columns * blockIdx.y; c < width; c += 4 * Columns * gridDim.y) {
    QuaternionSums<Columns, R> sums(vectors, c);
    Reader<A> here(a, block);
    for (int64 base = 0; base < a.diagonals(); base += 32) {
      const int count = list_diagonals(here, base, lane, width * static_cast<int64>(sizeof(R)), list);
#pragma unroll 1
      for (int first = 0; first < count; first += sums.together) {
        sums.template add<A>([&](int k, const A*& from_a, const A*& from_b, const R*& x) {
          const Listed from = list[first + k];
          if (!(from.rows >> lane & 1)) return false;
          from_a = from.position(here, lower);
          from_b = reinterpret_cast<const A*>(reinterpret_cast<const char*>(from_a) + distance);
          x = reinterpret_cast<const R*>(reinterpret_cast<const char*>(vectors.x + row * width + c) + from.across());
          return true;
        });
      }
      __syncwarp();
    }
    if (row < a.rows()) sums.store(vectors.y + row * width + c);
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
