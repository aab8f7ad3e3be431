// Memory of the GPU: a stream-ordered pool for each device.
#include <algorithm>
#include <map>
#include <mutex>

#include "device/cuda.hpp"

namespace diagsparse {

const char* const device_kind = "cuda";
int kernel_set() { return 0; }

namespace cuda {

void fail(const char* call, const std::string& reason, const char* file, int line) {
  const std::string path = file;
  const auto inside = path.rfind("src/");  // without the path of the build
  throw Error(std::string(call) + ": " + reason + " (" + path.substr(inside == path.npos ? 0 : inside) + ":" +
              std::to_string(line) + ")");
}

void fail(const char* call, cudaError_t result, const char* file, int line) {
  cudaGetLastError();  // an error that is reported here is not reported again by the next call
  if (result == cudaErrorMemoryAllocation) throw OutOfMemory(std::string("the GPU has no memory left for ") + call);
  fail(call, cudaGetErrorString(result), file, line);
}

// ---- Memory ---------------------------------------------------------------------------------------
namespace {

std::mutex pool_mutex;
Pool& other_pool() {
  static auto* pool = new Pool;
  return *pool;
}

// This module's pool on a device. It keeps freed memory, so that the next product of the same size need not allocate.
cudaMemPool_t own_pool(int device) {
  static auto* pools = new std::map<int, cudaMemPool_t>;
  const std::lock_guard<std::mutex> lock(pool_mutex);
  cudaMemPool_t& pool = (*pools)[device];
  if (pool == nullptr) {
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location = {cudaMemLocationTypeDevice, device};
    CUDA_CALL(cudaMemPoolCreate(&pool, &props));
    std::uint64_t keep_all = ~std::uint64_t{0};
    CUDA_CALL(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_all));
  }
  return pool;
}

// The stream in which memory is freed whose own stream may not exist any more.
cudaStream_t last_stream(int device) {
  static auto* streams = new std::map<int, cudaStream_t>;
  const std::lock_guard<std::mutex> lock(pool_mutex);
  cudaStream_t& last = (*streams)[device];
  if (last == nullptr) cudaStreamCreateWithFlags(&last, cudaStreamNonBlocking);
  return last;
}

// Records which streams used a block, and frees it. Never throws, because at the end of a process CUDA may have shut
// down.
class Deleter {
 public:
  Deleter(StreamPtr home, std::shared_ptr<void> pooled) : state_(std::make_shared<State>()) {
    state_->home = std::move(home);
    state_->pooled = std::move(pooled);
  }

  void operator()(void* p) {
    if (is_forked()) return;  // the memory belongs to the other process
    const Stream& home = *state_->home;
    on_device(home.device, [&] {
      const cudaStream_t in = home.usable() ? home.handle : last_stream(home.device);
      if (!home.usable()) home.precede(in);
      for (const StreamPtr& other : state_->others) other->precede(in);
      if (!state_->pooled) cudaFreeAsync(p, in);
      else if (!home.usable()) cudaStreamSynchronize(in);  // the other library cannot order it
      state_->pooled.reset();
    });
    cudaGetLastError();
  }

  void used_on(const StreamPtr& other) const {
    if (other == state_->home) return;
    const std::lock_guard<std::mutex> lock(state_->mutex);
    auto& others = state_->others;
    if (std::find(others.begin(), others.end(), other) == others.end()) others.push_back(other);
  }

 private:
  struct State {
    StreamPtr home;
    std::shared_ptr<void> pooled;  // memory of another library's pool
    std::mutex mutex;
    std::vector<StreamPtr> others;
  };

  std::shared_ptr<State> state_;
};

std::string megabytes(std::size_t bytes) { return std::to_string(bytes / 1000000) + " MB"; }

void* allocate_from_pool(int64 bytes) {
  void* p = nullptr;
  const cudaMemPool_t pool = own_pool(current_stream()->device);
  cudaError_t result = cudaMallocFromPoolAsync(&p, bytes, pool, current_stream()->handle);
  if (result == cudaErrorMemoryAllocation) {  // blocks freed on other streams may not have been returned yet
    cudaGetLastError();
    cudaDeviceSynchronize();
    cudaMemPoolTrimTo(pool, 0);
    result = cudaMallocFromPoolAsync(&p, bytes, pool, current_stream()->handle);
  }
  if (result == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    const Free f = memory(current_stream()->device);
    throw OutOfMemory("the GPU has no free block of " + megabytes(bytes) + "; " + megabytes(f.free) + " of " +
                      megabytes(f.total) + " are free");
  }
  CUDA_CALL(result);
  return p;
}

}  // namespace

void used_on_this_stream(const Array& array) {
  if (const auto* block = std::get_deleter<Deleter>(array.owner)) block->used_on(current_stream());
}

void use_pool(Pool pool) {
  const std::lock_guard<std::mutex> lock(pool_mutex);
  other_pool() = std::move(pool);
}

Free memory(int device) {
  refuse_fork();
  std::size_t free = 0, total = 0;
  cudaError_t result = cudaSuccess;
  on_device(device, [&] { result = cudaMemGetInfo(&free, &total); });
  CUDA_CALL(result);
  std::uint64_t reserved = 0, used = 0;
  CUDA_CALL(cudaMemPoolGetAttribute(own_pool(device), cudaMemPoolAttrReservedMemCurrent, &reserved));
  CUDA_CALL(cudaMemPoolGetAttribute(own_pool(device), cudaMemPoolAttrUsedMemCurrent, &used));
  return {static_cast<int64>(free + reserved - used), static_cast<int64>(total)};
}

int64 used(int device) {
  refuse_fork();
  std::uint64_t bytes = 0;
  CUDA_CALL(cudaMemPoolGetAttribute(own_pool(device), cudaMemPoolAttrUsedMemCurrent, &bytes));
  return static_cast<int64>(bytes);
}

void trim(int device) {
  refuse_fork();
  CUDA_CALL(cudaMemPoolTrimTo(own_pool(device), 0));
}

int device_count() {
  refuse_fork();
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return count;
}

}  // namespace cuda

void use_huge_pages(void*, int64) {}

int current_device() { return cuda::current_stream() ? cuda::current_stream()->device : 0; }

std::shared_ptr<void> allocate(int64 bytes) {
  using namespace cuda;
  if (!current_stream()) throw std::logic_error("device memory outside of a call");
  bytes = std::max<int64>(bytes, 1);
  Pool pool;
  {
    const std::lock_guard<std::mutex> lock(pool_mutex);
    pool = other_pool();
  }
  if (pool) {
    std::shared_ptr<void> pooled = pool(bytes, current_stream()->device, current_stream()->handle);
    void* p = pooled.get();
    return std::shared_ptr<void>(p, Deleter(current_stream(), std::move(pooled)));
  }
  return std::shared_ptr<void>(allocate_from_pool(bytes), Deleter(current_stream(), nullptr));
}

}  // namespace diagsparse
