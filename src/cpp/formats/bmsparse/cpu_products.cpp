// The structure of a product of bmsparse matrices on the CPU, and the index of the blocks by column.
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

// The arrays of an operand op(A).
struct Blocks {
  Csr<char> rows;
  const std::int32_t* number;
  const Bitmap* stored;
  bool is_transposed;

  explicit Blocks(const BlockOperand& of)
      : rows{of.rows, of.cols, of.indptr.as<int64>(), of.col.as<std::int32_t>(), nullptr},
        number(of.number),
        stored(Bmsparse<char>::over(of.structure, nullptr).bitmap),
        is_transposed(of.op.transposed) {}

  std::int32_t block(int64 e) const { return number ? number[e] : static_cast<std::int32_t>(e); }
  Bitmap bitmap(int64 e) const { return transpose_if(is_transposed, stored[block(e)]); }
};

// Calls f(s, e, g) for each entry e of row i of A and each entry g of the row of B that e selects, where s is the entry
// of row i of C with the column of g. If all columns of the row of C fit in the table `positions`, entries are looked
// up there; otherwise they are located by bisection.
template <class F>
void for_each_pair(const Csr<char>& a, const Csr<char>& b, const Csr<char>& c, int64 i,
                   std::span<std::int32_t> positions, const F& f) {
  const int64 first = c.indptr[i], last = c.indptr[i + 1];
  if (first == last) return;
  const std::int32_t low = c.indices[first];
  const bool use_table = c.indices[last - 1] - low < static_cast<std::int64_t>(positions.size());
  if (use_table) {
    for (int64 s = first; s < last; ++s) positions[c.indices[s] - low] = static_cast<std::int32_t>(s - first);
  }
  for (int64 e = a.indptr[i]; e < a.indptr[i + 1]; ++e) {
    const int64 k = a.indices[e];
    int64 s = first;
    for (int64 g = b.indptr[k]; g < b.indptr[k + 1]; ++g) {
      const std::int32_t j = b.indices[g];
      s = use_table ? first + positions[j - low] : std::lower_bound(c.indices + s, c.indices + last, j) - c.indices;
      f(s, e, g);
    }
  }
}

// The number of multiply-adds of a pair: for each k, the elements of column k of a times those of row k of b.
int64 multiply_adds(Bitmap a, Bitmap b) {
  if ((a & b) == kFullBitmap) return kTile * kTile * kTile;
  int64 count = 0;
  for (int k = 0; k < kTile; ++k) {
    count += std::popcount(a & kFirstColumn >> k) * std::popcount(row_bits(b, k));
  }
  return count;
}

constexpr int64 kMaxTableColumns = 1 << 20;  // columns of blocks in a table of positions, at most

}  // namespace

BlocksOfProduct blocks_of_product(const BlockOperand& left, const BlockOperand& right, const Request& request) {
  const Blocks a(left), b(right);
  const RowsOfProduct candidates = product_rows(left.pattern(), right.pattern());
  request.on_stage("candidates");
  const Matrix pattern{candidates.structure, Array{}};
  const Csr<char> c = Csr<char>::of(pattern);
  const int64 blocks = c.indptr[c.rows], work = 32 * candidates.products, tasks = tasks_for(work);
  const int64 table_columns = std::min(kMaxTableColumns, c.cols);

  // Calls f(i, positions, task) for each row of blocks, with a table for for_each_pair and the number of the task.
  const auto for_each_row = [&](const auto& f) {
    const auto before = [&](int64 i) { return c.indptr[i] + i; };
    parallel_for(tasks, work, [&](int64 task) {
      const auto buffer = std::make_unique_for_overwrite<std::int32_t[]>(table_columns);
      const std::span<std::int32_t> positions(buffer.get(), table_columns);
      const int64 first = border(c.rows, blocks + c.rows, tasks, task, before);
      const int64 last = border(c.rows, blocks + c.rows, tasks, task + 1, before);
      for (int64 i = first; i < last; ++i) f(i, positions, task);
    });
  };
  std::vector<Bitmap> bitmap(blocks);
  std::vector<int64> pairs(blocks + 1), operations(tasks);
  for_each_row([&](int64 i, std::span<std::int32_t> positions, int64 task) {
    for_each_pair(a.rows, b.rows, c, i, positions, [&](int64 s, int64 e, int64 g) {
      const Bitmap bitmap_a = a.bitmap(e), bitmap_b = b.bitmap(g);
      if (const Bitmap product = product_of(bitmap_a, bitmap_b)) {
        bitmap[s] |= product;
        ++pairs[s + 1];
        operations[task] += multiply_adds(bitmap_a, bitmap_b);
      }
    });
  });
  std::partial_sum(pairs.begin(), pairs.end(), pairs.begin());

  const auto result = std::make_shared<BlockWork>();
  result->multiply_adds = std::accumulate(operations.begin(), operations.end(), int64{0});
  result->pairs = Array::empty(DType::i32, {2 * pairs[blocks]});
  for_each_row([&](int64 i, std::span<std::int32_t> positions, int64) {
    std::vector<int64> next(pairs.begin() + c.indptr[i], pairs.begin() + c.indptr[i + 1]);
    for_each_pair(a.rows, b.rows, c, i, positions, [&](int64 s, int64 e, int64 g) {
      if (!has_product(a.bitmap(e), b.bitmap(g))) return;
      std::int32_t* const to = result->pairs.as<std::int32_t>() + 2 * next[s - c.indptr[i]]++;
      to[0] = a.block(e), to[1] = b.block(g);
    });
  });

  request.on_stage("pairs");

  // Drop the blocks of C without a pair.
  const int64 nonempty = blocks - std::count(bitmap.begin(), bitmap.end(), Bitmap{0});
  Array indptr = Array::empty(DType::i64, {c.rows + 1}), col = Array::empty(DType::i32, {nonempty});
  Array bitmaps = Array::empty(DType::u64, {nonempty}), begin = Array::empty(DType::i64, {nonempty + 1});
  result->indptr = Array::empty(DType::i64, {nonempty + 1});
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
  begin.as<int64>()[nonempty] = values;
  result->indptr.as<int64>()[nonempty] = pairs[blocks];
  return build_product(left, right, std::move(indptr), std::move(col), std::move(bitmaps), std::move(begin), values,
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
