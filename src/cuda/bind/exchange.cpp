#include "bind/exchange.hpp"

#include <pybind11/stl.h>

#include "bind/dlpack.hpp"
#include "bind/python_lock.hpp"

namespace py = pybind11;

namespace diagsparse::cuda {

namespace {

[[noreturn]] void refuse_type(const std::string& name) {
  throw py::type_error(
      "arrays of type " + name +
      " are not supported; expected float16, bfloat16, float32, float64, complex64, complex128, int32 or int64");
}

DType from_dlpack(dlpack::DataType t) {
  const int bits = t.bits;
  if (t.lanes == 1) {
    if (t.code == dlpack::kFloat && bits == 32) return DType::f32;
    if (t.code == dlpack::kFloat && bits == 64) return DType::f64;
    if (t.code == dlpack::kComplex && bits == 64) return DType::c64;
    if (t.code == dlpack::kComplex && bits == 128) return DType::c128;
    if (t.code == dlpack::kFloat && bits == 16) return DType::f16;
    if (t.code == dlpack::kBfloat && bits == 16) return DType::bf16;
    if (t.code == dlpack::kInt && bits == 32) return DType::i32;
    if (t.code == dlpack::kInt && bits == 64) return DType::i64;
  }
  static const char* names[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
  refuse_type((t.code < 7 ? names[t.code] : "other") + (t.code == dlpack::kBool ? "" : std::to_string(bits)));
}

dlpack::DataType to_dlpack(DType t) {
  static const dlpack::DataType types[] = {
      {dlpack::kFloat, 32, 1}, {dlpack::kFloat, 64, 1},  {dlpack::kComplex, 64, 1}, {dlpack::kComplex, 128, 1},
      {dlpack::kFloat, 16, 1}, {dlpack::kBfloat, 16, 1}, {dlpack::kInt, 32, 1},     {dlpack::kInt, 64, 1}};
  return types[static_cast<int>(t)];
}

void check(const DeviceArray& a) {
  if (a.ndim() > 2) throw py::value_error("arrays of " + std::to_string(a.ndim()) + " dimensions are not supported");
  if (a.size() > 0 && reinterpret_cast<std::uintptr_t>(a.data) % item_size(a.dtype) != 0) {
    throw py::value_error("the array does not start at a multiple of its item size; copy it");
  }
}

std::vector<int64> c_strides(const std::vector<int64>& shape) {
  std::vector<int64> strides(shape.size(), 1);
  for (int k = static_cast<int>(shape.size()) - 2; k >= 0; --k) strides[k] = strides[k + 1] * shape[k + 1];
  return strides;
}

DeviceArray from_capsule(const py::capsule& capsule) {
  auto* managed = capsule.get_pointer<dlpack::ManagedTensor>();
  const dlpack::Tensor& t = managed->tensor;
  if (t.device.type != dlpack::kCuda && t.device.type != dlpack::kCudaManaged) {
    throw py::type_error("the array is in host memory; expected one on the GPU");
  }
  DeviceArray a;
  a.data = static_cast<char*>(t.data) + t.byte_offset;
  a.dtype = from_dlpack(t.dtype);
  a.device = t.device.id;
  a.shape.assign(t.shape, t.shape + t.ndim);
  a.strides = t.strides ? std::vector<int64>(t.strides, t.strides + t.ndim) : c_strides(a.shape);
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");  // from here on its life is ours
  a.owner = std::shared_ptr<const void>(managed, [managed](const void*) {
    if (!managed->deleter || !Py_IsInitialized()) return;
    unless_python_ends([managed] {
      const py::gil_scoped_acquire locked;
      managed->deleter(managed);
    });
  });
  return a;
}

DeviceArray from_interface(py::handle object) {
  const py::dict all = object.attr("__cuda_array_interface__");
  DeviceArray a;
  const auto data = all["data"].cast<std::pair<std::uintptr_t, bool>>();
  a.data = reinterpret_cast<char*>(data.first);
  a.writeable = !data.second;
  a.dtype = dtype_of_name(py::module_::import("numpy").attr("dtype")(all["typestr"]).attr("name").cast<std::string>());
  a.shape = all["shape"].cast<std::vector<int64>>();
  a.strides = c_strides(a.shape);
  if (all.contains("strides") && !all["strides"].is_none()) {
    a.strides = all["strides"].cast<std::vector<int64>>();
    for (int64& step : a.strides) {
      if (step % item_size(a.dtype) != 0) throw py::value_error("strides are no multiples of the item size");
      step /= item_size(a.dtype);
    }
  }
  if (a.data) {
    cudaPointerAttributes where;
    CUDA_CALL(cudaPointerGetAttributes(&where, a.data));
    if (where.type != cudaMemoryTypeDevice && where.type != cudaMemoryTypeManaged) {
      throw py::type_error("the array is in host memory; expected one on the GPU");
    }
    a.device = where.device;
  }
  a.owner = keep_alive(object, object.ptr());
  return a;
}

}  // namespace

const char* type_string(DType t) {
  static const char* names[] = {"<f4", "<f8", "<c8", "<c16", "<f2", "bfloat16", "<i4", "<i8"};
  return names[static_cast<int>(t)];
}

DType dtype_of_name(const std::string& name) {
  for (DType t : {DType::f32, DType::f64, DType::c64, DType::c128, DType::f16, DType::bf16, DType::i32, DType::i64}) {
    if (name == dtype_name(t)) return t;
  }
  refuse_type(name);
}

DeviceArray import_array(py::handle object, py::object stream) {
  DeviceArray a;
  if (py::isinstance<DeviceArray>(object)) return object.cast<const DeviceArray&>();
  if (py::hasattr(object, "__dlpack__")) {
    a = from_capsule(stream.is_none() ? object.attr("__dlpack__")()
                                      : object.attr("__dlpack__")(py::arg("stream") = stream));
  } else if (py::hasattr(object, "__cuda_array_interface__")) {
    a = from_interface(object);
  } else {
    throw py::type_error("expected an array on the GPU (CuPy, PyTorch, JAX, or anything with DLPack), got " +
                         py::str(py::type::of(object).attr("__name__")).cast<std::string>());
  }
  check(a);
  return a;
}

py::capsule export_dlpack(const DeviceArray& a) {
  struct Exported {
    dlpack::ManagedTensor managed;
    DeviceArray array;
  };
  auto* made = new Exported{{}, a};
  made->managed.tensor = {made->array.data,         {dlpack::kCuda, a.device},  a.ndim(), to_dlpack(a.dtype),
                          made->array.shape.data(), made->array.strides.data(), 0};
  made->managed.manager = made;
  made->managed.deleter = [](dlpack::ManagedTensor* self) { delete static_cast<Exported*>(self->manager); };
  return py::capsule(&made->managed, "dltensor", [](PyObject* capsule) {
    if (!PyCapsule_IsValid(capsule, "dltensor")) return;  // somebody took it
    auto* managed = static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
    managed->deleter(managed);
  });
}

py::dict array_interface(const DeviceArray& a) {
  py::dict out;
  const auto tuple = [](const std::vector<int64>& values, int64 scale) {
    py::tuple t(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) t[i] = values[i] * scale;
    return t;
  };
  out["version"] = 3;
  out["typestr"] = type_string(a.dtype);
  out["shape"] = tuple(a.shape, 1);
  out["strides"] = tuple(a.strides, item_size(a.dtype));
  out["data"] = py::make_tuple(reinterpret_cast<std::uintptr_t>(a.data), !a.writeable);
  out["stream"] = py::none();
  return out;
}

}  // namespace diagsparse::cuda
