// Incomplete factors of diagonals on a GPU. On grids of 5 and 7 points, elimination changes pivots alone, because an
// element left of the main diagonal meets one above it nowhere else. They are computed like a solution of a triangle:
//
//   d[i] = a[i, i] - sum of a[i, j] a[j, i] / d[j],  L[i, j] = a[i, j] / d[j]                   (LU)
//   d[i] = a[i, i] - sum of |a[i, j]|^2 / d[j],      L[i, j] = a[i, j] / sqrt(d[j])             (Cholesky)
#include <algorithm>
#include <optional>

#include "kernels/triangles/incomplete.cuh"

namespace diagsparse::cuda::triangles {

namespace {

constexpr int kMostBelow = 32;  // diagonals

// The diagonals below the main one. Element i of one is at values[first + i], the opposite one of row i - distance at
// values[opposite + i - distance], and its weight at weights[weight + i]; -1 if there is none.
struct Below {
  int64 rows;
  int count;
  int64 distance[kMostBelow], first[kMostBelow], opposite[kMostBelow], weight[kMostBelow], target[kMostBelow];
  int64 main, target_of_main;
  bool cholesky;
};

template <class T>
__device__ T weight(const Below& b, const T* values, int k, int64 i) {
  const T a = values[b.first[k] + i];
  return multiply(a, b.cholesky ? conjugate_if(true, a) : values[b.opposite[k] + i - b.distance[k]]);
}

template <class T>
__global__ void __launch_bounds__(kBlock)
    weigh(const __grid_constant__ Below b, const T* values, T scale, T* weights, T* x) {
  const int64 i = thread_index();
  if (i >= b.rows) return;
  x[i] = multiply(scale, values[b.main + i]);
  for (int k = 0; k < b.count; ++k) {
    if (b.weight[k] >= 0) weights[b.weight[k] + i] = i >= b.distance[k] ? weight(b, values, k, i) : T{};
  }
}

// x has the reciprocals of the pivots. `bad` becomes the first row whose pivot is none.
template <class T>
__global__ void __launch_bounds__(kBlock)
    scale_rows(const __grid_constant__ Below b, const T* values, T scale, const T* weights, const T* x, T* factors,
               unsigned long long* bad) {
  const int64 i = thread_index();
  if (i >= b.rows) return;
  T pivot = multiply(scale, values[b.main + i]);
  for (int k = 0; k < b.count; ++k) {
    if (i < b.distance[k]) continue;
    T inverse = x[i - b.distance[k]];
    if (b.weight[k] >= 0) pivot = minus_product(pivot, weights[b.weight[k] + i], inverse);
    if (b.cholesky) inverse = convert<T>(sqrt(real_part(inverse)));
    factors[b.target[k] + i] = multiply(values[b.first[k] + i], inverse);
  }
  bool fine = is_finite(pivot) && is_finite(x[i]);
  if (b.cholesky) {
    const auto root = sqrt(real_part(pivot));
    fine &= real_part(pivot) > 0 && is_finite(1 / root);
    pivot = convert<T>(root);
  }
  factors[b.target_of_main + i] = pivot;
  if (!fine) atomicMin(bad, static_cast<unsigned long long>(i));
}

std::optional<Span> on(const std::vector<Span>& spans, int64 offset) {
  const auto at = std::find_if(spans.begin(), spans.end(), [&](const Span& s) { return s.offset == offset; });
  if (at == spans.end()) return std::nullopt;
  return *at;
}

// Whether elimination changes an element that is not on the main diagonal.
bool changes_others(const std::vector<Span>& spans, bool cholesky) {
  for (const Span& left : spans) {
    for (const Span& other : spans) {
      const int64 above = cholesky ? -other.offset : other.offset;
      if (left.offset >= 0 || above <= 0 || left.offset + above == 0) continue;
      const int64 to = left.offset + above;
      if (on(spans, cholesky ? -std::abs(to) : to)) return true;
    }
  }
  return false;
}

// Copies the diagonals that both matrices have, the main one times `scale`.
template <class T>
__global__ void __launch_bounds__(kBlock) copy_diagonal(const T* from, T* to, int64 count, T scale) {
  const int64 t = thread_index();
  if (t < count) to[t] = multiply(scale, from[t]);
}

int64 eliminated(const Matrix& a, bool cholesky, double shift, Matrix& factors) {
  if (cholesky) {
    const std::vector<Span> spans = spans_of(a.layout(), {});
    for (const Span& to : spans_of(factors.layout(), {})) {
      const Span from = *on(spans, to.offset);
      with_value_type(a.dtype, [&](auto zero) {
        using T = decltype(zero);
        launch("copy_diagonal", copy_diagonal<T>, blocks(to.length), dim3(kBlock), a.values.as<T>() + from.start,
               factors.values.as<T>() + to.start, to.length, from_scalar<T>(to.offset == 0 ? 1 + shift : 1));
      });
    }
  }
  return eliminate_by_levels(factors, cholesky);
}

int64 factor(const Matrix& a, bool cholesky, double shift, Matrix& factors) {
  const std::vector<Span> spans = spans_of(a.layout(), {}), targets = spans_of(factors.layout(), {});
  const std::optional<Span> main = on(spans, 0);
  if (!main) return a.rows > 0 ? 0 : -1;
  if (changes_others(spans, cholesky)) return eliminated(a, cholesky, shift, factors);
  Below b{a.rows, 0, {}, {}, {}, {}, {}, main->start, on(targets, 0)->start, cholesky};
  std::vector<Term> terms;
  for (const Span& s : spans) {
    if (s.offset >= 0) continue;
    if (b.count == kMostBelow) return kUnsuitable;
    const std::optional<Span> opposite = on(spans, -s.offset);
    const int k = b.count++;
    b.distance[k] = -s.offset;
    b.first[k] = s.start - s.row;
    b.opposite[k] = opposite ? opposite->start : 0;
    b.target[k] = on(targets, s.offset)->start - s.row;
    b.weight[k] = cholesky || opposite ? static_cast<int64>(terms.size()) * a.rows : -1;
    if (b.weight[k] >= 0) terms.push_back({b.distance[k], b.weight[k]});
  }
  const Array weights = Array::empty(a.dtype, {static_cast<int64>(terms.size()) * a.rows});
  const Array x = Array::empty(a.dtype, {a.rows});
  return with_value_type(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T scale = from_scalar<T>(1 + shift);
    launch("weigh", weigh<T>, blocks(a.rows), dim3(kBlock), b, a.values.as<T>(), scale, weights.as<T>(), x.as<T>());
    const std::unique_ptr<Triangle> pivots = of_pivots(a, weights, std::move(terms));
    if (pivots == nullptr) return kUnsuitable;
    pivots->solve(flat(x));
    return first_bad([&](unsigned long long* bad) {
      launch("scale_rows", scale_rows<T>, blocks(a.rows), dim3(kBlock), b, a.values.as<T>(), scale, weights.as<T>(),
             x.as<T>(), factors.values.as<T>(), bad);
    });
  });
}

}  // namespace

int64 factor_lu(Matrix& a) { return factor(a, false, 0, a); }
int64 factor_cholesky(const Matrix& a, double shift, Matrix& factors) { return factor(a, true, shift, factors); }

}  // namespace diagsparse::cuda::triangles
