// CUDA as the rest of the module sees it: checked calls, the caller's stream, one owner of device memory.
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

constexpr int kSector = 32;  // bytes that memory brings at once

// A CUDA call that failed: its text, the reason, file and line.
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
inline void check(cudaError_t result, const char* call, const char* file, int line) {
  if (result != cudaSuccess) {
    cudaGetLastError();  // an error that is reported here is not reported again by the next call
    fail(call, cudaGetErrorString(result), file, line);
  }
}
#define CUDA_CALL(...) ::diagsparse::cuda::check(__VA_ARGS__, #__VA_ARGS__, __FILE__, __LINE__)

// ---- Streams --------------------------------------------------------------------------------------
// A stream of the caller's; `keep` is the Python object that owns it, held while memory depends on the stream.
struct Stream {
  cudaStream_t handle = nullptr;
  int device = 0;
  std::shared_ptr<void> keep;
};
using StreamPtr = std::shared_ptr<const Stream>;

// The Stream for this handle while anything holds it; nullptr when it was not seen before.
StreamPtr find_stream(int device, cudaStream_t handle);
StreamPtr remember_stream(int device, cudaStream_t handle, std::shared_ptr<void> keep);

// The thread's device and stream, from here to the end of the scope.
class OnStream {
 public:
  explicit OnStream(StreamPtr stream);
  ~OnStream();
  OnStream(const OnStream&) = delete;

 private:
  StreamPtr before_;
  int device_before_ = 0;
};
cudaStream_t stream();  // the one in use on this thread

// ---- Memory ---------------------------------------------------------------------------------------
// allocate() takes stream-ordered memory from a pool of this module, or from another library's (use_pool).
// It is given back in the order of the stream that it was taken on, after the work of every other stream that
// used_on() was told of. So a block may be freed on any thread, at any time.
void used_on_this_stream(const Array& array);

// Another library's memory: called with the bytes, device and stream; the result's life is the memory's.
using Pool = std::function<std::shared_ptr<void>(int64 bytes, int device, cudaStream_t stream)>;
void use_pool(Pool pool);  // an empty one: this module's own

struct Free {
  int64 free, total;
};
Free memory(int device);  // what can be taken, the pool's unused memory included
int64 used(int device);   // what blocks of this module's pool take
void trim(int device);    // gives the pool's unused memory back to the system

int device_count();  // 0 where none answers

}  // namespace diagsparse::cuda
