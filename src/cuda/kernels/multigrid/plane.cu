#include <cmath>

#include "device/launch.cuh"
#include "kernels/multigrid/plane.hpp"
#include "kernels/multigrid/plane_kernels.cuh"
#include "kernels/multigrid/points.cuh"

namespace diagsparse::cuda::multigrid {

namespace {

// Lines of zeros and values, wide enough for strips of any width.
Lines surrounded(int64 nx) {
  const int64 width = std::max(ceil_div(nx, 120) * 120, ceil_div(nx, 56) * 56);
  const int64 pitch = ceil_div(width + 4 * kMargin, 32) * 32;
  return {nx, pitch, kMargin * pitch + kMargin};
}

Array zeros(DType dtype, int64 count) {
  Array built = Array::empty(dtype, {count});
  if (count > 0) CUDA_CALL(cudaMemsetAsync(built.data, 0, count * item_size(dtype), stream()));
  return built;
}

// How a grid is divided among warps: strips of columns, and chunks of lines such that the last blocks do not run alone,
// and few lines are computed twice.
struct Division {
  int strips, lines;
  int64 chunks;
  Division(int64 nx, int64 ny, int lane) : strips(static_cast<int>(ceil_div(nx, 32 * lane - 2 * kMargin))) {
    constexpr int kRunning = 16;  // warps of a multiprocessor
    const int multiprocessors = limits<plane_residual_kernel<float, false>>().multiprocessors;
    double least = 1e30;
    for (int some = kFewest; some <= kMost; some += 2) {
      const double warps = static_cast<double>(ceil_div(strips, kWarps) * kWarps * ceil_div(ny, some));
      const double waves = warps / (multiprocessors * kRunning),
                   cost = (waves > 6 ? waves : std::ceil(waves)) * (some + 7);
      if (cost < 0.999 * least) least = cost, lines = some;
    }
    chunks = ceil_div(ny, lines);
  }
  dim3 grid() const { return dim3(static_cast<unsigned>(ceil_div(strips, kWarps)), static_cast<unsigned>(chunks)); }
};

template <class F>
void with_type(DType dtype, const F& f) {
  dtype == DType::f32 ? f(float()) : f(double());
}
template <class F>
void with_points(const Grid& grid, const F& f) {
  grid.steps.size() > 5 ? f(std::true_type()) : f(std::false_type());
}

template <class T>
View<T> view(const Grid& grid, const Lines& lines, const Lines& coarse, const Array& coefficients,
             const Array& weights) {
  const auto size = grid.coarse_size();
  const int64 one = (grid.size[0] + kMargin + kBelow) * lines.pitch;
  const T* a = static_cast<const T*>(coefficients.data);
  return {grid.size[2],
          grid.size[0],
          lines.pitch,
          coarse.pitch,
          size[2],
          size[0],
          a,
          a + one,
          a + 2 * one,
          a + 3 * one,
          a + 4 * one,
          static_cast<const T*>(weights.data),
          (size[0] + kMargin + kBelow) * coarse.pitch};
}

}  // namespace

bool Plane::supports(const Grid& grid) {
  bool cross = true;
  for (const Step& s : {Step{0, 0, 1}, Step{0, 0, -1}, Step{1, 0, 0}, Step{-1, 0, 0}})
    cross &= grid.steps.position(s) >= 0;
  const int count = grid.steps.size();
  // Lines of few points would be surrounded by many zeros, and the chunks of lines are the second axis of a launch.
  const Lines lines = surrounded(grid.size[2]);
  if (grid.size[0] * lines.pitch > 2 * grid.points() + (1 << 20) || grid.size[0] > 65535 * int64{kFewest}) return false;
  return grid.size[1] == 1 && grid.coarsened[0] && grid.coarsened[2] && !grid.periodic[0] && !grid.periodic[2] &&
         cross && (count == 5 || count == 9);
}

Plane::Plane(const Grid& grid, const double* coefficients, const double* weights, double a1, double a2, DType dtype)
    : grid_(grid),
      a1_(a1),
      a2_(a2),
      dtype_(dtype),
      lines_(surrounded(grid.size[2])),
      coarse_(surrounded(grid.coarse_size()[2])),
      rows_(grid.size[0] + kMargin + kBelow),
      coarse_rows_(grid.coarse_size()[0] + kMargin + kBelow),
      coefficients_(zeros(dtype, (grid.steps.size() / 2 + 1) * rows_ * lines_.pitch)),
      weights_(zeros(dtype, kWeights * coarse_rows_ * coarse_.pitch)),
      b_(zeros(dtype, rows_ * lines_.pitch)),
      e_(zeros(dtype, rows_ * lines_.pitch)) {
  with_type(dtype, [&](auto type) { pack<decltype(type)>(coefficients, weights); });
}

template <class T>
void Plane::pack(const double* coefficients, const double* weights) {
  with_points(grid_, [&](auto nine) {
    const PointBlocks shape(grid_.size);
    launch("plane_coefficients", plane_coefficients_kernel<T, nine()>, shape.grid, shape.block, grid_, coefficients,
           static_cast<T*>(coefficients_.data), lines_, rows_ * lines_.pitch);
  });
  const auto size = grid_.coarse_size();
  launch("plane_weights", plane_weights_kernel<T>, blocks(grid_.coarse_points(), 4), dim3(kBlock), size[2], size[0],
         weights, coarse_.pitch, coarse_rows_ * coarse_.pitch, static_cast<T*>(weights_.data));
}

void Plane::used_here() const {
  for (const Array* one : {&coefficients_, &weights_, &b_, &e_, &aside_, &coarse_e_, &products_}) {
    if (one->data != nullptr) used_on_this_stream(*one);
  }
}

int64 Plane::nbytes() const {
  int64 all = 0;
  for (const Array* one : {&coefficients_, &weights_, &b_, &e_, &aside_, &coarse_e_}) {
    if (one->data != nullptr) all += one->shape.rows * item_size(dtype_);
  }
  return all;
}

namespace {

void copy(DType dtype, int64 n, const Array& from, const Lines& source, const Array& to, const Lines& target) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    launch("plane_copy", plane_copy_kernel<T, T>, blocks(n, 4), dim3(kBlock), n, static_cast<const T*>(from.data),
           source, static_cast<T*>(to.data), target);
  });
}

}  // namespace

