// Products of diagonals for programs that XLA compiles: functions that it calls with the memory of its buffers, from
// threads that do not hold Python's lock (jax.ffi). Their interface is that of the oldest supported version of JAX; XLA
// supports old ones for at least a year.
//
//     product           values of A, x  ->  y = op(A) x
//     sampled_product   X, Y            ->  values of a matrix, core/sampled.hpp
//
// Values have the shape (members, D, m), or (1, D, m) for one matrix, and vectors the shape (members, 1, n); a single
// one stands for all members. With the attribute by_columns, vectors are the columns of blocks of shape (n, members).
#include <xla/ffi/api/c_api.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <string_view>
#include <tuple>

#include "bind/device.hpp"
#include "bind/subjects.hpp"
#include "core/batch.hpp"
#include "core/format.hpp"
#include "core/matvec.hpp"
#include "core/sampled.hpp"

namespace py = pybind11;

namespace diagsparse {

namespace {

// ---- What XLA passes -----------------------------------------------------------------------------------------------
DType dtype_from(XLA_FFI_DataType type) {
  switch (type) {
    case XLA_FFI_DataType_F32: return DType::f32;
    case XLA_FFI_DataType_F64: return DType::f64;
    case XLA_FFI_DataType_C64: return DType::c64;
    case XLA_FFI_DataType_C128: return DType::c128;
    default:
      throw std::invalid_argument("a buffer of XLA's type " + std::to_string(type) +
                                  ", expected floats or complex numbers");
  }
}

int64 elements_of(const XLA_FFI_Buffer& buffer) {
  return std::accumulate(buffer.dims, buffer.dims + buffer.rank, int64{1}, std::multiplies<>());
}

// An attribute of a call: one number, or several.
std::vector<int64> attribute(const XLA_FFI_CallFrame& call, std::string_view name) {
  for (int64 i = 0; i < call.attrs.size; ++i) {
    const XLA_FFI_ByteSpan& found = *call.attrs.names[i];
    if (std::string_view(found.ptr, found.len) != name || call.attrs.types[i] != XLA_FFI_AttrType_ARRAY) continue;
    const auto& array = *static_cast<const XLA_FFI_Array*>(call.attrs.attrs[i]);
    if (array.dtype != XLA_FFI_DataType_S64) break;
    const auto* numbers = static_cast<const int64*>(array.data);
    return {numbers, numbers + array.size};
  }
  throw std::invalid_argument("no attribute " + std::string(name) + " of integers");
}

bool flag(const XLA_FFI_CallFrame& call, std::string_view name) {
  const std::vector<int64> found = attribute(call, name);
  if (found.size() == 1) return found[0] != 0;
  throw std::invalid_argument(std::to_string(found.size()) + " numbers in " + std::string(name) + ", expected one");
}

// A buffer, as rows of a given length.
struct Rows {
  Rows(const void* buffer, int64 of_length) : length(of_length) {
    const auto& b = *static_cast<const XLA_FFI_Buffer*>(buffer);
    data = b.data;
    dtype = dtype_from(b.dtype);
    const int64 size = elements_of(b);
    count = length > 0 ? size / length : 0;
    if (count < 1 || count * length != size) {
      throw std::invalid_argument("a buffer of " + std::to_string(size) + " elements, expected rows of " +
                                  std::to_string(length));
    }
  }

  // As the columns of a block. With `by_columns`, the block is in C order: element i of all columns is stored together.
  Dense columns(bool by_columns) const {
    const bool adjacent = by_columns && count > 1;
    return {data, dtype, length, count, adjacent ? count : 1, adjacent ? 1 : length};
  }
  // As a row for each of `members`, or one for all if it is only read.
  Dense each(int64 members, bool written = false) const {
    if (count != members && (count != 1 || written)) {
      throw std::invalid_argument(std::to_string(count) + " vectors for " + std::to_string(members) + " matrices");
    }
    return {data, dtype, members, length, count == 1 ? 0 : length, 1};
  }

