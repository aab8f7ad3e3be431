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

// A block's shared memory, in bytes from its beginning.
struct Room {
  int b, nothing, rings, pieces, a_at, b_at, total;

  __host__ __device__ Room(const Bands& bands, int item, int groups, int warps) {
    const auto next = [](int bytes) { return (bytes + 15) / 16 * 16; };
    b = next(item * bands.a_width * bands.a_stride);
    nothing = b + item * bands.b_width * bands.b_stride;
    rings = next(nothing + item * bands.b_stride);
    // The runs of A and B lie where the rings will be.
    const int runs = static_cast<int>(sizeof(Run)) * (bands.a_width + bands.b_width);
    pieces = next(rings + max(item * warps * kRing * kRingStride, runs));
    a_at = pieces + static_cast<int>(sizeof(Piece)) * 8 * bands.steps();
    b_at = a_at + 4 * (kWarpRows - 1 + 8 * bands.inner_steps());
    total = b_at + 4 * bands.b_width;
  }
};

template <int Tiles, bool Split, class T>
__global__ void __launch_bounds__(Split ? 256 : 128)
    band_tiles(const __grid_constant__ Bands bands, const Source<T> a, bool conj_a, const Source<T> b, bool conj_b,
               T* c, const __grid_constant__ Update<T> update) {
  static_assert(Tiles % 3 == 0);  // the ring turns once in three steps
  constexpr int item = sizeof(T);
  extern __shared__ double2 memory[];
  __shared__ Copies copies;
  char* const shared = reinterpret_cast<char*>(memory);
  const int warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int groups = Split ? warps / 2 : warps, part = warp / groups;  // two warps share their rows
  const int rows = groups * kWarpRows, met = met_rows(bands, groups);  // of C, of B
  const Room room(bands, item, groups, warps);
  Piece* pieces = reinterpret_cast<Piece*>(shared + room.pieces);  // of C; the first is that of line 1 - kWarpRows
  int *a_at = reinterpret_cast<int*>(shared + room.a_at) + kWarpRows - 1,
      *b_at = reinterpret_cast<int*>(shared + room.b_at);
  Run* runs = reinterpret_cast<Run*>(shared + room.rings);
  const int64 i0 = static_cast<int64>(blockIdx.x) * rows;
  const int mine = static_cast<int>(min(int64(rows), bands.rows - i0));
  // Line l of A and B together, and line of C; the first ones of each thread are read ahead.
  const auto operand_line = [&](int l) {
    return l < bands.a_width                   ? bands.a[l]
           : l < bands.a_width + bands.b_width ? bands.b[l - bands.a_width]
                                               : Line{0, 0, 0};
  };
  const auto result_line = [&](int line) {
    return line >= 0 && line < bands.c_width() ? bands.c[line] : Line{0, 0, 0};
  };
  const Line own_operand = operand_line(threadIdx.x),
             own_result = result_line(static_cast<int>(threadIdx.x) + 1 - kWarpRows);
  if (threadIdx.x == 0) copies.begin(blockDim.x);
  __syncthreads();
#pragma unroll 1
  for (int l = threadIdx.x; l < bands.a_width + bands.b_width; l += blockDim.x) {
    const int e = l - bands.a_width;
    const bool of_a = e < 0;
    const Line line = l == static_cast<int>(threadIdx.x) ? own_operand : operand_line(l);
    const Piece piece = piece_of(line, of_a ? i0 : i0 + bands.a_low, of_a ? mine : met, bands);
    const T* values = of_a ? a.values : b.values;
    const T* from = values + piece.at;
    const int place = (of_a ? item * l * bands.a_stride : room.b + item * e * bands.b_stride) + since_border(from);
    (of_a ? a_at[l] : b_at[e]) = piece.first < piece.last ? place : room.nothing;
    copies.start(Run{reinterpret_cast<const char*>(from), shared + place, item, of_a ? rows : met, piece.first,
                     piece.last, piece.wrap},
                 values, of_a ? a.size : b.size, runs);
  }
  copies.started();
  bool whole = update.plain && mine == rows;
  for (int l = threadIdx.x; l < 8 * bands.steps(); l += blockDim.x) {
    Piece piece =
        piece_of(l == static_cast<int>(threadIdx.x) ? own_result : result_line(l + 1 - kWarpRows), i0, mine, bands);
    if (piece.last <= piece.first) piece.at = -1;
    else whole = whole && piece.whole(rows);
    pieces[l] = piece;
  }
  for (int d = static_cast<int>(threadIdx.x) + 1 - kWarpRows; d < 8 * bands.inner_steps(); d += blockDim.x) {
    if (d < 0 || d >= bands.a_width) a_at[d] = room.nothing;
  }
  for (int x = threadIdx.x; x < bands.b_stride; x += blockDim.x) reinterpret_cast<T*>(shared + room.nothing)[x] = T{};
  copies.wait(runs, bands.n, 0);
  whole = __syncthreads_and(whole);  // every line of C that the block meets is stored for all of its rows

  const int first = warp % groups * kWarpRows, row = lane / 4, inner = lane % 4, column = lane % 4 * 2;
  const int r = lane % 16, x = first + r;
  const WarpBands<T> own{bands, shared + item * first, a_at, b_at, conj_a, conj_b};
  T* own_c = c + x;
  asm("" : "+l"(own_c));  // kept, not found anew in every step
  T* ring = reinterpret_cast<T*>(shared + room.rings) + warp * kRing * kRingStride;
  const auto place = [&](int slot, int r) { return (slot < 0 ? slot + kRing : slot) * kRingStride + r; };
  int right[Tiles][2];  // where B's values of a step are, for each open tile and each half of the step's eight rows
#pragma unroll
  for (int t = 0; t < Tiles; ++t) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int k = 4 * half + inner, e = 8 * t + row - k;
      right[t][half] = (static_cast<unsigned>(e) < bands.b_width ? b_at[e] : room.nothing) + item * k;
      asm("" : "+r"(right[t][half]));
    }
  }
  // The steps after which this warp writes what they complete.
  const int middle = (bands.step + bands.step_end) / 2;
  const int begin = part == 0 ? bands.step : middle, end = Split && part == 0 ? middle : bands.step_end;
  Tile<T> tiles[Tiles];  // tile t of step g is number (g + t) % Tiles
