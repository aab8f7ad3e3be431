// Functions that are compiled for each instruction set; the best one that this processor supports is used.
#pragma once

namespace diagsparse {

// A static object for each set registers its function. The types are instantiated in src/cpp/cpu/instruction_set.cpp.
template <class Function>
struct ForEachSet {
  ForEachSet(int isa, Function function);
  static Function best();
};

}  // namespace diagsparse
