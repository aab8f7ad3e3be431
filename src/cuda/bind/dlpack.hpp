// The structures of DLPack, the exchange format of array libraries (dmlc.github.io/dlpack; version 0.8, and from 1.3
// the functions that exchange arrays without Python).
#pragma once

#include <cstdint>

namespace diagsparse::dlpack {

enum DeviceType : std::int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13 };
struct Device {
  std::int32_t type, id;
};
enum TypeCode : std::uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6 };
struct DataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; nullptr: C order
  std::uint64_t byte_offset;
};
struct ManagedTensor {
  Tensor tensor;
  void* manager;
  void (*deleter)(ManagedTensor* self);
};

// The contents of the capsule `dlpack_exchange_api` in the attribute `__dlpack_c_exchange_api__` of an array type. The
// functions return 0, or -1 with a Python error.
struct ExchangeApi {
  struct {
    std::uint32_t major, minor;
  } version;
  ExchangeApi* previous;
  int (*allocate)(Tensor* prototype, void** out, void* error, void (*set_error)(void*, const char*, const char*));
  int (*managed_from_object)(void* object, void** out);
  int (*managed_to_object)(void* managed, void** out);
  int (*tensor_from_object)(void* object, Tensor* out);  // does not own the memory: valid while the object lives
  int (*current_stream)(std::int32_t device_type, std::int32_t device, void** out);
};

}  // namespace diagsparse::dlpack
