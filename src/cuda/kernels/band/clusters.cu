// Kernel "bands" of dia and hm: C = alpha op(A) op(B) + beta C of several separate bands, on the FP64 matrix units.
//
//   op(A): m x l, op(B): l x n, C: m x n, float64.  products: the bands whose products are added to each band of C
//   (clusters.hpp); all have the same number of diagonals.
//
// A block computes 64 rows of one band of C and holds their tiles in registers, like "band" (kernel.cuh). It copies two
// bands into shared memory, adds their product, and continues with the next two; at the end it writes the band of C
// once. (Prefetching the next two bands would double the shared memory, and so halve the number of resident blocks: two
// bands of 40 diagonals, n = 2 10^5, 482 against 236 us.) Blocks that compute the same rows of different bands of C
// have neighbouring indices, because they read the same rows of A.
//
// It wins for bands of 13 diagonals or more (choice.cpp). Tiles are summed in a fixed order, so every run gives the
// same bits.
#include "device/resident.cuh"
#include "kernels/band/clusters.hpp"
#include "kernels/band/kernel.cuh"
#include "kernels/diagonals/kernels.hpp"

namespace diagsparse::cuda::band {

namespace {

// Number of blocks per multiprocessor to aim for with several bands: the loop over products needs more registers.
template <class T>
constexpr int cluster_blocks(int tiles) {
  return std::max(1, 2048 / (most_groups<T>(tiles) * (16 * tiles + 56)));
}

// clusters: for each band of C, where its products begin in `products`. A block computes rows of one band of C, and
// stages the bands of one product after the other.
template <int Tiles, class T>
__global__ void __launch_bounds__(32 * most_groups<T>(Tiles), cluster_blocks<T>(Tiles))
    cluster_tiles(const Bands* products, const int* clusters, unsigned across, int step,
                  const __grid_constant__ SharedLayout shared_layout, const Source<T> a, bool conj_a, const Source<T> b,
                  bool conj_b, T* c, const __grid_constant__ Update<T> update) {
  extern __shared__ __align__(kSector) char shared[];
  __shared__ Copies copies;
  __shared__ Bands bands;
  const int groups = blockDim.x / 32, cluster = blockIdx.x % across, begin = clusters[cluster],
            count = clusters[cluster + 1] - begin;
  const WarpPart warp{0, static_cast<int>(threadIdx.x) / 32 * kWarpRows};
  if (threadIdx.x == 0) copies.begin(blockDim.x);
  Tile<T> sums[2 * Tiles];
  for (int p = 0; p < count; ++p) {
    before_copies();
    __syncthreads();  // all warps have finished the previous product
    if (threadIdx.x == 0) {
      bands = products[begin + p];
      bands.step = step;
    }
    __syncthreads();
    const BandBlock<T> block{
        bands, shared_layout, shared, groups * kWarpRows, rows_of_b(bands, groups), blockIdx.x / across};
    block.copy_operands(copies, a, b, block.operand(across_warps()));
    block.prepare(c, bands.c(block.front()));
    copies.started();
    copies.wait(p);
    add_band<Tiles, 0, 2 * Tiles, 1>(sums, block, warp, conj_a, conj_b);
  }
  const BandBlock<T> block{
      bands, shared_layout, shared, groups * kWarpRows, rows_of_b(bands, groups), blockIdx.x / across};
  write_band<0>(sums, block, warp, c, update, [&](int64 i, int diagonal) {
    T sum{};
    for (int p = begin; p < begin + count; ++p) {
      sum += stored_sum(products[p], a.values, conj_a, b.values, conj_b, i, diagonal);
    }
    return sum;
  });
}

struct ResidentClusters {
  Array diagonals, products, clusters;
  Bands widest{};  // all bands have the same number of diagonals
  int count = 0;
  int64 c_bases = 0;  // bitwise or of the indices at which C's diagonals start

