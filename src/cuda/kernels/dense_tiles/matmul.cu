// Kernel "dense_tiles" of dia, hm and cdm: C = alpha op(A) op(B) + beta C of wide bands, as a dense product in tiles.
//
//   op(A): m x l, op(B): l x n, C: m x n of one type. Most diagonals between the lowest and the highest are stored.
//
// A block computes a tile of C that contains diagonals with terms, and loops over the k for which both A's rows and B's
// columns have elements. The tiles of A and B are copied into shared memory value by value, along their diagonals, with
// zeros for elements that are not stored, a few steps ahead of the FP64 matrix units, which accumulate C's tile in
// registers. If the band ends inside a tile, ranges of 16 rows or 8 columns without diagonals are skipped. The tile of
// C passes through shared memory, too, and is written once, along its diagonals.
//
//                    j0
//                 \  |  \  |                   the rows of A and the columns of B that a tile of C needs; the same
//     i0  -----\---+-----+                     scheme serves bands, triangles and dense matrices
//                \ |  C  |
//         --------\+-----+--
//
// All types are computed in double precision, complex products as four real ones. A sum that is not finite is
// recomputed from the stored pairs only, because elements that are not stored must not multiply an infinity. The terms
// of a sum are added in the order of k, so every run gives the same bits.
//
// Multiply-adds at least: one for each pair of diagonals and row. Bytes at least: A, B and C.
#include "core/hulls.hpp"
#include "device/resident.cuh"
#include "kernels/dense_tiles/kernel.cuh"
#include "kernels/diagonals/kernels.hpp"

namespace diagsparse::cuda::dense_tiles {

namespace {

// Float64, milliseconds, dense with n = 2000, a triangle of that size, and a band of 201 diagonals with n = 10^5: Large
// 0.52, 0.23 and 0.69, Small 0.60, 0.19 and 0.63. Large with 4 warps 0.75, 0.33 and 1.08; 128 x 128 with 8 warps 0.65,
// 0.31 and 1.08. Complex128, band: 64 x 64 with 8 warps 1.6, with 4 1.9.
template <class T>
using Large = TileShape<T, 128, 64, 4, 2, 3, 2>;
template <class T>
using Small = std::conditional_t<is_complex<T>, TileShape<T, 64, 64, 2, 4, 3, 2>, TileShape<T, 64, 64, 4, 2, 2, 3>>;
constexpr double kLargeFrom = 1200;  // mean number of k per element of C
constexpr double kMostPadding = 64;  // beyond this the tiles are nearly empty, and "block" runs

struct ResidentTables {
  Array a, b, c, empty;
  DenseProduct product{};  // except for what depends on the tile shape
  int empty_count = 0;
  bool worthwhile = false, large = false;

