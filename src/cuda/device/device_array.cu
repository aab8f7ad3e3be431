// Strided arrays on the GPU: copies, casts, fills and comparisons.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <thrust/complex.h>

#include "device/device_array.hpp"
#include "device/launch.cuh"
#include "device/transpose.hpp"
#include "device/values.cuh"

namespace diagsparse::cuda {

bool DeviceArray::contiguous() const {
  int64 step = 1;
  for (int k = ndim() - 1; k >= 0; --k) {
    if (shape[k] != 1 && strides[k] != step && size() > 0) return false;
    step *= shape[k];
  }
  return true;
}

Dense DeviceArray::dense() const {
  if (ndim() == 1) return {data, dtype, shape[0], 1, strides[0], shape[0]};
  return {data, dtype, shape[0], shape[1], strides[0], strides[1]};
}

Array DeviceArray::array() const {
  if (!contiguous()) throw std::logic_error("the array is not contiguous");
  Array a;
  a.data = data;
  a.dtype = dtype;
  a.shape = {shape.empty() ? 1 : shape[0], ndim() == 2 ? shape[1] : -1};
  a.owner = owner;
  a.writeable = writeable;
  a.device = device;
  return a;
}

DeviceArray DeviceArray::of(const Array& array) {
  DeviceArray a{array.as<char>(), array.dtype, {array.shape.rows}, {1}, array.device, array.owner, array.writeable};
  if (array.shape.cols >= 0) {
    a.shape.push_back(array.shape.cols);
    a.strides = {array.shape.cols, 1};
  }
  return a;
}

DeviceArray DeviceArray::empty(DType dtype, std::vector<int64> shape, bool c_order) {
  DeviceArray a;
  a.dtype = dtype;
  a.strides.assign(shape.size(), 1);
  int64 step = 1;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    const std::size_t axis = c_order ? shape.size() - 1 - k : k;
    a.strides[axis] = step;
    if (__builtin_mul_overflow(step, shape[axis], &step)) throw std::bad_alloc();
  }
  a.shape = std::move(shape);
  const std::shared_ptr<void> memory = allocate(a.nbytes());
  a.data = static_cast<char*>(memory.get());
  a.owner = memory;
  a.device = current_device();
  return a;
}