#pragma unroll 1
  for (int g0 = 0; g0 < end; g0 += Tiles) {
    unsigned long long wrong = 0;  // sums of these steps that are infinite or no numbers
#pragma unroll
    for (int u = 0; u < Tiles; ++u) {
      const int g = g0 + u, base = u % 3 * 8;
      if (g >= end) break;
      if (g + Tiles + 2 <= begin) continue;  // a step writes what the last three tiles hold
      if (g < bands.inner_steps()) {
        tiles[(u + Tiles - 1) % Tiles] = Tile<T>{};
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int k = 8 * g + 4 * half + inner;
          const T low = own.left(row, k), high = own.left(row + 8, k);
#pragma unroll
          for (int t = 0; t < Tiles; ++t) {
            if (!Split || (g + t + 2 >= begin && g + t < end)) {
              tiles[(u + t) % Tiles].add(low, high, conjugate_if(conj_b, own.at(right[t][half] + 8 * item * u)));
            }
          }
        }
      }
      // The first tile is complete: to the ring, by diagonals.
#pragma unroll
      for (int v = 0; v < 4; ++v) {
        const int r = row + (v < 2 ? 0 : 8);
        ring[place(base + column + v % 2 - r, r)] = tiles[u].value(v);
      }
      __syncwarp();
      if (g < begin) continue;
      // The diagonals that this completes, two at a time, a half of the warp each.
      T sums[4];
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        sums[q] = ring[place(base + 1 - kWarpRows + 2 * q + lane / 16, r)];
        if (!is_finite(sums[q])) wrong |= 1ull << (4 * u + q);
      }
      const Piece* to = pieces + 8 * g + lane / 16;
      if (whole) {
        int64 at[4];
#pragma unroll
        for (int q = 0; q < 4; ++q) at[q] = to[2 * q].at;
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          if (at[q] >= 0) store_once(own_c + at[q], sums[q]);
        }
      } else {
#pragma unroll 1
        for (int q = 0; q < 4; ++q) {
          const T sum = ring[place(base + 1 - kWarpRows + 2 * q + lane / 16, r)];
          if (is_finite(sum) && to[2 * q].holds(x)) update.one(c + to[2 * q].place(x, bands.n), sum);
        }
      }
      __syncwarp();
    }
    for (; wrong != 0; wrong &= wrong - 1) {
      const int bit = __ffsll(wrong) - 1, number = 8 * (g0 + bit / 4) + 2 * (bit % 4) + lane / 16;
      const Piece& to = pieces[number];
      if (to.holds(x)) update.one(c + to.place(x, bands.n), own.alone(r, i0 + x, number + 1 - kWarpRows));
    }
