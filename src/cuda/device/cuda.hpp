// CUDA in the form that the rest of the module uses: checked calls, the caller's stream, one owner of device memory.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/array.hpp"

namespace diagsparse::cuda {

constexpr int kSector = 32;  // bytes per memory transaction

// A CUDA call that failed: the call, the reason, file and line.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class OutOfMemory : public std::bad_alloc {
 public:
  explicit OutOfMemory(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

[[noreturn]] void fail(const char* call, const std::string& reason, const char* file, int line);
[[noreturn]] void fail(const char* call, cudaError_t result, const char* file, int line);  // or throws OutOfMemory
inline void check(cudaError_t result, const char* call, const char* file, int line) {
  if (result != cudaSuccess) fail(call, result, file, line);
}
#define CUDA_CALL(...) ::diagsparse::cuda::check(__VA_ARGS__, #__VA_ARGS__, __FILE__, __LINE__)

// Whether the process was forked after CUDA had been used: CUDA does not work in it.
bool is_forked();
void refuse_fork();  // throws Error

// ---- Streams --------------------------------------------------------------------------------------
// A stream of the caller; `keep` is the Python object that owns it, referenced as long as memory depends on the stream.
// A stream without such an object may be destroyed at any time after a call: its handle is used in calls only.
struct Stream {
  Stream(int of_device, cudaStream_t of_handle, std::shared_ptr<void> owner);
  ~Stream();
  Stream(const Stream&) = delete;

  bool lasting() const { return handle == nullptr || keep != nullptr; }
  bool usable() const;                     // here and now
  void mark() const;                       // at the end of a call
  void precede(cudaStream_t other) const;  // later work of another stream waits for all that was submitted to this one

  cudaStream_t handle;
  int device;
  std::shared_ptr<void> keep;

 private:
  cudaEvent_t submitted_ = nullptr;  // the work at the end of the last call, if the stream is not lasting
};
using StreamPtr = std::shared_ptr<const Stream>;

// The Stream of this handle as long as any object holds it; nullptr if it is not known.
StreamPtr find_stream(int device, cudaStream_t handle);
StreamPtr remember_stream(int device, cudaStream_t handle, std::shared_ptr<void> keep);

// Sets the thread's device and stream until the end of the scope.
class OnStream {
 public:
  explicit OnStream(StreamPtr stream);
  ~OnStream();
  OnStream(const OnStream&) = delete;

 private:
  StreamPtr before_;
  int device_before_ = 0;
};
const StreamPtr& current_stream();  // of this thread; nullptr outside of calls
cudaStream_t stream();              // its handle

// Calls f() with a device as the current one.
template <class F>
void on_device(int device, const F& f) {
  int before = 0;
  cudaGetDevice(&before);
  if (before != device) cudaSetDevice(device);
  f();
  if (before != device) cudaSetDevice(before);
}

// ---- Memory ---------------------------------------------------------------------------------------
// allocate() returns stream-ordered memory from a pool of this module, or of another library (use_pool). It is freed in
// the order of the stream on which it was allocated, after the work of all other streams for which used_on() was
// called. So a block may be freed on any thread, at any time.
void used_on_this_stream(const Array& array);

// Allocates memory of another library, given the bytes, device and stream; the memory lives as long as the result.
using Pool = std::function<std::shared_ptr<void>(int64 bytes, int device, cudaStream_t stream)>;
void use_pool(Pool pool);  // an empty one: this module's own pool

struct Free {
  int64 free, total;
};
Free memory(int device);  // what can be allocated, including unused memory of the pool
int64 used(int device);   // bytes in use in this module's pool
void trim(int device);    // returns unused memory of the pool to the system

int device_count();  // 0 if there is no driver

}  // namespace diagsparse::cuda
