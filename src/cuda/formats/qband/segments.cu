// C = alpha (op(Ab) + op(As)) (op(Bb) + op(Bs)) + beta C of quasi-bands: "segments", algorithm 3 of Vooturi and
// Kothapalli (2016), and its mirror image.
//
// A thread processes an entry of As and a diagonal of B. It finds the element of C by bisection in its row, or on its
// band, and adds to it atomically. The mirror image processes an entry of Bs and a diagonal of A, and a third launch an
// entry of As and one of Bs. In the paper the four parts are merged afterwards, here they are added to one structure.
// The kernel exists for comparison. The order of the additions is not fixed: sums may differ in their last bits from
// run to run.
#include "device/values.cuh"
#include "formats/qband/kernels.hpp"
#include "formats/qband/products.cuh"

namespace diagsparse::cuda::qband {

namespace {

template <class T>
struct Result {
  T *values, *rest;
  Bands bands;
  const std::int64_t* indptr;  // row pointers of the entries outside of the bands
  const std::int32_t* columns;

  __device__ T* find(int64 i, int64 j) const {
    const int64 end = indptr[i + 1], e = bisect(indptr[i], end, [&](int64 k) { return columns[k] < j; });
    return e < end && columns[e] == j ? rest + e : values + bands.position(i, j);
  }
};

// Scales the entries outside of the bands by beta.
template <class T>
__global__ void __launch_bounds__(kBlock) scale_rest(T* values, int64 count, const __grid_constant__ Update<T> update) {
  const int64 e = thread_index();
  if (e < count) update.one(values + e, T{});
}

template <Pairing Of, class U, class V>
__global__ void __launch_bounds__(kBlock)
    add_products(const RestProductsOnDevice products, int64 count, const U* a, bool conj_a, const V* b, bool conj_b,
                 const Result<Product<U, V>> c, const __grid_constant__ Factor<Product<U, V>> alpha) {
  const int64 t = thread_index();
  if (t >= count) return;
  const RestProduct p = products.at<Of>(t);
  if (!p.exists) return;
  atomic_add(c.find(p.row, p.col),
             alpha * multiply(conjugate_if(conj_a, load(a + p.left)), conjugate_if(conj_b, load(b + p.right))));
}

struct ResidentBands {
  Array spans;

  auto arrays() const { return std::tie(spans); }
};
std::shared_ptr<ResidentBands> bands_of_result(const Plan& plan) {
  return cached<ResidentBands>(plan.cache, "bands of C", [&] {
    return std::make_shared<ResidentBands>(ResidentBands{upload(QuasiBand(*plan.c, {}).bands.spans)});
  });
}

template <Pairing Of>
struct Adds {
  template <class U, class V>
  struct Stage {
    static void run(const Plan& plan, const Matrix& left, const Matrix& right, Scalar alpha, Scalar beta, Matrix& c) {
      using T = Product<U, V>;
      const RestOnGpu& work = rest_on_gpu(plan);
      work.used_here(plan);
      const QuasiBand of_c(*plan.c, {});
      const auto bands = bands_of_result(plan);
      T* const values = c.values.as<T>();
      const Result<T> to{values,
                         values + of_c.rest_first,
                         {bands->spans.as<const Span>(), static_cast<int64>(of_c.bands.spans.size())},
                         of_c.rest.at("indptr").template as<const std::int64_t>(),
                         of_c.rest.at("col").template as<const std::int32_t>()};
      if (Of == Pairing::sparse_by_bands) {  // the first of the stages
        launch("scale rest", scale_rest<T>, blocks(of_c.entries()), dim3(kBlock), to.rest, of_c.entries(),
               Update<T>(0.0, beta));
      }
      const int64 count = work.products.count(Of);
      launch("segments", add_products<Of, U, V>, blocks(count), dim3(kBlock), work.products.on_device(), count,
             left.values.as<const U>(), plan.op_a.conjugated, right.values.as<const V>(), plan.op_b.conjugated, to,
             Factor<T>(alpha));
    }
  };
};
void prepare(const Plan& plan) { bands_of_result(plan); }

}  // namespace

MatmulRow segments() {
  return {"segments",
          every_pair<MultiplyBands, MatmulKernel>(),
          prepare,
          {{"sparse x bands", every_pair<Adds<Pairing::sparse_by_bands>::Stage, MatmulKernel>()},
           {"bands x sparse", every_pair<Adds<Pairing::bands_by_sparse>::Stage, MatmulKernel>()},
           {"sparse x sparse", every_pair<Adds<Pairing::sparse_by_sparse>::Stage, MatmulKernel>()}},
          "bands x bands"};
}

}  // namespace diagsparse::cuda::qband
