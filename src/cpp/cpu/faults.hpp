// The first faults in arrays that several tasks check, on the CPU.
#pragma once

#include <limits>
#include <vector>

#include "core/validation.hpp"
#include "cpu/parallel.hpp"

namespace diagsparse {

// The first position of each kind of fault. The earlier of these kinds is reported.
struct FirstFaults {
  static constexpr int64 kNone = std::numeric_limits<int64>::max();
  int64 pointers = kNone, outside = kNone, order = kNone;
  int64 lengths = kNone;  // reported as Fault::pointers, but only if all columns are valid

  static void update(int64& first, int64 at) { first = std::min(first, at); }
  void update(const FirstFaults& other) {
    update(pointers, other.pointers);
    update(outside, other.outside);
    update(order, other.order);
    update(lengths, other.lengths);
  }
  Fault fault() const {
    if (pointers < kNone) return {Fault::pointers, pointers};
    if (outside < kNone) return {Fault::outside, outside};
    if (order < kNone) return {Fault::order, order};
    return lengths < kNone ? Fault{Fault::pointers, lengths} : Fault{};
  }
};

// The fault that scan(first, last) -> FirstFaults finds in [0, count), with a task for each `chunk` elements.
template <class F>
Fault first_fault(int64 count, int64 chunk, int64 work, const F& scan) {
  std::vector<FirstFaults> found((count + chunk - 1) / chunk);
  parallel_for(static_cast<int64>(found.size()), work,
               [&](int64 t) { found[t] = scan(t * chunk, std::min(count, (t + 1) * chunk)); });
  FirstFaults all;
  for (const FirstFaults& one : found) all.update(one);
  return all.fault();
}

}  // namespace diagsparse
