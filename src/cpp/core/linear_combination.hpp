// Linear combinations of matrices whose coefficients change: the values of one matrix as sums of those of several
// terms, each times its coefficient, in one pass.
//
// The values are divided into runs, each of which has the same terms:
//   out[run.first + i] = sum of coefficient[piece.term] * values[piece.term][piece.start + i],   0 <= i < run.length,
// over the pieces from run.begin to run.end, in this order. Values in no run keep what they are.
#pragma once

#include <vector>

#include "core/matrix.hpp"

namespace diagsparse {

struct CombinedRun {
  std::int64_t first, length, begin, end;
};
struct CombinedPiece {
  std::int64_t start, term;
};

// A coefficient: a number, or an element of an array in the memory of the device, which kernels read.
struct Coefficient {
  double re, im;
  const void* element;  // null for a number
  DType dtype;          // of the element
  bool is_real;
};

class LinearCombination {
 public:
  // The values of each term are of one of the value types, real or complex, in the same precision. Throws
  // std::invalid_argument if a run or a piece is outside of them.
  LinearCombination(StructurePtr structure, std::vector<Array> terms, const std::vector<CombinedRun>& runs,
                    const std::vector<CombinedPiece>& pieces);

  // Fills the values of a matrix with the structure of the combination.
  void fill(const Matrix& out, const std::vector<Coefficient>& coefficients) const;

  int64 nbytes() const { return nbytes_; }

 private:
  // Terms that one kernel adds, and parts of the runs of at most kCombinedTile values, with the pieces of these terms.
  struct Group {
    int64 first = 0, count = 0;  // terms
    Array tiles, pieces;         // CombinedRun, CombinedPiece
    int64 tile_count = 0;
  };

  // Implemented by each backend: adds the terms of a group; the first group overwrites the values.
  void add(const Group& group, const Matrix& out, const Coefficient* coefficients) const;

  StructurePtr structure_;
  std::vector<Array> terms_;
  Array sources_;  // CombinedSource of each term
  std::vector<Group> groups_;
  int64 nbytes_ = 0;
};

// The values of a term as kernels read them.
struct CombinedSource {
  const void* values;
  std::int64_t is_real;
};

constexpr int64 kCombinedTile = 2048;  // values that a task or a thread block computes
constexpr int64 kCombinedTerms = 64;   // of a group

}  // namespace diagsparse
