// Sampled products of dia, hm and cdm: C[i, i + k] = sum over p of X[i, p] Y[i + k, p] on the diagonals k of C. Also of
// batches: all members in one launch.
//
//   C: m x n, D diagonals.  X: m x p.  Y: n x p.  Bytes at least: X + Y + C.
//
// "one_column": for vectors. A thread processes a few rows, 256 apart, on one diagonal after another. Neighbouring
// threads write neighbouring values; a row of X is in registers, and those of Y are in the first-level cache.
// "tiles": for blocks of columns, in any order. A block computes 256 rows of C on the diagonals of a group, whose
// offsets are less than 16 apart. It copies the rows of X and Y that it needs to shared memory, some columns at a time.
// A thread has the sums of several neighbouring rows on all of these diagonals in registers, so that each element of Y
// that it reads is used for several of them. Shared memory also brings the sums to the order in which they are written.
//
// Both add a sum in the order of the columns, so that every run gives the same bits.
#include <vector>

#include "core/sampled.hpp"
#include "device/dense.cuh"
#include "device/resident.cuh"
#include "device/values.cuh"
#include "kernels/sampled/members.cuh"

namespace diagsparse::cuda::sampled {

namespace {

// Element i of the diagonal is values[base + i], for rows first <= i < last.
struct Diagonal {
  int64 base, offset, first, last;
};

constexpr int kListed = 128;         // diagonals in shared memory at a time
constexpr int kTileRows = 256;       // rows of a block of "tiles"
constexpr int kGroup = 16;           // the offsets of a group are in a range of this size
constexpr int64 kManyBlocks = 2048;  // that fill a GPU

struct Group {
  int first, count;
};

struct ResidentDiagonals {
  Array diagonals, groups;
  int count, group_count;

  explicit ResidentDiagonals(const Layout& layout) {
    std::vector<Diagonal> all;
    std::vector<Group> grouped;
    for (const Span& s : layout.spans) {  // by ascending offset
      if (s.length == 0) continue;
      const int number = static_cast<int>(all.size());
      if (grouped.empty() || s.offset - all[grouped.back().first].offset >= kGroup) grouped.push_back({number, 0});
      ++grouped.back().count;
      all.push_back({s.start - s.row, s.offset, s.row, s.row + s.length});
    }
    count = static_cast<int>(all.size());
    group_count = static_cast<int>(grouped.size());
    diagonals = upload(all);
    groups = upload(grouped);
  }
  const Diagonal* begin() const { return diagonals.as<const Diagonal>(); }

  auto arrays() const { return std::tie(diagonals, groups); }
};

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
  const int64 member = members.first + blockIdx.x / members.tiles;
  const int64 row = static_cast<int64>(blockIdx.x % members.tiles) * height;
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
  by_launches(members, c.rows, Rows * kBlock, [&](const Members& some, unsigned blocks) {
    // Few rows: several blocks divide the diagonals.
    const int64 shares = std::clamp<int64>(kManyBlocks / blocks, 1, resident.count);
    const int each = static_cast<int>(ceil_div(resident.count, shares));
    const dim3 grid(blocks, static_cast<unsigned>(ceil_div(resident.count, each)));
    launch("sampled diagonals", one_column<T, Rows>, grid, dim3(kBlock), resident.begin(), resident.count, each,
           Block<const T>(x), Block<const T>(y), c.values.as<T>(), c.rows, some);
  });
}

// ---- Blocks of columns --------------------------------------------------------------------------------------------
// The sizes of a tile for a type. Row i of X and Y is in shared memory at (i % rows) * apart + i / rows, so that
// threads that process neighbouring groups of rows read neighbouring positions; each position has `step` elements.
template <class T>
struct Tile {
  static constexpr int rows = sizeof(T) == 16 ? 2 : 4;  // of a thread
  static constexpr int threads = kTileRows / rows;
  static constexpr int width = 64 / sizeof(T), step = width + 1;  // columns at a time; odd, to use all banks
  static constexpr int apart = sizeof(T) == 4 ? 80 : sizeof(T) == 8 ? 72 : 140;  // no conflicts of banks while copying
  static constexpr int size = rows * apart * step;
  // Sums of a diagonal in shared memory, in the same order.
  static constexpr int sums_apart = threads + 128 / sizeof(T) / rows, sums_size = rows * sums_apart;
  static constexpr int at_once = 2 * size / sums_size;  // diagonals whose sums fit

