// The core without Python, for processors that we only cross-build for: a band times a vector and times itself in
// all three diagonal layouts, against plain loops. Prints one line and returns 0 when all agree.
#include <cmath>
#include <cstdio>

#include "core/format.hpp"
#include "cpu/measure.hpp"
#include "cpu/parallel.hpp"

using namespace diagsparse;

namespace {

constexpr int64 n = 500, lower = 3, upper = 4;

double element(int64 i, int64 j) { return j - i < -lower || j - i > upper ? 0.0 : std::sin(1.0 + i + 2.0 * j); }

Matrix band(const DiagonalFormat& format) {
  std::vector<int64> offsets;
  for (int64 k = -lower; k <= upper; ++k) offsets.push_back(k);
  Matrix a = zeros_on(format, n, n, offsets, DType::f64);
  for (const Span& s : a.layout().spans) {
    for (int64 t = 0; t < s.length; ++t) {
      a.values.as<double>()[s.start + t] = element(s.row + t, s.row + t + s.offset);
    }
  }
  return a;
}

double worst(const char* name) {
  const Matrix a = band(diagonal_format(name));
  std::vector<double> x(n), y(n);
  for (int64 i = 0; i < n; ++i) x[i] = std::cos(i);
  const Dense in{x.data(), DType::f64, n, 1, 1, n}, out{y.data(), DType::f64, n, 1, 1, n};
  matvec_kernel(find_matvec(name, ""), DType::f64, DType::f64)(a, Op{}, 1.0, in, 0.0, out);
  double error = 0;
  for (int64 i = 0; i < n; ++i) {
    double sum = 0;
    for (int64 j = 0; j < n; ++j) sum += element(i, j) * x[j];
    error = std::max(error, std::abs(sum - y[i]));
  }
  const Plan plan = plan_matmul(a, Op{}, a, Op{true, false}, {name, "", Triangle::both, {}});
  const Matrix c = plan.run(a, a, 1.0);
  for (const Span& s : c.layout().spans) {
    for (int64 t = 0; t < s.length; ++t) {
      double sum = 0;
      for (int64 k = 0; k < n; ++k) sum += element(s.row + t, k) * element(s.row + t + s.offset, k);
      error = std::max(error, std::abs(sum - c.values.as<double>()[s.start + t]));
    }
  }
  return error;
}

}  // namespace

int main() {
  double error = 0;
  for (const char* name : {"dia", "hm", "cdm"}) error = std::max(error, worst(name));
  std::printf("%s kernels, %d threads, largest error %.1e\n", instruction_set().c_str(), thread_count(), error);
  return error < 1e-13 ? 0 : 1;
}
