// The structure of a product of blocks on the CPU, and blocks column by column.
#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "core/compressed_rows.hpp"
#include "cpu/parallel.hpp"
#include "formats/bmsparse/layout.hpp"
#include "formats/bmsparse/products.hpp"

namespace diagsparse {

namespace {

// An operand as it is read here.
struct Blocks {
  Csr<char> rows;
  const std::int32_t* number;
  const Bitmap* stored;
  bool turn;

  explicit Blocks(const BlockOperand& of)
      : rows{of.rows, of.cols, of.indptr.as<int64>(), of.col.as<std::int32_t>(), nullptr},
        number(of.number),
        stored(Bmsparse<char>::over(of.structure, nullptr).bitmap),
        turn(of.op.transposed) {}

  std::int32_t block(int64 e) const { return number ? number[e] : static_cast<std::int32_t>(e); }
  Bitmap bitmap(int64 e) const { return turned_if(turn, stored[block(e)]); }
};

// Calls f(s, e, g) for each entry e of A's row i and each entry g of the row of B that it picks, whose column is that
// of entry s of C's row. Where that row reaches over no more columns than `places` has room for, they are looked up.
template <class F>
void each_pair(const Csr<char>& a, const Csr<char>& b, const Csr<char>& c, int64 i, std::span<std::int32_t> places,
               const F& f) {
  const int64 first = c.indptr[i], last = c.indptr[i + 1];
  if (first == last) return;
  const std::int32_t low = c.indices[first];
  const bool listed = c.indices[last - 1] - low < static_cast<std::int64_t>(places.size());
  if (listed) {
    for (int64 s = first; s < last; ++s) places[c.indices[s] - low] = static_cast<std::int32_t>(s - first);
  }
  for (int64 e = a.indptr[i]; e < a.indptr[i + 1]; ++e) {
    const int64 k = a.indices[e];
    int64 s = first;
    for (int64 g = b.indptr[k]; g < b.indptr[k + 1]; ++g) {
      const std::int32_t j = b.indices[g];
      s = listed ? first + places[j - low] : std::lower_bound(c.indices + s, c.indices + last, j) - c.indices;
      f(s, e, g);
    }
  }
}

// The multiply-adds of a pair: for each k the elements of column k of one, times those of row k of the other.
int64 multiply_adds(Bitmap a, Bitmap b) {
  if ((a & b) == kAllPlaces) return kTile * kTile * kTile;
  int64 count = 0;
  for (int k = 0; k < kTile; ++k) {
    count += std::popcount(a & kFirstColumn >> k) * std::popcount(row_bits(b, k));
  }
  return count;
}

constexpr int64 kWide = 1 << 20;  // columns of blocks whose places are listed

}  // namespace

BlocksOfProduct blocks_of_product(const BlockOperand& left, const BlockOperand& right, const Request& request) {
  const Blocks a(left), b(right);
  const RowsOfProduct found = product_rows(left.pattern(), right.pattern());
  request.on_stage("candidates");
  const Matrix pattern{found.structure, Array{}};
  const Csr<char> c = Csr<char>::of(pattern);
  const int64 blocks = c.indptr[c.rows], work = 32 * found.products, tasks = tasks_for(work);
  const int64 wide = std::min(kWide, c.cols);

  // Calls f(i, places, task) for each row of blocks, with room for the places of columns, and the task that it is in.
  const auto each_row = [&](const auto& f) {
    const auto before = [&](int64 i) { return c.indptr[i] + i; };
    parallel_for(tasks, work, [&](int64 task) {
      const auto room = std::make_unique_for_overwrite<std::int32_t[]>(wide);
      const std::span<std::int32_t> places(room.get(), wide);
      const int64 first = border(c.rows, blocks + c.rows, tasks, task, before);
      const int64 last = border(c.rows, blocks + c.rows, tasks, task + 1, before);
      for (int64 i = first; i < last; ++i) f(i, places, task);
    });
  };
  std::vector<Bitmap> bitmap(blocks);
  std::vector<int64> pairs(blocks + 1), operations(tasks);
  each_row([&](int64 i, std::span<std::int32_t> places, int64 task) {
    each_pair(a.rows, b.rows, c, i, places, [&](int64 s, int64 e, int64 g) {
      const Bitmap of_a = a.bitmap(e), of_b = b.bitmap(g);
      if (const Bitmap product = product_of(of_a, of_b)) {
        bitmap[s] |= product;
        ++pairs[s + 1];
        operations[task] += multiply_adds(of_a, of_b);
      }
    });
  });
  std::partial_sum(pairs.begin(), pairs.end(), pairs.begin());

  const auto result = std::make_shared<BlockWork>();
  result->multiply_adds = std::accumulate(operations.begin(), operations.end(), int64{0});
  result->pairs = Array::empty(DType::i32, {2 * pairs[blocks]});
  each_row([&](int64 i, std::span<std::int32_t> places, int64) {
    std::vector<int64> next(pairs.begin() + c.indptr[i], pairs.begin() + c.indptr[i + 1]);
    each_pair(a.rows, b.rows, c, i, places, [&](int64 s, int64 e, int64 g) {
      if (!meet(a.bitmap(e), b.bitmap(g))) return;
      std::int32_t* const to = result->pairs.as<std::int32_t>() + 2 * next[s - c.indptr[i]]++;
      to[0] = a.block(e), to[1] = b.block(g);
    });
  });

  request.on_stage("pairs");

  // Blocks that no pair reaches are left out.
  const int64 kept = blocks - std::count(bitmap.begin(), bitmap.end(), Bitmap{0});
  Array indptr = Array::empty(DType::i64, {c.rows + 1}), col = Array::empty(DType::i32, {kept});
  Array bitmaps = Array::empty(DType::u64, {kept}), begin = Array::empty(DType::i64, {kept + 1});
  result->indptr = Array::empty(DType::i64, {kept + 1});
  int64 at = 0, values = 0;
  for (int64 i = 0; i < c.rows; ++i) {
    indptr.as<int64>()[i] = at;
    for (int64 s = c.indptr[i]; s < c.indptr[i + 1]; ++s) {
      if (bitmap[s] == 0) continue;
      col.as<std::int32_t>()[at] = c.indices[s];
      bitmaps.as<Bitmap>()[at] = bitmap[s];
      begin.as<int64>()[at] = values;
      result->indptr.as<int64>()[at] = pairs[s];
      values += std::popcount(bitmap[s]);
      ++at;
    }
  }
  indptr.as<int64>()[c.rows] = at;
  begin.as<int64>()[kept] = values;
  result->indptr.as<int64>()[kept] = pairs[blocks];
  return product_over(left, right, std::move(indptr), std::move(col), std::move(bitmaps), std::move(begin), values,
                      result);
}

std::shared_ptr<const BlockColumns> block_columns(const Structure& structure) {
  return structure.cache().get<const BlockColumns>("block columns", [&] {
    const auto a = Bmsparse<char>::over(structure, nullptr);
    const int64 rows = tiles_along(a.rows), cols = tiles_along(a.cols), count = a.indptr[rows];
    const auto result = std::make_shared<BlockColumns>();
    result->indptr = Array::zeros(DType::i64, {cols + 1});
    result->row = Array::empty(DType::i32, {count});
    result->number = Array::empty(DType::i32, {count});
    int64* const next = result->indptr.as<int64>() + 1;
    for (int64 p = 0; p < count; ++p) ++next[a.col[p]];
    std::exclusive_scan(next, next + cols, next, int64{0});
    for (int64 i = 0; i < rows; ++i) {
      for (int64 p = a.indptr[i]; p < a.indptr[i + 1]; ++p) {
        const int64 to = next[a.col[p]]++;
        result->row.as<std::int32_t>()[to] = static_cast<std::int32_t>(i);
        result->number.as<std::int32_t>()[to] = static_cast<std::int32_t>(p);
      }
    }
    structure.cache().count(result->indptr.nbytes() + result->row.nbytes() + result->number.nbytes());
    return result;
  });
}

}  // namespace diagsparse
