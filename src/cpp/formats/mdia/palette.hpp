// Palettes of masked diagonals (formats/mdia/layout.hpp): tables of the different values of a diagonal, and codes.
#pragma once

#include "formats/mdia/layout.hpp"

namespace diagsparse {

constexpr int64 kMostColors = 256;  // values of a table

constexpr int code_bits(int64 colors) {
  return colors == 0 ? -1 : colors == 1 ? 0 : colors == 2 ? 1 : colors <= 4 ? 2 : colors <= 16 ? 4 : 8;
}

// The bits of a value. Values are the same if they have the same bits, so -0 is not 0, and a NaN is itself. Tables are
// sorted by these bits, so that they do not depend on the device.
template <int Bytes>
struct ValueBits {
  using Word =
      std::conditional_t<Bytes == 2, std::uint16_t, std::conditional_t<Bytes == 4, std::uint32_t, std::uint64_t>>;
  static constexpr int count = Bytes / static_cast<int>(sizeof(Word));
  Word words[count];

  constexpr bool operator==(const ValueBits& other) const {
    for (int k = 0; k < count; ++k) {
      if (words[k] != other.words[k]) return false;
    }
    return true;
  }
  constexpr bool operator<(const ValueBits& other) const {
    for (int k = 0; k < count; ++k) {
      if (words[k] != other.words[k]) return words[k] < other.words[k];
    }
    return false;
  }
};
// The position of a value in a sorted table that has it.
template <int Bytes>
constexpr std::uint32_t position_in(const ValueBits<Bytes>* table, std::uint32_t count, const ValueBits<Bytes>& value) {
  std::uint32_t first = 0;
  while (count > 1) {
    const std::uint32_t half = count / 2;
    if (!(value < table[first + half])) first += half, count -= half;
    else count = half;
  }
  return first;
}
// Calls f(ValueBits<item_size>{}).
template <class F>
auto with_bits(DType dtype, const F& f) {
  switch (item_size(dtype)) {
    case 2: return f(ValueBits<2>{});
    case 4: return f(ValueBits<4>{});
    case 8: return f(ValueBits<8>{});
    default: return f(ValueBits<16>{});
  }
}

// Whether a matrix gets a palette: never, for each diagonal that it makes smaller, or only if it makes the matrix much
// smaller and the matrix is not small already. In the last case, diagonals of more than two values get no table if they
// have more than a quarter of the elements, because a CPU needs longer to look up a value than to read it.
enum class Palette { never, always, automatic };
Matrix with_palette(const Matrix& m, Palette wanted);
// The same matrix with its values stored one by one; the matrix itself if it has no palette.
Matrix without_palette(const Matrix& m);
// How diagonals with these tables are stored.
std::vector<Coding> codings_for(const std::vector<int64>& table_indptr);
std::vector<int64> table_pointers(const Indices& arrays);  // table_indptr, on the host
// The number of words of the codes of a block; throws std::invalid_argument if table_indptr is invalid.
int64 code_words(const std::string& format, const Indices& arrays, int64 diagonals);

// The number of different values on each occupied diagonal of a csr matrix; 0 for those that have too many for a table,
// and for all if there are more than 4096.
std::vector<int64> colors_on_diagonals(const Matrix& csr);

// ---- Implemented by each backend -----------------------------------------------------------------------------------
// The elements of a diagonal, and the bytes of its different values in any order; empty if there are too many.
struct DistinctValues {
  int64 elements = 0;
  std::vector<char> values;
};
std::vector<DistinctValues> distinct_values(const Matrix& plain);
// Writes the codes, which are 0 before, and those values of a matrix with a palette that are stored one by one.
void encode(const Matrix& plain, const Matrix& coded);
void decode(const Matrix& coded, const Matrix& plain);  // writes the values
// The same as colors_on_diagonals, for the diagonals of these offsets.
std::vector<int64> count_colors(const Matrix& csr, const std::vector<int64>& offsets);

}  // namespace diagsparse
