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

// ---- Streams --------------------------------------------------------------------------------------
namespace {

using StreamKey = std::pair<int, cudaStream_t>;
std::mutex streams_mutex;
auto& streams() {
  static auto* known = new std::map<StreamKey, std::weak_ptr<const Stream>>;
  return *known;
}

thread_local StreamPtr current;

}  // namespace

StreamPtr find_stream(int device, cudaStream_t handle) {
  const std::lock_guard<std::mutex> lock(streams_mutex);
  const auto found = streams().find({device, handle});
  return found == streams().end() ? nullptr : found->second.lock();
}

StreamPtr remember_stream(int device, cudaStream_t handle, std::shared_ptr<void> keep) {
  auto built = std::make_shared<const Stream>(Stream{handle, device, std::move(keep)});
  const std::lock_guard<std::mutex> lock(streams_mutex);
  streams()[{device, handle}] = built;
  return built;
}

OnStream::OnStream(StreamPtr wanted) : before_(std::move(current)) {
  CUDA_CALL(cudaGetDevice(&device_before_));
  if (wanted->device != device_before_) CUDA_CALL(cudaSetDevice(wanted->device));
  current = std::move(wanted);
}

OnStream::~OnStream() {
  if (current->device != device_before_) cudaSetDevice(device_before_);
  current = std::move(before_);
}

cudaStream_t stream() { return current ? current->handle : nullptr; }

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

// Records which streams used a block, and frees it. Never throws, because at the end of a process CUDA may have shut
// down.
class Deleter {
 public:
  Deleter(StreamPtr home, std::shared_ptr<void> pooled) : state_(std::make_shared<State>()) {
    state_->home = std::move(home);
    state_->pooled = std::move(pooled);
  }

  void operator()(void* p) {
    int before = 0;
    cudaGetDevice(&before);
    if (before != state_->home->device) cudaSetDevice(state_->home->device);
    for (const StreamPtr& other : state_->others) order(other->handle, state_->home->handle);
    if (state_->pooled) state_->pooled.reset();
    else cudaFreeAsync(p, state_->home->handle);
    if (before != state_->home->device) cudaSetDevice(before);
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

  // Later work of `after` waits for all work that was submitted to `before` so far.
  static void order(cudaStream_t before, cudaStream_t after) {
    cudaEvent_t event;
    if (cudaEventCreateWithFlags(&event, cudaEventDisableTiming) != cudaSuccess) return;
    cudaEventRecord(event, before);
    cudaStreamWaitEvent(after, event, 0);
    cudaEventDestroy(event);
  }

  std::shared_ptr<State> state_;
};

std::string megabytes(std::size_t bytes) { return std::to_string(bytes / 1000000) + " MB"; }

void* allocate_from_pool(int64 bytes) {
  void* p = nullptr;
  const cudaMemPool_t pool = own_pool(current->device);
  cudaError_t result = cudaMallocFromPoolAsync(&p, bytes, pool, current->handle);
  if (result == cudaErrorMemoryAllocation) {  // blocks freed on other streams may not have been returned yet
    cudaGetLastError();
    cudaDeviceSynchronize();
    cudaMemPoolTrimTo(pool, 0);
    result = cudaMallocFromPoolAsync(&p, bytes, pool, current->handle);
  }
  if (result == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    const Free f = memory(current->device);
    throw OutOfMemory("the GPU has no free block of " + megabytes(bytes) + "; " + megabytes(f.free) + " of " +
                      megabytes(f.total) + " are free");
  }
  CUDA_CALL(result);
  return p;
}

}  // namespace

void used_on_this_stream(const Array& array) {
  if (const auto* block = std::get_deleter<Deleter>(array.owner)) block->used_on(current);
}

void use_pool(Pool pool) {
  const std::lock_guard<std::mutex> lock(pool_mutex);
  other_pool() = std::move(pool);
}

Free memory(int device) {
  int before = 0;
  CUDA_CALL(cudaGetDevice(&before));
  CUDA_CALL(cudaSetDevice(device));
  std::size_t free = 0, total = 0;
  const cudaError_t result = cudaMemGetInfo(&free, &total);
  CUDA_CALL(cudaSetDevice(before));
  CUDA_CALL(result);
  std::uint64_t reserved = 0, used = 0;
  CUDA_CALL(cudaMemPoolGetAttribute(own_pool(device), cudaMemPoolAttrReservedMemCurrent, &reserved));
  CUDA_CALL(cudaMemPoolGetAttribute(own_pool(device), cudaMemPoolAttrUsedMemCurrent, &used));
  return {static_cast<int64>(free + reserved - used), static_cast<int64>(total)};
}

int64 used(int device) {
  std::uint64_t bytes = 0;
  CUDA_CALL(cudaMemPoolGetAttribute(own_pool(device), cudaMemPoolAttrUsedMemCurrent, &bytes));
  return static_cast<int64>(bytes);
}

void trim(int device) { CUDA_CALL(cudaMemPoolTrimTo(own_pool(device), 0)); }

int device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return count;
}

}  // namespace cuda

int current_device() { return cuda::current ? cuda::current->device : 0; }

std::shared_ptr<void> allocate(int64 bytes) {
  using namespace cuda;
  if (!current) throw std::logic_error("device memory outside of a call");
  bytes = std::max<int64>(bytes, 1);
  Pool pool;
  {
    const std::lock_guard<std::mutex> lock(pool_mutex);
    pool = other_pool();
  }
  if (pool) {
    std::shared_ptr<void> pooled = pool(bytes, current->device, current->handle);
    void* p = pooled.get();
    return std::shared_ptr<void>(p, Deleter(current, std::move(pooled)));
  }
  return std::shared_ptr<void>(allocate_from_pool(bytes), Deleter(current, nullptr));
}

}  // namespace diagsparse
