// Vectors of solvers: sums, inner products, linear combinations, and random elements.
#include "device/values.cuh"
#include "kernels/multigrid/multigrid.hpp"
#include "kernels/multigrid/reduction.cuh"

namespace diagsparse::cuda::multigrid {

namespace {

template <class T>
__global__ void sums_kernel(int64 n, const T* x, double* parts) {
  double largest = 0, sum = 0, squares = 0;
  for_elements(n, [&](int64 i) {
    const double v = x[i], size = fabs(v);
    largest = largest >= size || largest != largest ? largest : size;
    sum += v;
    squares += v * v;
  });
  largest = reduced<true>(largest);
  sum = reduced<false>(sum);
  squares = reduced<false>(squares);
  if (threadIdx.x != 0) return;
  parts[blockIdx.x] = largest;
  parts[kParts + blockIdx.x] = sum;
  parts[2 * kParts + blockIdx.x] = squares;
}

// The real parts of sums of conj(x[i]) y[i], and the imaginary parts of complex ones.
template <class T>
__global__ void inner_kernel(int64 n, const T* x, const T* y, double* parts) {
  double re = 0, im = 0;
  for_elements(n, [&](int64 i) {
    if constexpr (is_complex<T>) {
      const T a = x[i], b = y[i];
      re +=
          static_cast<double>(a.re) * static_cast<double>(b.re) + static_cast<double>(a.im) * static_cast<double>(b.im);
      im +=
          static_cast<double>(a.re) * static_cast<double>(b.im) - static_cast<double>(a.im) * static_cast<double>(b.re);
    } else {
      re += static_cast<double>(x[i]) * static_cast<double>(y[i]);
    }
  });
  re = reduced<false>(re);
  if constexpr (is_complex<T>) im = reduced<false>(im);
  if (threadIdx.x != 0) return;
  parts[blockIdx.x] = re;
  if constexpr (is_complex<T>) parts[kParts + blockIdx.x] = im;
}

template <class X, class Out>
__global__ void combine_kernel(int64 n, double alpha, const X* x, double beta, const X* y, Out* out) {
  for_elements(n, [&](int64 i) {
    const double v = alpha * static_cast<double>(x[i]);
    out[i] = static_cast<Out>(beta == 0 ? v : v + beta * static_cast<double>(y[i]));
  });
}

__global__ void shift_kernel(int64 n, const double* x, double by, double* out) {
  for_elements(n, [&](int64 i) { out[i] = x[i] + by; });
}

__global__ void add_clipped_products_kernel(int64 n, const double* a, const double* x, double* y) {
  for_elements(n, [&](int64 i) {
    const double v = y[i] + a[i] * x[i];
    y[i] = v <= 0 ? 0 : v;  // NaN stays
  });
}

// The function of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), which has no state: element i depends on i alone.
template <class T>
__global__ void random_kernel(int64 n, T* x) {
  for_elements(n, [&](int64 i) {
    std::uint64_t z = static_cast<std::uint64_t>(i + 1) * 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    x[i] = static_cast<T>((z ^ (z >> 31)) >> 40) * T(0x1p-24) - T(0.5);
  });
}

}  // namespace

template <class T>
Sums sums(int64 n, const T* x) {
  const Scratch<double> parts(3 * kParts);
  launch("sums", sums_kernel<T>, dim3(kParts), dim3(kBlock), n, x, parts.get());
  const std::vector<double> found = download(static_cast<const double*>(parts.get()), 3 * kParts);
  Sums all{0, 0, 0};
  for (int i = 0; i < kParts; ++i) {
    all.largest = all.largest >= found[i] || all.largest != all.largest ? all.largest : found[i];
    all.sum += found[kParts + i];
    all.squares += found[2 * kParts + i];
  }
  return all;
}
template Sums sums(int64, const float*);
template Sums sums(int64, const double*);

template <class T>
Scalar inner_product(int64 n, const T* x, const T* y) {
  constexpr int count = is_complex<T> ? 2 * kParts : kParts;
  const Scratch<double> parts(count);
  launch("inner", inner_kernel<T>, dim3(kParts), dim3(kBlock), n, x, y, parts.get());
  double sums[2] = {0, 0};
  const std::vector<double> found = download(static_cast<const double*>(parts.get()), count);
  for (int i = 0; i < count; ++i) sums[i / kParts] += found[i];
  return {sums[0], sums[1]};
}
template Scalar inner_product(int64, const float*, const float*);
template Scalar inner_product(int64, const double*, const double*);
template Scalar inner_product(int64, const Complex<float>*, const Complex<float>*);
template Scalar inner_product(int64, const Complex<double>*, const Complex<double>*);

template <class X, class Out>
void combine(int64 n, double alpha, const X* x, double beta, const X* y, Out* out) {
  launch("combine", combine_kernel<X, Out>, many(n), dim3(kBlock), n, alpha, x, beta, y, out);
}
template void combine(int64, double, const float*, double, const float*, float*);
template void combine(int64, double, const float*, double, const float*, double*);
template void combine(int64, double, const double*, double, const double*, float*);
template void combine(int64, double, const double*, double, const double*, double*);

template <class T>
void fill_random(int64 n, T* x) {
  launch("random", random_kernel<T>, many(n), dim3(kBlock), n, x);
}
template void fill_random(int64, float*);
template void fill_random(int64, double*);

void add_clipped_products(int64 n, const double* a, const double* x, double* y) {
  launch("add_clipped_products", add_clipped_products_kernel, many(n), dim3(kBlock), n, a, x, y);
}

void shift(int64 n, const double* x, double by, double* out) {
  launch("shift", shift_kernel, many(n), dim3(kBlock), n, x, by, out);
}

}  // namespace diagsparse::cuda::multigrid
