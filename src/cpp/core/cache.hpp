// What kernels cache with a structure between calls: lists on the device, descriptors of a library.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <typeindex>
#include <typeinfo>
#include <utility>

namespace diagsparse {

// Thread-safe. A copy starts empty, because everything in the cache can be computed again.
class Cache {
 public:
  Cache() = default;
  Cache(const Cache&) {}
  Cache(Cache&& other) noexcept : objects_(std::move(other.objects_)), nbytes_(other.nbytes_) {}
  Cache& operator=(const Cache&) { return *this; }

  // The object stored under this key; make() -> std::shared_ptr<T> creates it on the first call.
  template <class T, class Make>
  std::shared_ptr<T> get(const std::string& key, const Make& make) const {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    Object& object = objects_[key];
    if (!object.pointer) object = {make(), typeid(T)};
    if (object.type != typeid(T)) throw std::logic_error("another type is stored under " + key);
    return std::static_pointer_cast<T>(object.pointer);
  }

  // Total size of the objects whose make() reported their bytes through count().
  void count(std::int64_t bytes) const { nbytes_ += bytes; }  // to be called by make()
  std::int64_t nbytes() const {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    return nbytes_;
  }

 private:
  struct Object {
    std::shared_ptr<void> pointer;
    std::type_index type = typeid(void);
  };

  mutable std::recursive_mutex mutex_;  // make() may request another object
  mutable std::map<std::string, Object> objects_;
  mutable std::int64_t nbytes_ = 0;
};

}  // namespace diagsparse
