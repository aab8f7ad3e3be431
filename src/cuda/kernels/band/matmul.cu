// Kernel "band" of dia, hm and cdm: C = alpha op(A) op(B) + beta C of two bands, on the FP64 matrix units.
//
//   op(A): m x l, op(B): l x n, C: m x n of one type, with diagonals on most offsets of a range (diagonals.hpp), 105 at
//   most; if op(B) is op(A) transposed, A may be read for both.  bands: their diagonals, in the order of the offsets.
//
// If all offsets of both operands have a common distance of 2 to 4, as in -40, -38, ... 40, row i of A only meets rows
// k of B, and columns of C, at multiples of this distance. The matrices are then that many bands, which interleave: a
// warp computes every second (third, fourth) row.
//
// A band is a sequence of dense tiles in each row of tiles. A block computes 64 rows of C. It copies A's and B's
// diagonals for these rows into shared memory as they are stored, with one bulk copy each (see fetch.cuh); if B is A
// transposed, B's diagonals also supply A's values. A warp computes 16 rows and accumulates all of their tiles of C, 16
// x 8 each, in registers. It loops over the rows k of B that these rows need, 8 at a time. Then C's diagonals overwrite
// A's and B's in shared memory, and each is written by one bulk copy of the complete memory sectors that belong to the
// block.
//
//     rows i of C   | a a a a . . . .     The band of A times the band of B; tile t of C holds the columns
//     (16 a warp)   | . a a a a . . .     8 t ... 8 t + 7, counted from the first that the rows reach.
//                   | . . a a a a . .
//
// All types are computed in double precision, complex products as four real ones. The tiles also multiply elements that
// are not stored, as zeros. Therefore a sum that is not finite is recomputed from the stored pairs only. The kernel
// wins if there are enough multiply-adds in total and per row (choice.cpp). Tiles are summed in a fixed order, so every
// run gives the same bits.
#include "device/resident.cuh"
#include "kernels/band/kernel.cuh"
#include "kernels/diagonals/kernels.hpp"

namespace diagsparse::cuda::band {

namespace {

struct ResidentBands {
  bool are_bands = false;
  Array diagonals;
  Bands bands{};      // except for what depends on operands and launch
  int64 c_bases = 0;  // bitwise or of the indices at which C's diagonals start

  auto arrays() const { return std::tie(diagonals); }
};

std::shared_ptr<ResidentBands> resident_bands(const Plan& plan) {
  return cached<ResidentBands>(plan.cache, "band", [&] {
    auto result = std::make_shared<ResidentBands>();
    Band a, b, c;
    result->are_bands = find_bands(plan, a, b, c);
    if (!result->are_bands) return result;
    std::vector<Diagonal> diagonals;
    append_diagonals(diagonals, a, b, c);
    result->diagonals = upload(diagonals);
    for (const Diagonal& diagonal : c.diagonals) {
      if (diagonal.stored()) result->c_bases |= diagonal.base;
    }
    result->bands = bands_without_diagonals(plan, a, b, c);
    result->bands.diagonals = result->diagonals.as<const Diagonal>();
    return result;
  });
}

// Both operands have the same type. Other pairs are rare, and would add a minute of compilation to every installation.
template <class T, class>
struct BandMatmul {
  static void run(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
    const auto resident_data = resident_bands(plan);
    Bands bands = resident_data->bands;
    bands.mirrored =
        plan.op_a.transposed != plan.op_b.transposed && a.structure == b.structure && a.values.data == b.values.data;
    with_kernel(bands, [&]<auto kernel, int Parts, int Tiles, bool Apart>() {
      const int groups = groups_of<kernel, Tiles, Apart>(bands);
      const SharedLayout shared_layout = shared_layout_of<Tiles>(bands, groups);
      bands.step = row_step<T>(groups * kWarpRows, resident_data->c_bases, c);
      launch_shared("matmul band", kernel, dim3(static_cast<unsigned>(ceil_div(plan.rows, bands.step))),
                    dim3(32 * Parts * groups), shared_layout.total, bands, shared_layout, Source<T>(a),
                    plan.op_a.conjugated, Source<T>(b), plan.op_b.conjugated, c.values.as<T>(), Update<T>(alpha, beta));
    });
  }

