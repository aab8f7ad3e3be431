// Sampled products of dia, hm and cdm: C[i, i + k] = sum over p of X[i, p] Y[i + k, p] on the diagonals k of C. Also of
// batches: all members in one launch.
//
//   C: m x n, D diagonals.  X: m x p.  Y: n x p.  Bytes at least: X + Y + C.
//
// "direct": for one column, and for contiguous columns (F order). A thread processes a few rows, 256 apart, on one
// diagonal after another, four at a time. Neighbouring threads read neighbouring elements of X and Y and write
// neighbouring values; a row of X is in registers or, like those of Y, in the first-level cache.
// "staged": for contiguous rows (C order). A block copies rows of X, and those of Y that up to 16 neighbouring
// diagonals need, to shared memory, some columns at a time. A thread has the sums of a row of C on these diagonals in
// registers.
//
// Both add a sum in the order of the columns, so that every run gives the same bits, and both orders the same.
#include <vector>

#include "core/sampled.hpp"
#include "device/dense.cuh"
#include "device/resident.cuh"
#include "device/values.cuh"

namespace diagsparse::cuda::sampled {

namespace {

// Element i of the diagonal is values[base + i], for rows first <= i < last.
struct Diagonal {
  int64 base, offset, first, last;

  __device__ bool holds(int64 i) const { return i >= first && i < last; }
};

constexpr int kAt = 4;               // diagonals that a thread of "direct" processes together
constexpr int kListed = 128;         // diagonals in shared memory at a time
constexpr int kGroup = 16;           // diagonals of a block of "staged"
constexpr int kStagedRows = 128;     // its rows
constexpr int64 kReach = 128;        // most rows of Y that it stages more than of X
constexpr int64 kManyBlocks = 2048;  // that fill a GPU

// Neighbouring diagonals, at most kReach apart.
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
      if (grouped.empty() || grouped.back().count == kGroup || s.offset - all[grouped.back().first].offset > kReach) {
        grouped.push_back({number, 0});
      }
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

// Distances between successive members of X, Y and C, and how many blocks of rows a member has.
struct Members {
  int64 count = 1, x = 0, y = 0, c = 0;
  unsigned tiles = 1;
};

// The member and the first row of a block.
template <int Rows>
__device__ int64 locate(const Members& members, int64& first_row) {
  const unsigned member = blockIdx.x / members.tiles;
  first_row = static_cast<int64>(blockIdx.x - member * members.tiles) * Rows;
  return member;
}

template <class T, int Rows, bool OneColumn>
__global__ void __launch_bounds__(kBlock)
    direct(const Diagonal* diagonals, int count, int each, Block<const T> x, Block<const T> y, int64 columns, T* values,
           int64 rows, const __grid_constant__ Members members) {
  __shared__ Diagonal list[kListed];
  int64 row;
  const int64 member = locate<Rows * kBlock>(members, row);
  x.data += member * members.x;
  y.data += member * members.y;
  values += member * members.c;
  row += threadIdx.x;
  T left[Rows];
  if constexpr (OneColumn) {
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      if (row + r * kBlock < rows) left[r] = load(x.data + (row + r * kBlock) * x.row);
    }
  }
  const int end = min(count, (static_cast<int>(blockIdx.y) + 1) * each);
  for (int begin = blockIdx.y * each; begin < end; begin += kListed) {
    const int some = min(end - begin, kListed);
    __syncthreads();
    if (threadIdx.x < some) list[threadIdx.x] = diagonals[begin + threadIdx.x];
    __syncthreads();
    for (int d = 0; d < some; d += kAt) {
      T sum[kAt][Rows] = {};
      for (int64 p = 0; p < (OneColumn ? 1 : columns); ++p) {
        if constexpr (!OneColumn) {
#pragma unroll
          for (int r = 0; r < Rows; ++r) {
            if (row + r * kBlock < rows) left[r] = load(x.data + (row + r * kBlock) * x.row + p * x.col);
          }
        }
#pragma unroll
        for (int k = 0; k < kAt; ++k) {
          if (d + k >= some) break;
          const Diagonal& here = list[d + k];
#pragma unroll
          for (int r = 0; r < Rows; ++r) {
            const int64 i = row + r * kBlock;
            if (here.holds(i)) sum[k][r] += multiply(left[r], load(y.data + (i + here.offset) * y.row + p * y.col));
          }
        }
      }
#pragma unroll
      for (int k = 0; k < kAt; ++k) {
        if (d + k >= some) break;
        const Diagonal& here = list[d + k];
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
          const int64 i = row + r * kBlock;
          if (here.holds(i)) values[here.base + i] = sum[k][r];
        }
      }
    }
  }
}

