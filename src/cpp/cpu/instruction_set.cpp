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

// What is compiled for each set, by its number; the best of those that this processor has.
template <class F>
std::map<int, F>& compiled() {
  static auto* all = new std::map<int, F>;
  return *all;
}
template <class F>
F best_of() {
  return std::prev(compiled<F>().upper_bound(kernel_set()))->second;
}

}  // namespace

const char* const device_kind = "cpu";

int kernel_set() {
  static const int chosen = best();
  return chosen;
}

std::string instruction_set() { return names[kernel_set()]; }

RegisterReader::RegisterReader(int isa, Reader reader) { compiled<Reader>()[isa] = reader; }
Reader reader() { return best_of<Reader>(); }

RegisterAddMirrors::RegisterAddMirrors(int isa, AddMirrors add) { compiled<AddMirrors>()[isa] = add; }
AddMirrors add_mirrors() { return best_of<AddMirrors>(); }

}  // namespace diagsparse