  // Whether the operands are bands that are narrow enough for the kernel and for the GPU's shared memory.
  static bool fits(const Plan& plan) {
    const auto resident_data = resident_bands(plan);
    const Bands& bands = resident_data->bands;
    if (!resident_data->are_bands || tiles_of(std::max(bands.a_width, bands.b_width)) > most_tiles(is_complex<T>))
      return false;
    bool enough = false;
    with_kernel(
        bands, [&]<auto kernel, int, int Tiles, bool Apart>() { enough = groups_of<kernel, Tiles, Apart>(bands) > 0; });
    return enough;
  }

 private:
  template <int Tiles>
  static SharedLayout shared_layout_of(const Bands& bands, int groups) {
    return {bands, sizeof(T), groups, 8 * (Tiles + 1)};
  }

  // Warps of 16 rows in a block: as many as fit into shared memory, and few enough that cyclic diagonals wrap around at
  // most once.
  template <auto kernel, int Tiles, bool Apart>
  static int groups_of(const Bands& bands) {
    int groups = most_groups<T>(Tiles, Apart) / bands.apart * bands.apart;
    while (groups > 0 && (shared_layout_of<Tiles>(bands, groups).total > limits<kernel>().shared ||
                          (bands.cyclic && groups > bands.apart && rows_of_b(bands, groups) > bands.n))) {
      groups = groups / 2 / bands.apart * bands.apart;
    }
    return groups;
  }

  // Calls f<kernel, warps that process the same 16 rows, tiles, apart>() with the kernel for such bands.
  template <class F>
  static void with_kernel(const Bands& bands, const F& f) {
    const int tiles = tiles_of(std::max(bands.a_width, bands.b_width));
    const auto all = [&]<int Tiles, bool Apart>() {
      constexpr int parts = !is_complex<T> && Tiles < 9 ? 1 : 2;
      f.template operator()<&band_tiles<Tiles, 0, 2 * Tiles / parts, parts, Apart, T>, parts, Tiles, Apart>();
    };
    if (bands.apart > 1) {
      return with_tiles<3, 6, 9>(tiles, [&]<int Tiles>() { all.template operator()<Tiles, true>(); });
    }
    const auto run = [&]<int Tiles>() {
      // One triangle has half of the tiles, and so has C if one band is narrow. (n = 10^6, 41 diagonals, A A^T: 248 ->
      // 203 us.)
      if constexpr (std::is_same_v<T, double>) {
        constexpr int parts = Tiles <= 9 ? 1 : 2;
        if (bands.tile_end <= Tiles + 1) {
          return f
              .template operator()<&band_tiles<Tiles, 0, Tiles / parts + 1, parts, false, T>, parts, Tiles, false>();
        }
        if constexpr (Tiles <= 9) {
          if (bands.tile >= Tiles - 2) {
            return f.template operator()<&band_tiles<Tiles, Tiles - 2, Tiles + 2, 1, false, T>, 1, Tiles, false>();
          }
        }
      }
      all.template operator()<Tiles, false>();
    };
    if constexpr (is_complex<T>) with_tiles<3, 4, 5, 6, 9>(tiles, run);
    else with_tiles<3, 4, 5, 6, 9, 12, 15>(tiles, run);
  }
};

void prepare(const Plan& plan) {
  resident_bands(plan);
  find_matmul(plan.format(), "row").prepare(plan);  // for operands whose types differ from the planned ones
}

const char* fallback(const Plan& plan, DType a, DType b) {
  const auto fits = [&](auto zero) { return BandMatmul<decltype(zero), decltype(zero)>::fits(plan); };
  return a == b && with_value_type(a, fits) ? nullptr : "row";
}

}  // namespace

MatmulRow matmul() {
  return {.name = "band", .typed = one_type<BandMatmul, MatmulKernel>(), .prepare = prepare, .fallback = fallback};
}

}  // namespace diagsparse::cuda::band
