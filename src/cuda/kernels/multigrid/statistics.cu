// What the coefficients of a grid are like: of coefficients that are there, and of those that are just being gathered
// from the diagonals of a matrix.
#include "kernels/multigrid/points.cuh"
#include "kernels/multigrid/reduction.cuh"

namespace diagsparse::cuda::multigrid {

namespace {

constexpr int kMaxima = 3, kSums = kMaxima + 27;  // of `Statistics`

// What a thread finds in its rows.
template <int Count>
struct Found {
  double all[kMaxima + Count] = {};
  // Takes a row in, whose elements are element(s).
  template <class F>
  __device__ void add(const F& element, int center) {
    double sum = 0, size = 0, d = 0;
#pragma unroll
    for (int s = 0; s < Count; ++s) {
      const double a = element(s);
      sum += a;
      size += fabs(a);
      d = s == center ? fabs(a) : d;
      all[kMaxima + s] += fabs(a);
    }
    all[0] = fmax(all[0], fabs(sum));
    all[1] = fmax(all[1], size);
    if (d > 0) all[2] = fmax(all[2], size / d);
  }
  __device__ void put(double* parts) const {
#pragma unroll
    for (int k = 0; k < kMaxima + Count; ++k) {
      const double v = k < kMaxima ? reduced<true>(all[k]) : reduced<false>(all[k]);
      if (threadIdx.x == 0) parts[blockIdx.x * kSums + k] = v;
    }
  }
};

template <int Count>
__global__ void statistics_kernel(int64 n, int center, const double* coefficients, double* parts) {
  Found<Count> found;
  for_elements(n, [&](int64 i) { found.add([&](int s) { return load_once(coefficients + s * n + i); }, center); });
  found.put(parts);
}

// The same for any number of steps.
__global__ void any_statistics_kernel(Grid grid, const double* coefficients, double* parts) {
  const int64 n = grid.points();
  double maxima[kMaxima] = {};
  for (int s = -1; s < grid.steps.size(); ++s) {  // -1: what belongs to all steps together
    double total = 0;
    for_elements(n, [&](int64 i) {
      if (s >= 0) {
        total += fabs(coefficients[s * n + i]);
        return;
      }
      double sum = 0, size = 0;
      for (int k = 0; k < grid.steps.size(); ++k) {
        const double a = coefficients[k * n + i];
        sum += a;
        size += fabs(a);
      }
      const double d = fabs(coefficients[grid.center() * n + i]);
      maxima[0] = fmax(maxima[0], fabs(sum));
      maxima[1] = fmax(maxima[1], size);
      if (d > 0) maxima[2] = fmax(maxima[2], size / d);
    });
    if (s >= 0) {
      total = reduced<false>(total);
      if (threadIdx.x == 0) parts[blockIdx.x * kSums + kMaxima + s] = total;
    }
  }
  for (int k = 0; k < kMaxima; ++k) {
    const double v = reduced<true>(maxima[k]);
    if (threadIdx.x == 0) parts[blockIdx.x * kSums + k] = v;
  }
}

// flags[0]: an element does not couple neighbours; flags[1]: one on the main diagonal is not positive; flags[2]: two
// elements differ. Each step has a diagonal of its own, and the opposite step is that from the end of the list.
template <class V, int Count>
__global__ void gather_kernel(Grid grid, StepDiagonals diagonals, double tolerance, double* coefficients, double* parts,
                              int* flags) {
  constexpr int kCenter = Count / 2;
  const int64 n = grid.points();
  const int nx = static_cast<int>(grid.size[2]), ny = static_cast<int>(grid.size[1]);
  Found<Count> found;
  for_elements(n, [&](int64 i) {
    const int64 line = n <= 0xffffffff ? static_cast<unsigned>(i) / static_cast<unsigned>(nx) : i / nx;
    const int x = static_cast<int>(i - line * nx), z = ny == 1 ? static_cast<int>(line) : static_cast<int>(line / ny);
    const int y = ny == 1 ? 0 : static_cast<int>(line - static_cast<int64>(z) * ny);
    const auto element = [&](int s, int64 row) {
      return static_cast<double>(load(static_cast<const V*>(diagonals.at[s]) + row));
    };
    double row[Count];
#pragma unroll
    for (int s = 0; s < Count; ++s) {
      const Step& o = grid.steps[s];
      const int64 to = i + diagonals.offsets[s];
      const bool inside =
          z + o[0] >= 0 && z + o[0] < grid.size[0] && y + o[1] >= 0 && y + o[1] < ny && x + o[2] >= 0 && x + o[2] < nx;
      row[s] = to >= 0 && to < n ? element(s, i) : 0;
      if (!inside && row[s] != 0) flags[0] = 1;
      coefficients[s * n + i] = row[s];
      if (s > kCenter && inside) {
        const double off = fabs(row[s] - element(Count - 1 - s, to));
        if (!(off <= tolerance * fabs(row[s]))) flags[2] = 1;
      }
    }
    if (!(row[kCenter] > 0)) flags[1] = 1;
    found.add([&](int s) { return row[s]; }, kCenter);
  });
  found.put(parts);
}

Statistics added_up(int count, const Scratch<double>& parts) {
  const std::vector<double> found = download(static_cast<const double*>(parts.get()), kParts * kSums);
  Statistics all;
  for (auto one = found.begin(); one != found.end(); one += kSums) {
    all.add({one[0], one[1], one[2], {one + kMaxima, one + kMaxima + count}});
  }
  return all;
}

}  // namespace

Statistics statistics(const Grid& grid, const double* coefficients) {
  const Scratch<double> parts(kParts * kSums);
  const auto start = [&](auto count) {
    launch("multigrid_statistics", statistics_kernel<count()>, dim3(kParts), dim3(kBlock), grid.points(), grid.center(),
           coefficients, parts.get());
  };
  const int count = grid.steps.size();
  if (count == 5) start(std::integral_constant<int, 5>());
  else if (count == 7) start(std::integral_constant<int, 7>());
  else if (count == 9) start(std::integral_constant<int, 9>());
  else if (count == 27) start(std::integral_constant<int, 27>());
  else {
    launch("multigrid_statistics", any_statistics_kernel, dim3(kParts), dim3(kBlock), grid, coefficients, parts.get());
  }
  return added_up(count, parts);
}

bool is_common(const Grid& grid) {
  const unsigned set = grid.steps.set();
  return set == kFive || set == kSeven || set == kNine || set == kAll;
}

Gathered gather(const Grid& grid, const StepDiagonals& diagonals, double tolerance, double* coefficients) {
  const Scratch<double> parts(kParts * kSums);
  const Array flags = upload(std::vector<int>(3));
  const auto start = [&](auto type, auto count) {
    launch("multigrid_gather", gather_kernel<decltype(type), count()>, dim3(kParts), dim3(kBlock), grid, diagonals,
           tolerance, coefficients, parts.get(), static_cast<int*>(flags.data));
  };
  const auto with_type = [&](auto count) {
    diagonals.dtype == DType::f32 ? start(float(), count) : start(double(), count);
  };
  const int count = grid.steps.size();
  if (count == 5) with_type(std::integral_constant<int, 5>());
  else if (count == 7) with_type(std::integral_constant<int, 7>());
  else if (count == 9) with_type(std::integral_constant<int, 9>());
  else with_type(std::integral_constant<int, 27>());
  const std::vector<int> found = download(static_cast<const int*>(flags.data), 3);
  return {found[0] == 0, {found[1] == 0, found[2] == 0}, added_up(count, parts)};
}

}  // namespace diagsparse::cuda::multigrid