// Copies rows [first, first + count) of d, columns p to p + some, to shared memory, `Step` elements apart; rows outside
// of d are 0.
template <int Step, class T>
__device__ void stage(T* to, const Block<const T>& d, int64 first, int count, int64 height, int64 p, int some) {
  constexpr int width = Step & ~1;
  for (int e = threadIdx.x; e < count * width; e += kStagedRows) {
    const int r = e / width, c = e % width;
    const int64 i = first + r;
    if (c < some) to[r * Step + c] = i >= 0 && i < height ? load(d.data + i * d.row + p + c) : T{};
  }
}

template <class T>
__global__ void __launch_bounds__(kStagedRows)
    staged(const Diagonal* diagonals, const Group* groups, Block<const T> x, Block<const T> y, int64 columns, T* values,
           int64 rows, int64 cols, const __grid_constant__ Members members) {
  constexpr int width = 64 / sizeof(T), step = width + 1;  // odd, so that threads read different banks
  __shared__ Bits<T> raw_x[kStagedRows * step], raw_y[(kStagedRows + kReach) * step];
  __shared__ int at[kGroup];
  T *const in_x = reinterpret_cast<T*>(raw_x), *const in_y = reinterpret_cast<T*>(raw_y);
  int64 first;
  const int64 member = locate<kStagedRows>(members, first);
  x.data += member * members.x;
  y.data += member * members.y;
  const Group group = groups[blockIdx.y];
  diagonals += group.first;
  const int64 low = diagonals[0].offset;
  const int reach = static_cast<int>(diagonals[group.count - 1].offset - low);
  if (threadIdx.x < kGroup) {  // threads process unused places like the last diagonal
    at[threadIdx.x] =
        static_cast<int>(diagonals[min(static_cast<int>(threadIdx.x), group.count - 1)].offset - low) * step;
  }
  T sum[kGroup] = {};
  for (int64 p = 0; p < columns; p += width) {
    const int some = static_cast<int>(columns - p < width ? columns - p : width);
    __syncthreads();
    stage<step>(in_x, x, first, kStagedRows, rows, p, some);
    stage<step>(in_y, y, first + low, kStagedRows + reach, cols, p, some);
    __syncthreads();
    const T *const left = in_x + threadIdx.x * step, *const right = in_y + threadIdx.x * step;
    for (int c = 0; c < some; ++c) {
      const T factor = left[c];
#pragma unroll
      for (int k = 0; k < kGroup; ++k) sum[k] += multiply(factor, right[at[k] + c]);
    }
  }
  const int64 i = first + threadIdx.x;
  values += member * members.c;
#pragma unroll
  for (int k = 0; k < kGroup; ++k) {
    if (k < group.count && diagonals[k].holds(i)) values[diagonals[k].base + i] = sum[k];
  }
}

template <class T, int Rows, bool OneColumn>
void run_direct(const ResidentDiagonals& resident, const Dense& x, const Dense& y, Matrix& c, Members members) {
  members.tiles = static_cast<unsigned>(ceil_div(c.rows, Rows * kBlock));
  dim3 grid(static_cast<unsigned>(members.tiles * members.count));
  // Few rows: several blocks divide the diagonals.
  const int64 shares = std::clamp<int64>(kManyBlocks / grid.x, 1, ceil_div(resident.count, kAt));
  const int each = static_cast<int>(ceil_div(ceil_div(resident.count, shares), kAt) * kAt);
  grid.y = static_cast<unsigned>(ceil_div(resident.count, each));
  launch("sampled diagonals", direct<T, Rows, OneColumn>, grid, dim3(kBlock), resident.begin(), resident.count, each,
         Block<const T>(x), Block<const T>(y), x.cols, c.values.as<T>(), c.rows, members);
}

template <class T>
void run_members(const Dense& x, const Dense& y, Matrix& c, Members members) {
  const Layout& layout = c.layout();
  const auto resident =
      cached<ResidentDiagonals>(layout.cache(), "sampled", [&] { return std::make_shared<ResidentDiagonals>(layout); });
  if (resident->count == 0 || members.count == 0) return;
  const auto by_rows = [](const Dense& d) { return d.col_stride == 1 && d.row_stride != 1; };
  if (x.cols > 1 && by_rows(x) && by_rows(y)) {
    members.tiles = static_cast<unsigned>(ceil_div(c.rows, kStagedRows));
    const dim3 grid(static_cast<unsigned>(members.tiles * members.count), static_cast<unsigned>(resident->group_count));
    launch("sampled diagonals", staged<T>, grid, dim3(kStagedRows), resident->begin(),
           resident->groups.template as<const Group>(), Block<const T>(x), Block<const T>(y), x.cols, c.values.as<T>(),
           c.rows, c.cols, members);
  } else if (x.cols != 1) {
    run_direct<T, 1, false>(*resident, x, y, c, members);
  } else if (sizeof(T) > 8 || c.rows * members.count < kManyBlocks * kBlock) {
    run_direct<T, 1, true>(*resident, x, y, c, members);
  } else {
    run_direct<T, 2, true>(*resident, x, y, c, members);
  }
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
