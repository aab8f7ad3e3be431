// Sorted keys: CUB's sorts and sums.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_sort.cuh>

#include "entries/sorted_keys.cuh"

namespace diagsparse::cuda {

namespace {

// Runs a CUB algorithm: once for the size of its workspace, once for the work.
template <class F>
void run(const char* name, const F& algorithm) {
  std::size_t bytes = 0;
  check(algorithm(nullptr, bytes), name, __FILE__, __LINE__);
  const std::shared_ptr<void> workspace = allocate(static_cast<int64>(bytes));
  check(algorithm(workspace.get(), bytes), name, __FILE__, __LINE__);
}

// Sorts in two buffers, which alternate. The other workspace is small: less than a byte for each key.
template <class F>
void sort_alternating(const char* name, Keys& keys, const F& algorithm) {
  if (keys.count < 2) return;
  const Keys other(keys.count);
  cub::DoubleBuffer<Key> key(keys.key(), other.key());
  cub::DoubleBuffer<int64> position(keys.position(), other.position());
  run(name, [&](void* workspace, std::size_t& bytes) { return algorithm(workspace, bytes, key, position); });
  if (key.selector) keys.keys = other.keys;
  if (position.selector) keys.positions = other.positions;
}

}  // namespace

void sort(Keys& keys, int bits) {
  sort_alternating("sort", keys, [&](void* workspace, std::size_t& bytes, auto& key, auto& position) {
    return cub::DeviceRadixSort::SortPairs(workspace, bytes, key, position, keys.count, 0, bits, stream());
  });
}

void sort_segments(Keys& keys, const std::int64_t* begin, int64 segments) {
  sort_alternating("sort segments", keys, [&](void* workspace, std::size_t& bytes, auto& key, auto& position) {
    return cub::DeviceSegmentedSort::StableSortPairs(workspace, bytes, key, position, keys.count, segments, begin,
                                                     begin + 1, stream());
  });
}

template <class K>
Sorted<K> sorted_by(const K* keys, const std::uint32_t* numbers, int64 count, int bits) {
  const Sorted<K> result{allocate(count * sizeof(K)), allocate(4 * count)};
  run("sort", [&](void* workspace, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(workspace, bytes, keys, static_cast<K*>(result.keys.get()), numbers,
                                           static_cast<std::uint32_t*>(result.numbers.get()), count, 0, bits, stream());
  });
  return result;
}
template Sorted<std::uint32_t> sorted_by(const std::uint32_t*, const std::uint32_t*, int64, int);
template Sorted<Key> sorted_by(const Key*, const std::uint32_t*, int64, int);

void sort_keys(std::shared_ptr<void>& keys, int64 count, int bits) {
  if (count < 2) return;
  const std::shared_ptr<void> other = allocate(8 * count);
  cub::DoubleBuffer<Key> key(static_cast<Key*>(keys.get()), static_cast<Key*>(other.get()));
  run("sort", [&](void* workspace, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(workspace, bytes, key, count, 0, bits, stream());
  });
  if (key.selector) keys = other;
}

void running_sum(const std::int64_t* in, std::int64_t* out, int64 n) {
  if (n == 0) return;
  run("sum", [&](void* workspace, std::size_t& bytes) {
    return cub::DeviceScan::InclusiveSum(workspace, bytes, in, out, n, stream());
  });
}

int64 inclusive_sum(const std::int64_t* in, std::int64_t* out, int64 n) {
  if (n == 0) return 0;
  running_sum(in, out, n);
  return download(out + n - 1, 1)[0];
}

}  // namespace diagsparse::cuda
