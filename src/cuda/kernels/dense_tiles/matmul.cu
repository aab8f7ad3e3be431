// Kernel "dense_tiles" of dia, hm and cdm: C = alpha op(A) op(B) + beta C of wide bands, as a dense product in tiles.
//
//   op(A): m x l, op(B): l x n, C: m x n of one type. Between the lowest and the highest diagonal most are stored.
//
// A block takes a tile of C that diagonals with terms pass through, and walks the k that A's rows and B's columns meet
// in. The tiles of A and of B come into shared memory value by value, along their diagonals, zero where nothing is
// stored, a few steps ahead of the FP64 matrix units, which add up C's tile in registers. Where the band ends inside a
// tile, runs of 16 rows or 8 columns that nothing passes through are left out. The tile of C goes through shared memory
// too, and is written once, along its diagonals.
//
//                    j0
//                 \  |  \  |                   the rows of A and the columns of B that a tile of C takes, of bands
//     i0  -----\---+-----+                     as of dense matrices and triangles
//                \ |  C  |
//         --------\+-----+--
//
// All types run in double precision, complex products as four real ones. A sum that is infinite or no number is done
// again over the stored pairs alone, for zero times an infinity is no term. Sums add up in the order of k: the same
// bits on every run.
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
constexpr double kLargeFrom = 1200;  // k that an element of C meets, in the mean
constexpr double kMostPadding = 64;  // else the tiles hold next to nothing, and "block" runs

struct ResidentTables {
  Array a, b, c, empty;
  DenseProduct product{};  // but for what the tiles decide
  int empty_count = 0;
  bool pays = false, large = false;

  template <class F>
  void visit(const F& f) const {
    for (const Array* array : {&a, &b, &c, &empty}) f(*array);
  }
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
    built->pays = padding(plan) <= kMostPadding;
    if (!built->pays) return built;
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

// Two operands of one type: other pairs are rare, and not compiled for.
template <class T, class>
struct Matmul {
  static void run(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
    const auto kept = resident(plan);
    const Update<T> update(alpha, beta);
    const auto with = [&]<class S>() {
      constexpr auto kernel = multiply_tiles<S, T>;
      clear_empty(*kept, std::min(plan.rows, plan.cols), update, c);
      DenseProduct product = kept->product;
      product.across = static_cast<int>(ceil_div(std::min<int64>(plan.cols, product.c_width + S::kRows - 1), S::kCols));
      const int64 tiles = ceil_div(plan.rows, S::kRows) * product.across;
      launch_shared("matmul dense_tiles", kernel, dim3(static_cast<unsigned>(tiles)), dim3(S::kThreads), S::kShared,
                    product, a.values.as<const T>(), plan.op_a.conjugated, b.values.as<const T>(), plan.op_b.conjugated,
                    c.values.as<T>(), update);
    };
    with_shape(*kept, with);
  }

  // Whether the tiles hold enough, and the GPU has shared memory for them.
  static bool fits(const Plan& plan) {
    const auto kept = resident(plan);
    bool room = false;
    with_shape(*kept, [&]<class S>() { room = S::kShared <= limits<multiply_tiles<S, T>>().shared; });
    return kept->pays && room;
  }

 private:
  template <class F>
  static void with_shape(const ResidentTables& kept, const F& f) {
    if constexpr (!is_complex<T>) {
      if (kept.large) return f.template operator()<Large<T>>();
    }
    f.template operator()<Small<T>>();
  }

  static constexpr int kMostLines = 65535;  // of a grid

  static void clear_empty(const ResidentTables& kept, int64 longest, const Update<T>& update, Matrix& c) {
    for (int first = 0; first < kept.empty_count; first += kMostLines) {
      const dim3 grid(blocks(longest, 16).x, static_cast<unsigned>(std::min(kMostLines, kept.empty_count - first)));
      launch("matmul dense_tiles, sums without terms", empty_sums<T>, grid, dim3(kBlock),
             kept.empty.template as<const Result>() + first, c.values.as<T>(), update);
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
