// Functions that are compiled for each instruction set, of which the best that this processor has is taken.
#pragma once

namespace diagsparse {

// One static object of each set makes its function known. src/cpp/cpu/instruction_set.cpp names the types.
template <class Function>
struct ForEachSet {
  ForEachSet(int isa, Function function);
  static Function best();
};

}  // namespace diagsparse
