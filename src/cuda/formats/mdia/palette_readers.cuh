// How the kernel for all matrices (formats/mdia/matvec.cu) reads a palette: what the lanes list of a diagonal, and how
// they look up the values of their rows.
#pragma once

#include "formats/mdia/masks.cuh"

namespace diagsparse::cuda::mdia {

namespace {

// In the order in which A is stored.
template <class U>
class PaletteInOrder {
  using Value = decltype(arithmetic(U{}));

 public:
  static constexpr bool in_order = false, has_codes = false;
  struct alignas(16) Listed {
    std::int64_t step;
    std::int64_t first;  // the position of the table, or of the first value that is stored
    Mask rows;
    std::uint32_t word;
    std::int32_t bits;

    __device__ int64 across() const { return step; }
    __device__ Value value(const PaletteInOrder& here, Mask lower) const {
      std::int64_t position = first;
      if (bits > 0) {
        const int bit = static_cast<int>(threadIdx.x % 32) * bits;
        position += load(here.codes_ + (word + (bit >> 5))) >> (bit & 31) & ((1u << bits) - 1);
      } else if (bits < 0) {
        position += __popc(rows & lower);
      }
      return conjugate_if(here.a_.conj, arithmetic(load(here.a_.a.a.values + position)));
    }
  };
  struct Matrix {
    MaskedOperand<U> a;
    bool conj;
    __device__ int64 diagonals() const { return a.a.diagonals; }
    __device__ int64 rows() const { return a.a.rows; }
  };

  __device__ PaletteInOrder(const Matrix& a, int64 block)
      : a_(a), block_(block), codes_(a.a.a.codes + block * a.a.a.words) {}

  __device__ Listed examine(int64 base, int lane, int64 row_bytes) {
    const Mdia<U>& a = a_.a.a;
    const int64 d = base + lane, at = block_ * a.diagonals + d;
    if (d >= a.diagonals) return {};
    const Mask rows = a.mask[at];
    const Coding coding = a.codings[d];
    std::int64_t first = coding.table;
    if (coding.is_stored() && rows != 0) first = a.begin[block_] + a_.a.positions[at];
    return {a.offsets[d] * row_bytes, first, rows, coding.word, coding.bits};
  }

 private:
  const Matrix& a_;
  int64 block_;
  const std::uint32_t* codes_;
};

// Of any op(A). The codes of several diagonals are loaded first, so that these loads are on their way together.
template <class U>
class PaletteByElement {
  using Value = decltype(arithmetic(U{}));

 public:
  static constexpr bool in_order = false, has_codes = true;
  struct alignas(16) Listed {
    std::int64_t step, table;
    std::int64_t ahead;  // from the row of op(A) to the row in which A stores the element
    Value one;           // if there is one value
    Mask rows;
    std::uint32_t word;
    std::int32_t bits, number;
    bool conj;

    __device__ std::int64_t across() const { return step; }
    __device__ std::int64_t stored_row(const PaletteByElement& here) const {
      return kMaskRows * here.block_ + threadIdx.x % 32 + ahead;
    }
    __device__ int bit(std::int64_t row) const { return static_cast<int>(row & (kMaskRows - 1)) * bits; }
    __device__ std::uint32_t codes(const PaletteByElement& here) const {
      const std::int64_t row = stored_row(here), block = row >> kMaskShift;
      return bits > 0 ? load(here.a_.a.a.codes + block * here.a_.a.a.words + (word + (bit(row) >> 5))) : 0;
    }
    __device__ Value value(const PaletteByElement& here, Mask, std::uint32_t codes) const {
      if (bits == 0) return one;
      const std::int64_t row = stored_row(here);
      if (bits < 0) return conjugate_if(conj, arithmetic(here.a_.a.stored_value(number, row)));
      const std::uint32_t code = codes >> (bit(row) & 31) & ((1u << bits) - 1);
      return conjugate_if(conj, arithmetic(load(here.a_.a.a.values + (table + code))));
    }
  };
  using Matrix = OperandByDiagonals<U>;

  __device__ PaletteByElement(const Matrix& a, int64 block) : a_(a), block_(block) {}

  __device__ Listed examine(int64 base, int lane, int64 row_bytes) {
    if (base + lane >= a_.count) return {};
    const MaskedDiagonal d = a_.diagonal[base + lane];
    const Mask rows = a_.a.mask(d, kMaskRows * block_);
    const Coding coding = a_.a.a.codings[d.number];
    Listed mine{d.offset * row_bytes,
                coding.table,
                d.is_transposed ? d.offset : 0,
                {},
                rows,
                coding.word,
                coding.bits,
                d.number,
                d.conjugated};
    if (coding.bits == 0) mine.one = conjugate_if(d.conjugated, arithmetic(load(a_.a.a.values + coding.table)));
    return mine;
  }

 private:
  const Matrix& a_;
  int64 block_;
};

}  // namespace

}  // namespace diagsparse::cuda::mdia