void Plane::load(const Array& flat) const { copy(dtype_, grid_.points(), flat, Lines{}, b_, lines_); }
void Plane::unload(const Array& flat) const { copy(dtype_, grid_.points(), e_, lines_, flat, Lines{}); }

void Plane::descend(const Array& below, const Lines& to) const {
  with_type(dtype_, [&](auto type) {
    with_points(grid_, [&](auto nine) {
      using T = decltype(type);
      const Division by(grid_.size[2], 2 * grid_.coarse_size()[0], kLane<T, nine()>);
      launch("plane_descend", plane_descend_kernel<T, nine()>, by.grid(), dim3(32 * kWarps),
             view<T>(grid_, lines_, coarse_, coefficients_, weights_), static_cast<T>(a1_), static_cast<T>(a2_),
             static_cast<const T*>(b_.data), static_cast<T*>(below.data), to, by.lines, by.strips);
    });
  });
}

void Plane::ascend(const Array& correction) const {
  with_type(dtype_, [&](auto type) {
    with_points(grid_, [&](auto nine) {
      using T = decltype(type);
      const Division by(grid_.size[2], grid_.size[0], kLane<T, nine()>);
      launch("plane_ascend", plane_ascend_kernel<T, nine()>, by.grid(), dim3(32 * kWarps),
             view<T>(grid_, lines_, coarse_, coefficients_, weights_), static_cast<T>(a1_), static_cast<T>(a2_),
             static_cast<const T*>(b_.data), static_cast<const T*>(correction.data), static_cast<T*>(e_.data), by.lines,
             by.strips, static_cast<double*>(products_.data));
    });
  });
}

void Plane::descend(const Plane& below) const { descend(below.b_, below.lines_); }
void Plane::descend(const Array& below) const {
  const int64 nx = grid_.coarse_size()[2];
  descend(below, Lines{nx, nx, 0});
}
void Plane::ascend(const Plane& below) const { ascend(below.e_); }
void Plane::ascend_from_flat(const Array& below) {
  if (coarse_e_.data == nullptr) coarse_e_ = zeros(dtype_, coarse_rows_ * coarse_.pitch);
  copy(dtype_, grid_.coarse_points(), below, Lines{}, coarse_e_, coarse_);
  ascend(coarse_e_);
}

const Array& Plane::products() {
  if (products_.data == nullptr) {
    with_type(dtype_, [&](auto type) {
      with_points(grid_, [&](auto nine) {
        const Division by(grid_.size[2], grid_.size[0], kLane<decltype(type), nine()>);
        products_ = zeros(DType::f64, by.strips * by.chunks);
      });
    });
  }
  return products_;
}

void Plane::begin_correction() {
  if (aside_.data == nullptr) aside_ = zeros(dtype_, rows_ * lines_.pitch);
  with_type(dtype_, [&](auto type) {
    with_points(grid_, [&](auto nine) {
      using T = decltype(type);
      const dim3 grid(static_cast<unsigned>(ceil_div(grid_.size[2], kBlock)),
                      static_cast<unsigned>(std::min<int64>(grid_.size[0], 65535)));
      launch("plane_residual", plane_residual_kernel<T, nine()>, grid, dim3(kBlock),
             view<T>(grid_, lines_, coarse_, coefficients_, weights_), static_cast<const T*>(e_.data),
             static_cast<T*>(b_.data));
    });
  });
  std::swap(e_, aside_);
}

void Plane::end_correction() const {
  with_type(dtype_, [&](auto type) {
    using T = decltype(type);
    combine(rows_ * lines_.pitch, 1.0, static_cast<const T*>(aside_.data), 1.0, static_cast<const T*>(e_.data),
            static_cast<T*>(e_.data));
  });
}

}  // namespace diagsparse::cuda::multigrid
