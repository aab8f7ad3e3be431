// Exchange of GPU arrays with Python.
#include "bind/exchange.hpp"

#include <pybind11/stl.h>

#include <algorithm>

#include "bind/python_lock.hpp"

namespace py = pybind11;

namespace diagsparse::cuda {

namespace {

[[noreturn]] void refuse_type(const std::string& name) {
  std::string known;
  for (const TypeName& t : kTypes) known += std::string(known.empty() ? "" : ", ") + t.name;
  throw py::type_error("arrays of type " + name + " are not supported; expected one of " + known);
}

// DLPack's codes of the kinds of types.
constexpr std::pair<char, std::uint8_t> kKinds[] = {
    {'f', dlpack::kFloat}, {'c', dlpack::kComplex}, {'b', dlpack::kBfloat}, {'i', dlpack::kInt}, {'u', dlpack::kUInt}};

DType from_dlpack(dlpack::DataType t) {
  for (const auto& [kind, code] : kKinds) {
    if (t.lanes != 1 || t.code != code || t.bits % 8 != 0) continue;
    if (const std::optional<DType> known = find_dtype(kind, t.bits / 8)) return *known;
  }
  static const char* names[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
  refuse_type((t.code < 7 ? names[t.code] : "other") + (t.code == dlpack::kBool ? "" : std::to_string(t.bits)));
}

dlpack::DataType to_dlpack(DType t) {
  const TypeName& type = kTypes[static_cast<int>(t)];
  const auto* kind = std::find_if(std::begin(kKinds), std::end(kKinds), [&](auto& k) { return k.first == type.kind; });
  return {kind->second, static_cast<std::uint8_t>(8 * type.size), 1};
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
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");  // we own it from here on
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

bool of_type(dlpack::DataType theirs, DType ours) {
  const dlpack::DataType wanted = to_dlpack(ours);
  return theirs.code == wanted.code && theirs.bits == wanted.bits && theirs.lanes == wanted.lanes;
}

DType dtype_of_name(const std::string& name) {
  if (const std::optional<DType> known = find_dtype(name)) return *known;
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
  auto* result = new Exported{{}, a};
  result->managed.tensor = {result->array.data,         {dlpack::kCuda, a.device},    a.ndim(), to_dlpack(a.dtype),
                            result->array.shape.data(), result->array.strides.data(), 0};
  result->managed.manager = result;
  result->managed.deleter = [](dlpack::ManagedTensor* self) { delete static_cast<Exported*>(self->manager); };
  return py::capsule(&result->managed, "dltensor", [](PyObject* capsule) {
    if (!PyCapsule_IsValid(capsule, "dltensor")) return;  // a consumer owns it now
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
  const TypeName& type = kTypes[static_cast<int>(a.dtype)];
  out["typestr"] = type.kind == 'b' ? type.name : std::string("<") + type.kind + std::to_string(type.size);
  out["shape"] = tuple(a.shape, 1);
  out["strides"] = tuple(a.strides, item_size(a.dtype));
  out["data"] = py::make_tuple(reinterpret_cast<std::uintptr_t>(a.data), !a.writeable);
  out["stream"] = py::none();
  return out;
}

}  // namespace diagsparse::cuda
