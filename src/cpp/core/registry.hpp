// What kernel files register for each format, such as their tables: one for each set of kernels, of which the best is
// used.
#pragma once

#include <iterator>
#include <map>
#include <string>

#include "core/backend.hpp"

namespace diagsparse {

template <class T>
class Registry {
 public:
  static void add(const char* format, int set, T (*make)()) { factories()[format][set] = make; }

  // nullptr if nothing is registered for the format.
  static const T* find(const std::string& format) {
    static const auto* all = [] {
      auto* result = new std::map<std::string, T>;
      for (const auto& [name, by_set] : factories())
        (*result)[name] = std::prev(by_set.upper_bound(kernel_set()))->second();
      return result;
    }();
    const auto found = all->find(format);
    return found == all->end() ? nullptr : &found->second;
  }

 private:
  // Neither this map nor the one above is ever destroyed, because a daemon thread may multiply while the process exits.
  static auto& factories() {
    static auto* all = new std::map<std::string, std::map<int, T (*)()>>;
    return *all;
  }
};

}  // namespace diagsparse