namespace {

// Like convert, and also to the types that are only stored, rounded to nearest.
template <class T, class S>
inline __device__ T stored_as(S s) {
  if constexpr (std::is_same_v<T, Float16>) {
    if constexpr (sizeof(S) == 8) return {__half_as_ushort(__double2half(static_cast<double>(s)))};
    else return {__half_as_ushort(__float2half_rn(static_cast<float>(s)))};
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    if constexpr (sizeof(S) == 8) return {__bfloat16_as_ushort(__double2bfloat16(static_cast<double>(s)))};
    else return {__bfloat16_as_ushort(__float2bfloat16_rn(static_cast<float>(s)))};
  } else {
    return convert<T>(s);
  }
}

// Calls f with a value of type t, for all types that can be converted; narrow indices and bitmaps cannot.
template <class F>
inline __host__ __device__ void with_any_type(DType t, const F& f) {
  switch (t) {
    case DType::f32: return f(float{});
    case DType::f64: return f(double{});
    case DType::c64: return f(Complex<float>{});
    case DType::c128: return f(Complex<double>{});
    case DType::f16: return f(Float16{});
    case DType::bf16: return f(BFloat16{});
    case DType::i32: return f(std::int32_t{});
    case DType::i64: return f(std::int64_t{});
    default: return;
  }
}

// Converts element (i, j) of `from`, whose type s must fit, to that of `to`; neighbouring threads write neighbouring
// elements.
template <class T>
__global__ void __launch_bounds__(kBlock)
    assign_elements(DType s, const void* from, int64 from_row, int64 from_col, T* to, int64 to_row, int64 to_col,
                    int64 rows, int64 cols, bool rows_first) {
  const int64 width = static_cast<int64>(gridDim.x) * blockDim.x;
  for (int64 e = thread_index(); e < rows * cols; e += width) {
    const int64 i = rows_first ? e % rows : e / cols, j = rows_first ? e / rows : e % cols;
    with_any_type(s, [&](auto zero) {
      using S = decltype(zero);
      if constexpr (is_complex<T> || !is_complex<S>) {
        to[i * to_row + j * to_col] = stored_as<T>(static_cast<const S*>(from)[i * from_row + j * from_col]);
      }
    });
  }
}

template <class T>
inline __device__ thrust::complex<Real<T>> wide(T v) {
  if constexpr (is_complex<T>) return {v.re, v.im};
  else return v;
}
template <class T>
inline __device__ T narrow(thrust::complex<Real<T>> v) {
  if constexpr (is_complex<T>) return {v.real(), v.imag()};
  else return v.real();
}

template <Map F, class T>
__device__ T changed(T v, T s, bool real_scalar) {
  if constexpr (F == Map::negative) {
    if constexpr (is_complex<T>) return {-v.re, -v.im};
    else return -v;
  } else if constexpr (F == Map::conjugate) {
    return conjugate_if(true, v);
  } else if constexpr (F == Map::multiply) {
    return v * s;
  } else if constexpr (F == Map::divide) {
    if constexpr (!is_complex<T>) return v / s;
    else if (real_scalar) return {v.re / s.re, v.im / s.re};
    else return narrow<T>(wide(v) / wide(s));
  } else {
    if constexpr (!is_complex<T>) return pow(v, s);
    else return real_scalar && s.re == Real<T>(2) ? v * v : narrow<T>(thrust::pow(wide(v), wide(s)));
  }
}

template <Map F, class T>
__global__ void __launch_bounds__(kBlock) map_elements(const T* in, T* out, int64 count, T s, bool real_scalar) {
  const int64 width = static_cast<int64>(gridDim.x) * blockDim.x;
  for (int64 i = thread_index(); i < count; i += width) out[i] = changed<F>(in[i], s, real_scalar);
}

template <class T>
__global__ void __launch_bounds__(kBlock) absolute_elements(const T* in, Real<T>* out, int64 count) {
  const int64 width = static_cast<int64>(gridDim.x) * blockDim.x;
  for (int64 i = thread_index(); i < count; i += width) {
    if constexpr (is_complex<T>) out[i] = hypot(in[i].re, in[i].im);
    else out[i] = fabs(in[i]);
  }
}

template <class T>
__global__ void __launch_bounds__(kBlock) fill_elements(T* out, int64 count, T value) {
  const int64 width = static_cast<int64>(gridDim.x) * blockDim.x;
  for (int64 i = thread_index(); i < count; i += width) out[i] = value;
}

template <class T>
__global__ void __launch_bounds__(kBlock)
    update_elements(const T* in, T* out, int64 count, const __grid_constant__ Update<T> update) {
  const int64 width = static_cast<int64>(gridDim.x) * blockDim.x;
  for (int64 i = thread_index(); i < count; i += width) update.one(out + i, in[i]);
}

template <class T>
__global__ void __launch_bounds__(kBlock) find_nonzero(const T* in, int64 count, int* found) {
  const int64 width = static_cast<int64>(gridDim.x) * blockDim.x;
  for (int64 i = thread_index(); i < count; i += width) {
    if (!is_zero(in[i])) *found = 1;
  }
}

}  // namespace