  auto arrays() const { return std::tie(a, b, c, empty); }
};

Table table_of(const std::vector<Diagonal>& diagonals, const Hull& hull, Array& array) {
  std::vector<std::int64_t> base(std::max<int64>(0, hull.high - hull.low + 1), kNone);
  for (const Diagonal& d : diagonals) base[d.shift - hull.low] = d.base;
  array = upload(base);
  return {array.as<const std::int64_t>(), hull.low, static_cast<int>(base.size())};
}

std::shared_ptr<ResidentTables> resident(const Plan& plan) {
  return cached<ResidentTables>(plan.cache, "dense_tiles", [&] {
    auto built = std::make_shared<ResidentTables>();
    built->worthwhile = padding(plan) <= kMostPadding;
    if (!built->worthwhile) return built;
    const Sums& sums = sums_of(plan);
    const Hulls in(plan);
    std::vector<Result> results(std::max<int64>(0, in.c.high - in.c.low + 1), Result{0, 0, 0}), empty;
    for (const Sum& sum : sums.sums) {
      const Result result{sum.out, sum.first, sum.last};
      if (sum.pair_ranges == sum.pair_ranges_end) empty.push_back(result);
      else results[Hulls::offset_of(sums, sum) - in.c.low] = result;
    }
    built->product.a = table_of(sums.a, in.a, built->a);
    built->product.b = table_of(sums.b, in.b, built->b);
    built->c = upload(results);
    built->empty = upload(empty);
    built->empty_count = static_cast<int>(empty.size());
    built->product.c = built->c.as<const Result>();
    built->product.c_low = in.c.low;
    built->product.c_width = static_cast<int>(results.size());
    built->product.rows = plan.rows;
    built->product.inner = sums.inner;
    built->product.cols = plan.cols;
    const auto elements = static_cast<double>(plan.rows) * static_cast<double>(in.c.width());
    built->large = dense_work(plan, in) >= kLargeFrom * elements;
    return built;
  });
}

// Both operands have the same type; other pairs are rare, and not compiled.
template <class T, class>
struct Matmul {
  static void run(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
    const auto resident_data = resident(plan);
    const Update<T> update(alpha, beta);
    const auto with = [&]<class S>() {
      constexpr auto kernel = multiply_tiles<S, T>;
      clear_empty(*resident_data, std::min(plan.rows, plan.cols), update, c);
      DenseProduct product = resident_data->product;
      product.across = static_cast<int>(ceil_div(std::min<int64>(plan.cols, product.c_width + S::kRows - 1), S::kCols));
      const int64 tiles = ceil_div(plan.rows, S::kRows) * product.across;
      launch_shared("matmul dense_tiles", kernel, dim3(static_cast<unsigned>(tiles)), dim3(S::kThreads), S::kShared,
                    product, a.values.as<const T>(), plan.op_a.conjugated, b.values.as<const T>(), plan.op_b.conjugated,
                    c.values.as<T>(), update);
    };
    with_shape(*resident_data, with);
  }

  // Whether the tiles are full enough, and fit into the GPU's shared memory.
  static bool fits(const Plan& plan) {
    const auto resident_data = resident(plan);
    bool fits_shared = false;
    with_shape(*resident_data, [&]<class S>() { fits_shared = S::kShared <= limits<multiply_tiles<S, T>>().shared; });
    return resident_data->worthwhile && fits_shared;
  }

 private:
  template <class F>
  static void with_shape(const ResidentTables& resident_data, const F& f) {
    if constexpr (!is_complex<T>) {
      if (resident_data.large) return f.template operator()<Large<T>>();
    }
    f.template operator()<Small<T>>();
  }

  static constexpr int kMostLines = 65535;  // limit of a grid in y

  static void clear_empty(const ResidentTables& resident_data, int64 longest, const Update<T>& update, Matrix& c) {
    for (int first = 0; first < resident_data.empty_count; first += kMostLines) {
      const dim3 grid(blocks(longest, 16).x,
                      static_cast<unsigned>(std::min(kMostLines, resident_data.empty_count - first)));
      launch("matmul dense_tiles, sums without terms", empty_sums<T>, grid, dim3(kBlock),
             resident_data.empty.template as<const Result>() + first, c.values.as<T>(), update);
    }
  }
};

void prepare(const Plan& plan) { resident(plan); }

const char* fallback(const Plan& plan, DType a, DType b) {
  const auto fits = [&](auto zero) { return Matmul<decltype(zero), decltype(zero)>::fits(plan); };
  return a == b && with_value_type(a, fits) ? nullptr : "block";
}

}  // namespace

double padding(const Plan& plan) {
  const Hulls in(plan);
  if (!in.has_terms()) return std::numeric_limits<double>::infinity();
  const auto of = [](int64 width, int64 more) { return 1.0 + static_cast<double>(more) / static_cast<double>(width); };
  return dense_work(plan, in) * of(in.a.width(), 18) * of(in.b.width(), 10) / static_cast<double>(sums_of(plan).work);
}

MatmulRow matmul() {
  return {.name = "dense_tiles", .typed = one_type<Matmul, MatmulKernel>(), .prepare = prepare, .fallback = fallback};
}

}  // namespace diagsparse::cuda::dense_tiles