  auto arrays() const { return std::tie(diagonals, products, clusters); }
};

std::shared_ptr<ResidentClusters> resident_clusters(const Plan& plan) {
  return cached<ResidentClusters>(plan.cache, "bands", [&] {
    auto result = std::make_shared<ResidentClusters>();
    std::vector<Diagonal> diagonals;
    std::vector<Bands> products;
    std::vector<std::size_t> at;  // where the diagonals of each product begin
    std::vector<int> clusters{0};
    for (const Cluster& cluster : find_clusters(plan)) {
      for (const BandProduct& product : cluster.products) {
        at.push_back(diagonals.size());
        append_diagonals(diagonals, product.a, product.b, cluster.c);
        products.push_back(bands_without_diagonals(plan, product.a, product.b, cluster.c));
      }
      for (const Diagonal& diagonal : cluster.c.diagonals) {
        if (diagonal.stored()) result->c_bases |= diagonal.base;
      }
      clusters.push_back(static_cast<int>(products.size()));
    }
    result->count = static_cast<int>(clusters.size()) - 1;
    if (result->count == 0) return result;
    result->diagonals = upload(diagonals);
    for (std::size_t p = 0; p < products.size(); ++p) {
      products[p].diagonals = result->diagonals.as<const Diagonal>() + at[p];
    }
    result->widest = products.front();
    result->products = upload(products);
    result->clusters = upload(clusters);
    return result;
  });
}

template <class F>
void with_tiles_of(const Bands& widest, const F& f) {
  with_tiles<3, 4, 6, 8>(tiles_of(std::max(widest.a_width, widest.b_width)), f);
}

template <int Tiles>
SharedLayout layout_of_clusters(const Bands& widest) {
  return {widest, sizeof(double), most_groups<double>(Tiles), 8 * (Tiles + 1)};
}

template <class U, class V>
struct ClusterMatmul {
  using T = U;

  static void run(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
    const auto resident_data = resident_clusters(plan);
    with_tiles_of(resident_data->widest, [&]<int Tiles>() {
      constexpr auto kernel = cluster_tiles<Tiles, T>;
      constexpr int groups = most_groups<T>(Tiles);
      const SharedLayout shared_layout = layout_of_clusters<Tiles>(resident_data->widest);
      const int step = row_step<T>(groups * kWarpRows, resident_data->c_bases, c);
      launch_shared("matmul bands", kernel,
                    dim3(static_cast<unsigned>(ceil_div(plan.rows, step) * resident_data->count)), dim3(32 * groups),
                    shared_layout.total, resident_data->products.template as<const Bands>(),
                    resident_data->clusters.template as<const int>(), static_cast<unsigned>(resident_data->count), step,
                    shared_layout, Source<T>(a), plan.op_a.conjugated, Source<T>(b), plan.op_b.conjugated,
                    c.values.as<T>(), Update<T>(alpha, beta));
    });
  }
};

void prepare_clusters(const Plan& plan) {
  resident_clusters(plan);
  find_matmul(plan.format(), "block").prepare(plan);  // for operands whose types differ from the planned ones
}

const char* fallback_of_clusters(const Plan& plan, DType a, DType b) {
  if (a != DType::f64 || b != DType::f64) return "block";
  const auto resident_data = resident_clusters(plan);
  bool fits = resident_data->count > 0;
  if (fits) {
    with_tiles_of(resident_data->widest, [&]<int Tiles>() {
      fits = layout_of_clusters<Tiles>(resident_data->widest).total <= limits<cluster_tiles<Tiles, double>>().shared;
    });
  }
  return fits ? nullptr : "block";
}

}  // namespace

MatmulRow bands() {
  MatmulRow row{.name = "bands", .prepare = prepare_clusters, .fallback = fallback_of_clusters};
  fill_cell<ClusterMatmul, double, double>(row.typed);
  return row;
}

}  // namespace diagsparse::cuda::band