void assign(const DeviceArray& from, const DeviceArray& to) {
  if (from.shape != to.shape) throw std::invalid_argument("assign: the shapes differ");
  const Dense in = from.dense(), out = to.dense();
  const int64 count = in.rows * in.cols;
  if (count == 0) return;
  if (from.dtype == to.dtype && from.contiguous() && to.contiguous()) {
    CUDA_CALL(cudaMemcpyPeerAsync(to.data, to.device, from.data, from.device, from.nbytes(), stream()));
    return;
  }
  for (const DType t : {from.dtype, to.dtype}) {
    if (t <= DType::i64) continue;
    throw std::invalid_argument(std::string("arrays of type ") + dtype_name(t) + " are not converted on a GPU");
  }
  if (are_transposes(in, out)) return copy_transposed(in, out);
  with_any_type(to.dtype, [&](auto zero) {
    using T = decltype(zero);
    if (!is_complex<T> && (from.dtype == DType::c64 || from.dtype == DType::c128)) {
      throw std::invalid_argument(std::string("astype: ") + dtype_name(from.dtype) + " values do not fit " +
                                  dtype_name(to.dtype) + "; the imaginary parts would be lost");
    }
    launch("assign", assign_elements<T>, blocks(count, 4), dim3(kBlock), from.dtype, in.data, in.row_stride,
           in.col_stride, out.as<T>(), out.row_stride, out.col_stride, in.rows, in.cols,
           out.row_stride < out.col_stride);
  });
}

DeviceArray map(Map f, const DeviceArray& a, Scalar scalar) {
  const int64 count = a.size();
  const bool to_real = f == Map::absolute;
  DType type = a.dtype;
  if (to_real) type = type == DType::c64 ? DType::f32 : type == DType::c128 ? DType::f64 : type;
  DeviceArray out = DeviceArray::empty(type, a.shape);
  if (count == 0) return out;
  with_value_type(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* in = reinterpret_cast<const T*>(a.data);
    const T s = from_scalar<T>(scalar);
    const auto run = [&](auto kernel) {
      launch("map", kernel, blocks(count, 4), dim3(kBlock), in, reinterpret_cast<T*>(out.data), count, s,
             scalar.imag() == 0);
    };
    switch (f) {
      case Map::negative: return run(map_elements<Map::negative, T>);
      case Map::conjugate: return run(map_elements<Map::conjugate, T>);
      case Map::multiply: return run(map_elements<Map::multiply, T>);
      case Map::divide: return run(map_elements<Map::divide, T>);
      case Map::power: return run(map_elements<Map::power, T>);
      case Map::absolute:
        launch("map", absolute_elements<T>, blocks(count, 4), dim3(kBlock), in, reinterpret_cast<Real<T>*>(out.data),
               count);
    }
  });
  return out;
}

void fill(const DeviceArray& a, Scalar value) {
  if (a.size() == 0) return;
  if (item_size(a.dtype) == 2) {  // a float32 scalar, broadcast to all elements
    DeviceArray one = DeviceArray::empty(DType::f32, {1});
    fill(one, value);
    one.shape = a.shape;
    one.strides.assign(a.shape.size(), 0);
    return assign(one, a);
  }
  with_value_type(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch("fill", fill_elements<T>, blocks(a.size(), 4), dim3(kBlock), reinterpret_cast<T*>(a.data), a.size(),
           from_scalar<T>(value));
  });
}

void add_scaled(const DeviceArray& a, Scalar beta, const DeviceArray& to) {
  with_value_type(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch("add", update_elements<T>, blocks(a.size(), 4), dim3(kBlock), reinterpret_cast<const T*>(a.data),
           reinterpret_cast<T*>(to.data), a.size(), Update<T>(1.0, beta));
  });
}

bool any(const DeviceArray& a) {
  if (a.size() == 0) return false;
  const Scratch<int> found(1);
  CUDA_CALL(cudaMemsetAsync(found.get(), 0, sizeof(int), stream()));
  with_value_type(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch("any", find_nonzero<T>, blocks(a.size(), 4), dim3(kBlock), reinterpret_cast<const T*>(a.data), a.size(),
           found.get());
  });
  return download(found.get(), 1)[0] != 0;
}

}  // namespace diagsparse::cuda
