// Kernel "tiled" of cdm: Algorithm 1 (Haque, Parvez, Hossain 2024, section 6.1).
//
// In cdm, with all indices modulo n,   C[r, i] = sum over k of A[k, i] B[r - k, i + k].
//
//   op(A), op(B), C: n x n, their stored rows of n values.  a_rows, b_rows: where each row of op(A) and op(B) is
//   stored. b_table: n numbers, the row of op(B) with this label, or -1.  c_labels, c_starts: one for each row of C.
//
// A block of T x T threads computes T rows of C at T neighbouring columns. It loads tiles of T stored rows of A into
// shared memory, one after another. B is read from global memory; its rows are looked up in a dense table of starts.
// Every value of C is written once, and sums are added in the order of A's rows, so every run gives the same bits. The
// kernel exists for comparison.
#include "device/resident.cuh"
#include "device/values.cuh"
#include "kernels/diagonals/kernels.hpp"

namespace diagsparse::cuda::matmul {

namespace {

constexpr int kTile = 16;

// A stored row of op(A) or op(B): row `label` of cdm; element i is values[start + (i + shift) mod n].
struct StoredRow {
  int64 label, start, shift;
};

template <class U, class V>
__global__ void tiles(const StoredRow* a_rows, int64 a_count, const StoredRow* b_rows, const std::int32_t* b_table,
                      const std::int64_t* c_labels, const std::int64_t* c_starts, int64 c_count, int64 n, const U* a,
                      bool conj_a, const V* b, bool conj_b, Product<U, V>* c, int triangle,
                      const __grid_constant__ Update<Product<U, V>> update) {
  __shared__ U tile[kTile][kTile];
  __shared__ std::int64_t labels[kTile];
  const int64 i = static_cast<int64>(blockIdx.x) * kTile + threadIdx.x;
  const int64 r = static_cast<int64>(blockIdx.y) * kTile + threadIdx.y;
  const int64 label = r < c_count ? c_labels[r] : 0;
  Product<U, V> value{};
  for (int64 first = 0; first < a_count; first += kTile) {
    const int64 k = first + threadIdx.y;
    if (k < a_count && i < n) {
      const StoredRow row = a_rows[k];
      const int64 at = i + row.shift < n ? i + row.shift : i + row.shift - n;
      tile[threadIdx.y][threadIdx.x] = conjugate_if(conj_a, load(a + row.start + at));
      if (threadIdx.x == 0) labels[threadIdx.y] = row.label;
    }
    __syncthreads();
    if (r < c_count && i < n) {
      const int last = static_cast<int>(a_count - first < kTile ? a_count - first : kTile);
      for (int t = 0; t < last; ++t) {
        const int64 k_label = labels[t], wanted = label >= k_label ? label - k_label : label - k_label + n;
        const std::int32_t slot = b_table[wanted];
        if (slot < 0) continue;
        const StoredRow row = b_rows[slot];
        int64 at = i + k_label < n ? i + k_label : i + k_label - n;
        at = at + row.shift < n ? at + row.shift : at + row.shift - n;
        value += multiply(tile[t][threadIdx.x], conjugate_if(conj_b, load(b + row.start + at)));
      }
    }
    __syncthreads();
  }
  if (r < c_count && i < n) {
    const int64 offset = i + label < n ? label : label - n;
    const bool outside = (triangle < 0 && offset > 0) || (triangle > 0 && offset < 0);
    update.one(c + c_starts[r] + i, outside ? Product<U, V>{} : value);
  }
}

struct ResidentRows {
  Array a_rows, b_rows, b_table, c_labels, c_starts;
  int64 a_count = 0, c_count = 0;

  auto arrays() const { return std::tie(a_rows, b_rows, b_table, c_labels, c_starts); }
};

// The rows of op(A), sorted by label. StoredRow k of the transpose is row n - k, shifted: A.T[i, i + k] = A[i + k, i].
std::vector<StoredRow> rows_of(const Layout& layout, Op op) {
  const int64 n = layout.rows;
  std::vector<StoredRow> rows;
  for (std::size_t r = 0; r < layout.labels.size(); ++r) {
    const int64 k = layout.labels[r], start = static_cast<int64>(r) * n, other = k == 0 ? 0 : n - k;
    rows.push_back(op.transposed ? StoredRow{other, start, other} : StoredRow{k, start, 0});
  }
  std::sort(rows.begin(), rows.end(), [](const StoredRow& x, const StoredRow& y) { return x.label < y.label; });
  return rows;
}

std::shared_ptr<ResidentRows> build_rows(const Plan& plan) {
  auto result = std::make_shared<ResidentRows>();
  const std::vector<StoredRow> a = rows_of(layout_of(plan.a), plan.op_a), b = rows_of(layout_of(plan.b), plan.op_b);
  std::vector<std::int32_t> table(plan.rows, -1);
  for (std::size_t s = 0; s < b.size(); ++s) table[b[s].label] = static_cast<std::int32_t>(s);
  std::vector<std::int64_t> labels, starts;
  for (std::size_t r = 0; r < layout_of(plan.c).labels.size(); ++r) {
    labels.push_back(layout_of(plan.c).labels[r]);
    starts.push_back(static_cast<int64>(r) * plan.rows);
  }
  result->a_count = static_cast<int64>(a.size());
  result->c_count = static_cast<int64>(labels.size());
  result->a_rows = upload(a);
  result->b_rows = upload(b);
  result->b_table = upload(table);
  result->c_labels = upload(labels);
  result->c_starts = upload(starts);
  return result;
}

std::shared_ptr<ResidentRows> resident_rows(const Plan& plan) {
  if (!shares_rows(plan.a) || !shares_rows(plan.b)) {
    throw std::invalid_argument(std::string("matmul: kernel \"tiled\" multiplies cdm by cdm, got ") + plan.a->format +
                                " by " + plan.b->format);
  }
  return cached<ResidentRows>(plan.cache, "tiled", [&] { return build_rows(plan); });
}
void prepare_rows(const Plan& plan) { resident_rows(plan); }

template <class U, class V>
struct TiledMatmul {
  static void run(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
    using T = Product<U, V>;
    const auto resident_data = resident_rows(plan);
    const int64 n = plan.rows;
    const dim3 grid(static_cast<unsigned>(ceil_div(n, kTile)),
                    static_cast<unsigned>(ceil_div(resident_data->c_count, kTile)));
    launch("matmul tiled", tiles<U, V>, grid, dim3(kTile, kTile), resident_data->a_rows.template as<const StoredRow>(),
           resident_data->a_count, resident_data->b_rows.template as<const StoredRow>(),
           resident_data->b_table.template as<const std::int32_t>(),
           resident_data->c_labels.template as<const std::int64_t>(),
           resident_data->c_starts.template as<const std::int64_t>(), resident_data->c_count, n, a.values.as<U>(),
           plan.op_a.conjugated, b.values.as<V>(), plan.op_b.conjugated, c.values.as<T>(),
           diagonal_work(plan).triangle == Triangle::both    ? 0
           : diagonal_work(plan).triangle == Triangle::lower ? -1
                                                             : 1,
           Update<T>(alpha, beta));
  }
};

}  // namespace

MatmulRow tiled() { return row_of_paper<TiledMatmul, prepare_rows>("tiled"); }

}  // namespace diagsparse::cuda::matmul
