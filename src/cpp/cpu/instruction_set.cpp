// The instruction sets of the CPU. The kernels are compiled for several (CMakeLists.txt); the best one that the
// processor supports is used.
#include <cstdlib>
#include <iterator>
#include <map>
#include <vector>

#include "core/backend.hpp"
#include "cpu/measure.hpp"
#include "cpu/mirror_sums.hpp"
#include "cpu/multigrid.hpp"
#include "cpu/squares.hpp"
#include "cpu/triangle.hpp"

namespace diagsparse {

namespace {

constexpr const char* names[] = {"portable", "avx2", "avx512"};

// The indices of the compiled sets that this processor supports, ascending.
std::vector<int> usable() {
  std::vector<int> sets{0};
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#if defined(DIAGSPARSE_AVX2)
  if (avx2) sets.push_back(1);
#endif
#if defined(DIAGSPARSE_AVX512)
  if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
    sets.push_back(2);
  }
#endif
  static_cast<void>(avx2);
#endif
  return sets;
}

int best() {
  const std::vector<int> sets = usable();
  if (const char* requested = std::getenv("DIAGSPARSE_ISA")) {
    for (const int set : sets) {
      if (std::string(requested) == names[set]) return set;
    }
  }
  return sets.back();
}

template <class Function>
std::map<int, Function>& compiled() {  // by index of the set
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

std::vector<std::string> instruction_sets() {
  std::vector<std::string> all;
  for (const int set : usable()) all.emplace_back(names[set]);
  return all;
}

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
template struct ForEachSet<SumOfSquares>;
template struct ForEachSet<multigrid::Cycle<float>>;
template struct ForEachSet<multigrid::Cycle<double>>;
template struct ForEachSet<multigrid::LineSmoother<float>>;
template struct ForEachSet<multigrid::LineSmoother<double>>;
template struct ForEachSet<triangles::Solve<float>>;
template struct ForEachSet<triangles::Solve<double>>;
template struct ForEachSet<triangles::Solve<Complex<float>>>;
template struct ForEachSet<triangles::Solve<Complex<double>>>;

}  // namespace diagsparse