  __device__ static int position(int row) { return (row % rows * apart + row / rows) * step; }
};

// Copies columns p to p + some of the rows [first, first + count) of d to shared memory; rows outside of d are 0.
template <class T>
__device__ void stage(T* to, const Block<const T>& d, int64 first, int count, int64 height, int64 p, int some) {
  const bool by_rows = d.col == 1;
  const int shift = 32 - __clz(some - 1), width = 1 << shift;  // the next power of two
#pragma unroll 4
  for (int e = threadIdx.x; e < count * (by_rows ? width : some); e += Tile<T>::threads) {
    const int r = by_rows ? e >> shift : e % count, c = by_rows ? e & (width - 1) : e / count;
    const int64 i = first + r;
    if (c < some) {
      to[Tile<T>::position(r) + c] = i >= 0 && i < height ? load(d.data + i * d.row + (p + c) * d.col) : T{};
    }
  }
}

template <class T>
__global__ void __launch_bounds__(Tile<T>::threads)
    tiles(const Diagonal* diagonals, const Group* groups, Block<const T> x, Block<const T> y, int64 columns, T* values,
          int64 rows, int64 cols, const __grid_constant__ Members members) {
  constexpr int R = Tile<T>::rows, apart = Tile<T>::apart, step = Tile<T>::step;
  __shared__ Bits<T> memory[2 * Tile<T>::size];
  __shared__ Diagonal list[kGroup];
  T *const in_x = reinterpret_cast<T*>(memory), *const in_y = in_x + Tile<T>::size;
  const int64 member = members.first + blockIdx.x / members.tiles;
  const int64 first = static_cast<int64>(blockIdx.x % members.tiles) * kTileRows;
  x.data += member * members.x;
  y.data += member * members.y;
  values += member * members.c;
  const Group group = groups[blockIdx.y];
  const int64 low = diagonals[group.first].offset;
  const int reach = static_cast<int>(diagonals[group.first + group.count - 1].offset - low);
  if (threadIdx.x < group.count) list[threadIdx.x] = diagonals[group.first + threadIdx.x];
  T sum[R][kGroup] = {};
  for (int64 p = 0; p < columns; p += Tile<T>::width) {
    const int some = static_cast<int>(columns - p < Tile<T>::width ? columns - p : Tile<T>::width);
    __syncthreads();
    stage(in_x, x, first, kTileRows, rows, p, some);
    stage(in_y, y, first + low, kTileRows + reach, cols, p, some);
    __syncthreads();
    for (int c = 0; c < some; ++c) {
      const T *const left = in_x + threadIdx.x * step + c, *const right = in_y + threadIdx.x * step + c;
      T factor[R];
#pragma unroll
      for (int r = 0; r < R; ++r) factor[r] = left[r * apart * step];
      // Row R t + s of Y is needed for row r on the diagonal of offset low + s - r.
#pragma unroll
      for (int s = 0; s < R + kGroup - 1; ++s) {
        if (s >= R + reach) break;
        const T other = right[(s % R * apart + s / R) * step];
#pragma unroll
        for (int r = 0; r < R; ++r) {
          if (s >= r && s - r < kGroup) sum[r][s - r] += multiply(factor[r], other);
        }
      }
    }
  }
  T* const sums = in_x;
  for (int begin = 0; begin <= reach; begin += Tile<T>::at_once) {
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kGroup; ++k) {
      if (k < begin || k >= begin + Tile<T>::at_once || k > reach) continue;
#pragma unroll
      for (int r = 0; r < R; ++r) {
        sums[(k - begin) * Tile<T>::sums_size + r * Tile<T>::sums_apart + threadIdx.x] = sum[r][k];
      }
    }
    __syncthreads();
    for (int d = 0; d < group.count; ++d) {
      const Diagonal here = list[d];
      const int k = static_cast<int>(here.offset - low) - begin;
      if (k < 0 || k >= Tile<T>::at_once) continue;
#pragma unroll
      for (int r = 0; r < R; ++r) {
        const int row = threadIdx.x + r * Tile<T>::threads;
        const int64 i = first + row;
        if (i >= here.first && i < here.last) {
          store_once(values + (here.base + i), sums[k * Tile<T>::sums_size + row % R * Tile<T>::sums_apart + row / R]);
        }
      }
    }
  }
}

template <class T>
void run_tiles(const ResidentDiagonals& resident, const Dense& x, const Dense& y, Matrix& c, Members members) {
  constexpr int64 most = 65535;  // groups of a launch
  for (int64 first = 0; first < resident.group_count; first += most) {
    by_launches(members, c.rows, kTileRows, [&](const Members& some, unsigned blocks) {
      const dim3 grid(blocks, static_cast<unsigned>(std::min<int64>(resident.group_count - first, most)));
      launch("sampled diagonals", tiles<T>, grid, dim3(Tile<T>::threads), resident.begin(),
             resident.groups.template as<const Group>() + first, Block<const T>(x), Block<const T>(y), x.cols,
             c.values.as<T>(), c.rows, c.cols, some);
    });
  }
}

// ---- The choice ---------------------------------------------------------------------------------------------------
template <class T>
void run_members(const Dense& x, const Dense& y, Matrix& c, Members members) {
  const Layout& layout = c.layout();
  const auto resident =
      cached<ResidentDiagonals>(layout.cache(), "sampled", [&] { return std::make_shared<ResidentDiagonals>(layout); });
  if (resident->count == 0 || members.count == 0) return;
  const bool few = c.rows * members.count < kManyBlocks * kBlock;
  if (x.cols != 1) run_tiles<T>(*resident, x, y, c, members);
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
