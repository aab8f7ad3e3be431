// The instruction sets of the CPU: the kernels are compiled for each, and the best that this processor has is used.
#include <cstdlib>
#include <iterator>
#include <map>

#include "core/backend.hpp"
#include "cpu/measure.hpp"
#include "cpu/mirror_sums.hpp"

namespace diagsparse {

namespace {

constexpr const char* names[] = {"portable", "avx2", "avx512"};

int best() {
  int best = 0;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) best = 1;
  if (best == 1 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
    best = 2;
  }
#endif
  if (const char* wanted = std::getenv("DIAGSPARSE_ISA")) {
    for (int i = 0; i <= best; ++i) {
      if (std::string(wanted) == names[i]) return i;
    }
  }
  return best;
}

template <class Function>
std::map<int, Function>& compiled() {  // by the numbers of sets
  static auto* all = new std::map<int, Function>;
  return *all;
}

}  // namespace

const char* const device_kind = "cpu";

int kernel_set() {
  static const int chosen = best();
  return chosen;
}

std::string instruction_set() { return names[kernel_set()]; }

template <class Function>
ForEachSet<Function>::ForEachSet(int isa, Function function) {
  compiled<Function>()[isa] = function;
}

template <class Function>
Function ForEachSet<Function>::best() {
  return std::prev(compiled<Function>().upper_bound(kernel_set()))->second;
}

template struct ForEachSet<Reader>;
template struct ForEachSet<AddMirrors>;

}  // namespace diagsparse