  void* data;
  DType dtype;
  int64 length, count;
};

void* stream_of(const XLA_FFI_CallFrame& call) {
  if (std::string_view(device_kind) == "cpu") return nullptr;
  XLA_FFI_Stream_Get_Args args{XLA_FFI_Stream_Get_Args_STRUCT_SIZE, nullptr, call.ctx, nullptr};
  XLA_FFI_Error* const failed = call.api->XLA_FFI_Stream_Get(&args);
  if (failed == nullptr) return args.stream;
  XLA_FFI_Error_Destroy_Args of_error{XLA_FFI_Error_Destroy_Args_STRUCT_SIZE, nullptr, failed};
  call.api->XLA_FFI_Error_Destroy(&of_error);
  throw std::runtime_error("XLA has no stream for this call");
}

// ---- Structures ----------------------------------------------------------------------------------------------------
// The structure of a matrix, which is the same object in later calls, because kernels cache what they need with it.
LayoutPtr structure_of(int device, const std::vector<int64>& shape, std::vector<int64> offsets) {
  struct Known {
    LayoutPtr structure;
    int64 used;  // when it was last used
  };
  using Key = std::tuple<int, std::vector<int64>, std::vector<int64>>;
  constexpr std::size_t kMost = 256;
  if (shape.size() != 2) {
    throw std::invalid_argument("a shape of " + std::to_string(shape.size()) + " numbers, expected two");
  }
  static std::mutex mutex;
  static auto& known = *new std::map<Key, Known>;  // never destroyed: CUDA may end before this module does
  static int64 now = 0;
  LayoutPtr dropped;  // destroyed after the lock is released
  const std::lock_guard<std::mutex> lock(mutex);
  Key key{device, shape, std::move(offsets)};
  if (const auto found = known.find(key); found != known.end()) {
    found->second.used = ++now;
    return found->second.structure;
  }
  if (known.size() == kMost) {
    const auto oldest = std::min_element(known.begin(), known.end(),
                                         [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
    dropped = std::move(oldest->second.structure);
    known.erase(oldest);
  }
  auto made = std::make_shared<const Layout>(diagonal_format("dia").place(shape[0], shape[1], std::get<2>(key)));
  return known.emplace(std::move(key), Known{std::move(made), ++now}).first->second.structure;
}

// One matrix, or several, on the memory of a buffer.
Matrix matrix_on(const LayoutPtr& structure, const Rows& values, int device) {
  const Shape one = structure->values_shape;
  Array array;
  array.data = values.data;
  array.dtype = values.dtype;
  array.shape = values.count == 1 ? one : Shape{values.count, one.size()};
  array.device = device;
  return {structure, array};
}

// ---- Products ------------------------------------------------------------------------------------------------------
void require_same_types(const Rows& a, const Rows& b, const Rows& c) {
  if (a.dtype == b.dtype && a.dtype == c.dtype) return;
  throw std::invalid_argument(std::string("buffers of ") + dtype_name(a.dtype) + ", " + dtype_name(b.dtype) + " and " +
                              dtype_name(c.dtype) + ", expected the same type");
}

void product(const XLA_FFI_CallFrame& call, const LayoutPtr& structure, int device) {
  const Op op{.transposed = flag(call, "transposed")};
  const bool by_columns = flag(call, "by_columns");
  const int64 m = structure->rows, n = structure->cols;
  const Rows values(call.args.args[0], structure->values_shape.size());
  const Rows x(call.args.args[1], op.transposed ? m : n), y(call.rets.rets[0], op.transposed ? n : m);
  require_same_types(values, x, y);
  const Matrix a = matrix_on(structure, values, device);
  if (values.count == 1) return matvec(a, op, 1.0, x.columns(by_columns), 0.0, y.columns(by_columns), "");
  batch_matvec(a, op, 1.0, x.each(values.count), 0.0, y.each(values.count, true), 1);
}

void product_sampled(const XLA_FFI_CallFrame& call, const LayoutPtr& structure, int device) {
  const bool by_columns = flag(call, "by_columns");
  const Rows x(call.args.args[0], structure->rows), y(call.args.args[1], structure->cols);
  const Rows values(call.rets.rets[0], structure->values_shape.size());
  require_same_types(x, y, values);
  Matrix c = matrix_on(structure, values, device);
  clear_unwritten(c);
  if (values.count == 1) return sampled_product(x.columns(by_columns), y.columns(by_columns), c);
  batch_sampled_product(x.each(values.count), y.each(values.count), 1, c);
}

// ---- Calls ---------------------------------------------------------------------------------------------------------
XLA_FFI_Error* error(const XLA_FFI_CallFrame& call, XLA_FFI_Error_Code code, const char* what) {
  XLA_FFI_Error_Create_Args args{XLA_FFI_Error_Create_Args_STRUCT_SIZE, nullptr, what, code};
  return call.api->XLA_FFI_Error_Create(&args);
}

// XLA asks for the version of the interface before the first call.
bool has_answered(const XLA_FFI_CallFrame& call) {
  for (XLA_FFI_Extension_Base* e = call.extension_start; e != nullptr; e = e->next) {
    if (e->type != XLA_FFI_Extension_Metadata) continue;
    XLA_FFI_Api_Version& version = reinterpret_cast<XLA_FFI_Metadata_Extension*>(e)->metadata->api_version;
    version.major_version = XLA_FFI_API_MAJOR;
    version.minor_version = XLA_FFI_API_MINOR;
    return true;
  }
  return false;
}

template <void (*run)(const XLA_FFI_CallFrame&, const LayoutPtr&, int)>
XLA_FFI_Error* called(XLA_FFI_CallFrame* frame) {
  const XLA_FFI_CallFrame& call = *frame;
  if (has_answered(call)) return nullptr;
  try {
    if (call.args.size != 2 || call.rets.size != 1) {
      throw std::invalid_argument(std::to_string(call.args.size) + " operands and " + std::to_string(call.rets.size) +
                                  " results, expected 2 and 1");
    }
    const auto& result = *static_cast<const XLA_FFI_Buffer*>(call.rets.rets[0]);
    use_huge_pages(result.data, elements_of(result) * item_size(dtype_from(result.dtype)));
    run_in_stream(stream_of(call), [&](int device) {
      run(call, structure_of(device, attribute(call, "shape"), attribute(call, "offsets")), device);
    });
    return nullptr;
  } catch (const std::bad_alloc& e) {
    return error(call, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED, e.what());
  } catch (const std::invalid_argument& e) {
    return error(call, XLA_FFI_Error_Code_INVALID_ARGUMENT, e.what());
  } catch (const std::exception& e) {
    return error(call, XLA_FFI_Error_Code_INTERNAL, e.what());
  }
}

}  // namespace

void bind_xla(py::module_& m) {
  py::dict handlers;
  handlers["diagsparse_product"] = py::capsule(reinterpret_cast<void*>(&called<product>));
  handlers["diagsparse_sampled_product"] = py::capsule(reinterpret_cast<void*>(&called<product_sampled>));
  m.attr("xla_handlers") = handlers;
}

}  // namespace diagsparse
