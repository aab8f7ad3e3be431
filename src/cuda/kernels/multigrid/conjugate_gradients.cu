// The steps of conjugate gradients, whose factors stay on the device.
#include "device/values.cuh"
#include "kernels/multigrid/multigrid.hpp"
#include "kernels/multigrid/reduction.cuh"

namespace diagsparse::cuda::multigrid {

namespace {

// The factors of conjugate gradients on the device.
struct Factors {
  double rho;   // the inner product of r and z
  double beta;  // of the last direction in the new one
  double step;  // along the last direction
  double size;  // the square of the norm of r
};

template <class T>
__global__ void dot_kernel(int64 n, const double* x, const T* y, Lines lines, double* parts) {
  double sum = 0;
  for_elements(n, [&](int64 i) { sum += x[i] * static_cast<double>(y[lines.at(i)]); });
  sum = reduced<false>(sum);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

// q = A p, and the inner product of the two; Count 0 stands for any number of diagonals.
template <class V, int Count>
__global__ void __launch_bounds__(kBlock, 4)
    multiply_kernel(int64 n, UpperDiagonals matrix, const double* __restrict__ p, double* __restrict__ q,
                    double* parts) {
  double product = 0;
  for_elements(n, [&](int64 i) {
    double sum = 0;
#pragma unroll
    for (int s = 0; s < (Count > 0 ? Count : matrix.count); ++s) {
      const int64 k = matrix.offsets[s];
      const auto* a = static_cast<const V*>(matrix.at[s]);
      if (i + k < n) sum += static_cast<double>(load(a + i)) * load(p + i + k);
      if (k > 0 && i >= k) sum += static_cast<double>(load(a + i - k)) * load(p + i - k);
    }
    q[i] = sum;
    product += sum * p[i];
  });
  product = reduced<false>(product);
  if (threadIdx.x == 0) parts[blockIdx.x] = product;
}

constexpr int64 kLeastAcross = 1000;  // so that few threads of a block have no row
constexpr int kSteps = 32;            // that a thread takes by the largest offset

// The same where the largest offset is large, as that of the lines of a grid. A thread goes from row to row by this
// offset, and has p and the elements of this diagonal in registers, which three rows share.
template <class V, int Count>
__global__ void __launch_bounds__(kBlock, 4)
    multiply_across_kernel(int64 n, UpperDiagonals matrix, const double* __restrict__ p, double* __restrict__ q,
                           double* parts) {
  const int64 far = matrix.offsets[Count - 1], pieces = (far + kBlock - 1) / kBlock;
  const auto* last = static_cast<const V*>(matrix.at[Count - 1]);
  double product = 0;
  const int64 tasks = pieces * ((n + kSteps * far - 1) / (kSteps * far));
  for (int64 task = blockIdx.x; task < tasks; task += gridDim.x) {
    const int64 column = task % pieces * kBlock + threadIdx.x;
    int64 i = task / pieces * kSteps * far + column;
    if (column >= far || i >= n) continue;
    const int64 left = (n - i + far - 1) / far;
    const int count = left < kSteps ? static_cast<int>(left) : kSteps;
    double before = 0, a_before = 0, here = load(p + i);
    if (i >= far) before = load(p + i - far), a_before = static_cast<double>(load(last + i - far));
#pragma unroll 4
    for (int k = 0; k < count; ++k) {
      const bool more = i + far < n;
      const double next = more ? load(p + i + far) : 0, a_next = more ? static_cast<double>(load_once(last + i)) : 0;
      double sum = a_before * before + a_next * next;
#pragma unroll
      for (int s = 0; s < Count - 1; ++s) {
        const int64 offset = matrix.offsets[s];
        const auto* a = static_cast<const V*>(matrix.at[s]);
        if (s == 0) {
          sum += static_cast<double>(load_once(a + i)) * here;
          continue;
        }
        if (i + offset < n) sum += static_cast<double>(load(a + i)) * load(p + i + offset);
        if (i >= offset) sum += static_cast<double>(load(a + i - offset)) * load(p + i - offset);
      }
      q[i] = sum;
      product += sum * here;
      before = here, here = next, a_before = a_next;
      i += far;
    }
  }
  product = reduced<false>(product);
  if (threadIdx.x == 0) parts[blockIdx.x] = product;
}

enum class Sum { rho, curvature, size };
// Adds up the parts, and computes the factors that depend on the sum.
__global__ void factors_kernel(Sum of, bool first, const double* parts, int64 count, Factors* f) {
  double sum = 0;
  for_elements(count, [&](int64 i) { sum += parts[i]; });
  sum = reduced<false>(sum);
  if (threadIdx.x != 0) return;
  if (of == Sum::rho) {
    f->beta = first || !(f->rho > 0) ? 0 : sum / f->rho;
    f->rho = sum;
  } else if (of == Sum::curvature) {
    f->step = f->rho > 0 && sum > 0 ? f->rho / sum : 0;
    if (!(sum > 0)) f->rho = 0;
  } else {
    f->size = sum;
  }
}

template <class T>
__global__ void direction_kernel(int64 n, bool first, const Factors* f, const T* __restrict__ z, Lines lines,
                                 double* __restrict__ p, double* __restrict__ x) {
  const double beta = f->beta, step = f->step;
  if (first) {
    for_elements(n, [&](int64 i) { p[i] = z[lines.at(i)]; });
    return;
  }
  struct Read {
    double z, p, x;
  };
  const auto read = [&](int64 i) { return Read{z[lines.at(i)], p[i], x[i]}; };
  for_elements(n, read, [&](int64 i, const Read& v) {
    if (step != 0) x[i] = v.x + step * v.p;  // p may have values that are not finite
    p[i] = v.z + beta * v.p;
  });
}

template <class T>
__global__ void step_kernel(int64 n, const Factors* f, const double* q, double* r, T* small, Lines lines,
                            double* parts) {
  const double step = f->step;
  double sum = 0;
  const auto read = [&](int64 i) { return r[i] - step * load_once(q + i); };
  for_elements(n, read, [&](int64 i, double v) {
    r[i] = v;
    small[lines.at(i)] = static_cast<T>(v);
    sum += v * v;
  });
  sum = reduced<false>(sum);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

__global__ void finish_kernel(int64 n, const Factors* f, const double* p, double* x) {
  const double step = f->step;
  if (step == 0) return;  // p may have values that are not finite
  for_elements(n, [&](int64 i) { return x[i] + step * p[i]; }, [&](int64 i, double v) { x[i] = v; });
}

}  // namespace

ConjugateGradients::ConjugateGradients()
    : factors_(upload(std::vector<Factors>{{0, 0, 0, 0}})), partial_(upload(std::vector<double>(kParts))) {}

void ConjugateGradients::multiply(int64 n, const UpperDiagonals& matrix, const double* p, double* q) {
  auto* parts = static_cast<double*>(partial_.data);
  const auto start = [&](auto kernel) {
    launch("cg_multiply", kernel, dim3(kParts), dim3(kBlock), n, matrix, p, q, parts);
  };
  const auto with_count = [&](auto type) {
    using V = decltype(type);
    const bool across = matrix.offsets[matrix.count - 1] >= kLeastAcross;
    switch (matrix.count) {
      case 3: return across ? start(multiply_across_kernel<V, 3>) : start(multiply_kernel<V, 3>);
      case 4: return across ? start(multiply_across_kernel<V, 4>) : start(multiply_kernel<V, 4>);
      case 5: return start(multiply_kernel<V, 5>);
      case 14: return start(multiply_kernel<V, 14>);
      default: return start(multiply_kernel<V, 0>);
    }
  };
  matrix.dtype == DType::f32 ? with_count(float()) : with_count(double());
  multiplied_ = true;
}

template <class T>
void ConjugateGradients::direction(int64 n, const double* r, const T* z, const Lines& lines, double* p, double* x,
                                   const double* products, int64 count) {
  auto* f = static_cast<Factors*>(factors_.data);
  if (count == 0) {
    auto* parts = static_cast<double*>(partial_.data);
    launch("cg_dot", dot_kernel<T>, dim3(kParts), dim3(kBlock), n, r, z, lines, parts);
    products = parts;
    count = kParts;
  }
  launch("cg_factors", factors_kernel, dim3(1), dim3(512), Sum::rho, first_, products, count, f);
  launch("cg_direction", direction_kernel<T>, many(n), dim3(kBlock), n, first_, f, z, lines, p, x);
  first_ = false;
}

template <class T>
std::array<double, 2> ConjugateGradients::step(int64 n, const double* p, const double* q, double* r, T* small,
                                               const Lines& lines) {
  auto* f = static_cast<Factors*>(factors_.data);
  auto* parts = static_cast<double*>(partial_.data);
  if (!multiplied_) launch("cg_dot", dot_kernel<double>, dim3(kParts), dim3(kBlock), n, p, q, Lines{}, parts);
  multiplied_ = false;
  launch("cg_factors", factors_kernel, dim3(1), dim3(512), Sum::curvature, false, parts, int64{kParts}, f);
  launch("cg_step", step_kernel<T>, dim3(kParts), dim3(kBlock), n, f, q, r, small, lines, parts);
  launch("cg_factors", factors_kernel, dim3(1), dim3(512), Sum::size, false, parts, int64{kParts}, f);
  const Factors now = download(static_cast<const Factors*>(f), 1)[0];
  return {now.rho, now.size};
}

void ConjugateGradients::finish(int64 n, const double* p, double* x) {
  if (first_) return;
  launch("cg_finish", finish_kernel, many(n), dim3(kBlock), n, static_cast<const Factors*>(factors_.data), p, x);
}

template void ConjugateGradients::direction(int64, const double*, const float*, const Lines&, double*, double*,
                                            const double*, int64);
template std::array<double, 2> ConjugateGradients::step(int64, const double*, const double*, double*, float*,
                                                        const Lines&);
template void ConjugateGradients::direction(int64, const double*, const double*, const Lines&, double*, double*,
                                            const double*, int64);
template std::array<double, 2> ConjugateGradients::step(int64, const double*, const double*, double*, double*,
                                                        const Lines&);

}  // namespace diagsparse::cuda::multigrid
