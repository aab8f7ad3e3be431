// The streams of callers, and processes in which CUDA works.
#include <pthread.h>

#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "device/cuda.hpp"

namespace diagsparse::cuda {

// ---- Processes ------------------------------------------------------------------------------------
namespace {

std::atomic<bool> cuda_used{false}, forked_after_use{false};
[[maybe_unused]] const int at_fork = pthread_atfork(nullptr, nullptr, [] { forked_after_use = cuda_used.load(); });

}  // namespace

bool is_forked() { return forked_after_use.load(std::memory_order_relaxed); }

void refuse_fork() {
  if (is_forked()) {
    throw Error(
        "this process was forked after CUDA had been used, and CUDA does not work in it: create processes with "
        "multiprocessing.get_context(\"spawn\"), or before the first use of the GPU");
  }
  cuda_used.store(true, std::memory_order_relaxed);
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
  auto built = std::make_shared<const Stream>(device, handle, std::move(keep));
  const std::lock_guard<std::mutex> lock(streams_mutex);
  streams()[{device, handle}] = built;
  return built;
}

Stream::Stream(int of_device, cudaStream_t of_handle, std::shared_ptr<void> owner)
    : handle(of_handle), device(of_device), keep(std::move(owner)) {
  if (lasting()) return;
  cudaError_t result = cudaSuccess;
  on_device(device, [&] { result = cudaEventCreateWithFlags(&submitted_, cudaEventDisableTiming); });
  CUDA_CALL(result);
}

Stream::~Stream() {
  if (submitted_ != nullptr && !is_forked()) cudaEventDestroy(submitted_);
}

bool Stream::usable() const { return lasting() || this == current.get(); }

// If the handle is that of a stream that was destroyed, the event covers the work of both.
void Stream::mark() const {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (lasting() || cudaStreamIsCapturing(handle, &status) != cudaSuccess || status != cudaStreamCaptureStatusNone) {
    return;
  }
  cudaStreamWaitEvent(handle, submitted_, 0);
  cudaEventRecord(submitted_, handle);
}

void Stream::precede(cudaStream_t other) const {
  if (!usable()) {
    cudaStreamWaitEvent(other, submitted_, 0);
    return;
  }
  cudaEvent_t event;
  if (cudaEventCreateWithFlags(&event, cudaEventDisableTiming) != cudaSuccess) return;
  cudaEventRecord(event, handle);
  cudaStreamWaitEvent(other, event, 0);
  cudaEventDestroy(event);
}

OnStream::OnStream(StreamPtr wanted) {
  CUDA_CALL(cudaGetDevice(&device_before_));
  if (wanted->device != device_before_) CUDA_CALL(cudaSetDevice(wanted->device));
  before_ = std::exchange(current, std::move(wanted));
}

OnStream::~OnStream() {
  current->mark();
  if (current->device != device_before_) cudaSetDevice(device_before_);
  current = std::move(before_);
}

const StreamPtr& current_stream() { return current; }
cudaStream_t stream() { return current ? current->handle : nullptr; }

}  // namespace diagsparse::cuda
