// The structures of DLPack, the exchange format of array libraries (version 0.8; dmlc.github.io/dlpack).
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

}  // namespace diagsparse::dlpack
