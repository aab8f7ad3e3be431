// Kernel "band" of dia, hm and cdm: C = alpha op(A) op(B) + beta C of two bands, on the FP64 matrix units.
//
// A band is a row of dense tiles. A block takes 16 rows of C for each of its warps. It brings A's and B's lines for
// these rows into shared memory as they are stored (a bulk copy for each line, see fetch.cuh; the row stride keeps the
// skewed reads of the fragments free of bank conflicts, but for lines that begin behind a 32-byte border); where B is A
// transposed, B's lines hold A's values too. A warp walks the rows k of B that its rows of A meet, 8 at a time: `Tiles`
// tiles of 16 x 8 of C are open at once in registers, the first of them is complete after each step, and is put back
// into diagonals through a ring in shared memory and written once.
//
//     rows i of C   | a a a a . . . .     The band of A times the band of B; tile t of C holds the columns
//     (16 a warp)   | . a a a a . . .     8 t ... 8 t + 7, counted from the first that the rows reach.
//                   | . . a a a a . .
//
// All types run in double precision, complex products as four real ones. Tiles also multiply what is not stored, as
// zeros: so a sum that is infinite or no number is done again over the stored pairs alone.
// The same bits on every run.
#include "kernels/band_kernel.cuh"
#include "kernels/diagonal_kernels.hpp"
#include "resident.cuh"

namespace diagsparse::cuda {

namespace {

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
                plan.op_a.transposed != plan.op_b.transposed && a.layout == b.layout && a.values.data == b.values.data,
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
    constexpr int shift = kSector / sizeof(T) - 1;  // room for lines that begin behind a border
    const int rows = groups * kWarpRows, met = met_rows(bands, groups);
    bands.a_stride = next(rows + shift, 32 / sizeof(T), 64 / sizeof(T));
    bands.b_stride = next(met + shift, 4, 8);
    return Room(bands, sizeof(T), warps).total;
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