#pragma unroll
    for (int t = 0; t < Tiles; ++t) {
#pragma unroll
      for (int half = 0; half < 2; ++half) right[t][half] += 8 * item * Tiles;
    }
  }
}

struct Lists {
  bool are_bands = false;
  Array a, b, c;
  int a_width = 0, b_width = 0, step = 0, step_end = 0;
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
    const auto stored = [](const Line& line) { return line.first < line.last; };
    const auto first = std::find_if(c.lines.begin(), c.lines.end(), stored);
    const auto last = std::find_if(c.lines.rbegin(), c.lines.rend(), stored);
    made->step = static_cast<int>(first - c.lines.begin() + kWarpRows - 1) / 8;
    made->step_end = static_cast<int>(c.lines.rend() - last + kWarpRows - 2) / 8 + 1;
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
  static constexpr int most_tiles = most_band_tiles(is_complex<T>);

  static void run(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
    const auto lists = lists_of(plan);
    const int tiles = band_tiles_of(lists->b_width);
    Bands bands{lists->a.as<const Line>(),
                lists->b.as<const Line>(),
                lists->c.as<const Line>(),
                lists->a_width,
                lists->b_width,
                lists->step,
                lists->step_end,
                lists->a_low,
                plan.rows,
                plan.rows,
                lists->cyclic,
                0,
                0};
    if (!lists->are_bands || tiles > most_tiles) return run_row(plan, a, b, alpha, beta, c);
    with_tiles<3>(tiles, [&](auto constant) {
      constexpr int open = constant.value;
      const auto with = [&](auto kernel, int groups, int warps) {
        const dim3 grid(static_cast<unsigned>(ceil_div(plan.rows, groups * kWarpRows)));
        launch_shared("matmul band", kernel, grid, dim3(32 * warps), shared_bytes(bands, groups, warps), bands,
                      Source<T>(a), plan.op_a.conjugated, Source<T>(b), plan.op_b.conjugated, c.values.as<T>(),
                      Update<T>(alpha, beta));
      };
      // Two warps share their rows where there are too few to keep the device busy. (n = 10240, 41 x 41 diagonals: 20
      // -> 16 us.)
      if constexpr (open <= 6) {
        const Limits& limits = cuda::limits<band_tiles<open, true, T>>();
        const int groups = groups_of(bands, 2, limits);
        if (groups > 0 && ceil_div(plan.rows, 4 * kWarpRows) <= 2 * limits.multiprocessors) {
          return with(band_tiles<open, true, T>, groups, 2 * groups);
        }
      }
      const int groups = groups_of(bands, 1, limits<band_tiles<open, false, T>>());
      if (groups == 0) return run_row(plan, a, b, alpha, beta, c);
      with(band_tiles<open, false, T>, groups, groups);
    });
  }

 private:
  // Times 16 rows a block: as many as its shared memory has room for, and as let cyclic lines wrap around once at most.
  static int groups_of(Bands& bands, int warps, const Limits& limits) {
    int groups = 4;
    while (groups > 0 && (shared_bytes(bands, groups, warps * groups) > limits.shared ||
                          (bands.cyclic && groups > 1 && met_rows(bands, groups) > bands.n))) {
      groups /= 2;
    }
    return groups;
  }

  // Of a block. Sets the strides too: free of bank conflicts for the skewed reads of A's and of B's fragments.
  static int shared_bytes(Bands& bands, int groups, int warps) {
    constexpr int shift = 16 / sizeof(T) - 1;  // room for lines that begin behind a 16-byte border
    const int rows = groups * kWarpRows, met = met_rows(bands, groups);
    bands.a_stride = next(rows + shift, 32 / sizeof(T), 64 / sizeof(T));
    bands.b_stride = next(met + shift, 4, 8);
    return Room(bands, sizeof(T), groups, warps).total;
  }

  // Calls f with the number of open tiles to compile for: this many or a few more.
  template <int Tiles, class F>
  static void with_tiles(int tiles, const F& f) {
    if constexpr (Tiles >= most_tiles) {
      f(std::integral_constant<int, most_tiles>());
    } else if (tiles <= Tiles) {
      f(std::integral_constant<int, Tiles>());
    } else {
      with_tiles<Tiles + 3>(tiles, f);
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
