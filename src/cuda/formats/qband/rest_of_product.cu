// Computes the positions of the entries in the rest of a product of quasi-bands, and the terms of each: all products
// are listed with their position in C, and sorted by it.
#include "formats/coosr/layout.hpp"
#include "formats/qband/products.cuh"
#include "formats/qband/rest.cuh"
#include "kernels/rows/pairs.cuh"

namespace diagsparse {

namespace cuda::qband {
namespace {

// The number of products of entry e of As with Bs.
__global__ void __launch_bounds__(kBlock)
    count_products(const std::int32_t* columns, int64 entries, const std::int64_t* indptr, std::int64_t* counts) {
  const int64 e = thread_index();
  if (e < entries) counts[e] = indptr[columns[e] + 1] - indptr[columns[e]];
}

__global__ void __launch_bounds__(kBlock)
    write_rows(const std::int64_t* indptr, int64 rows, int64 entries, std::int32_t* of_entries) {
  const int64 e = thread_index();
  if (e >= entries) return;
  of_entries[e] = static_cast<std::int32_t>(bisect(1, rows, [&](int64 i) { return indptr[i] <= e; }) - 1);
}

// Positions (row << bits | column). Numbers without a product get one after all others.
template <class K>
__global__ void __launch_bounds__(kBlock)
    write_positions(const RestProductsOnDevice products, int64 count, int bits, K* positions, std::uint32_t* numbers) {
  const int64 t = thread_index();
  if (t >= count) return;
  const RestProduct p = products.at(t);
  positions[t] = static_cast<K>(p.exists ? p.row : products.rows) << bits | static_cast<K>(p.exists ? p.col : 0);
  numbers[t] = static_cast<std::uint32_t>(t);
}

__global__ void __launch_bounds__(kBlock)
    write_pairs(const RestProductsOnDevice products, int64 count, const std::uint32_t* numbers, Key* pairs) {
  const int64 t = thread_index();
  if (t >= count) return;
  const RestProduct p = products.at(numbers[t]);
  pairs[t] = make_key(p.left, p.right);
}

template <class K>
__global__ void __launch_bounds__(kBlock) mark_heads(const K* positions, int64 count, std::int64_t* heads) {
  const int64 t = thread_index();
  if (t < count) heads[t] = t == 0 || positions[t] != positions[t - 1];
}

// For each sum: where its terms begin, and whether it is outside of the bands.
template <class K>
__global__ void __launch_bounds__(kBlock)
    begin_sums(const K* keys, const std::int64_t* heads, int64 count, int bits, const Bands bands, std::int32_t* first,
               Key* positions, std::int64_t* outside) {
  const int64 t = thread_index();
  if (t >= count || (t > 0 && keys[t] == keys[t - 1])) return;
  const int64 sum = heads[t] - 1;
  first[sum] = static_cast<std::int32_t>(t);
  positions[sum] = keys[t];
  outside[sum] = bands.position(keys[t] >> bits, keys[t] & ((Key{1} << bits) - 1)) < 0;
}

// The target of each sum; row and column of those outside of the bands, and their number in each row.
__global__ void __launch_bounds__(kBlock)
    locate_sums(const Key* positions, const std::int64_t* outside, int64 count, int bits, const Bands bands,
                int64 rest_first, int64* targets, std::int32_t* row, std::int32_t* col, unsigned long long* in_row) {
  const int64 s = thread_index();
  if (s >= count) return;
  const int64 i = positions[s] >> bits, j = positions[s] & ((Key{1} << bits) - 1);
  const int64 rank = outside[s], before = s > 0 ? outside[s - 1] : 0;
  if (rank == before) {
    targets[s] = bands.position(i, j);
    return;
  }
  targets[s] = rest_first + before;
  row[before] = static_cast<std::int32_t>(i);
  col[before] = static_cast<std::int32_t>(j);
  atomicAdd(in_row + i, 1ull);
}

template <class K>
__global__ void __launch_bounds__(kBlock) find_end(const K* positions, int64 count, K end, std::int64_t* found) {
  if (thread_index() == 0) *found = bisect(0, count, [&](int64 t) { return positions[t] < end; });
}

// The positions of the sums in C, and the products of each.
struct Found {
  std::shared_ptr<void> positions;  // Key, for each sum
  Array outside;                    // int64: for each sum, the number of sums up to it that are outside of the bands
  std::shared_ptr<RestOnGpu> work;
};

template <class K>
Found find_sums(RestProducts products, int bits, const Bands bands) {
  const RestProductsOnDevice on = products.on_device();
  const int64 total = products.total();
  const std::shared_ptr<void> memory = allocate(total * sizeof(K)), count_up = allocate(4 * total);
  auto* positions = static_cast<K*>(memory.get());
  auto* numbers = static_cast<std::uint32_t*>(count_up.get());
  launch("write positions", write_positions<K>, blocks(total), dim3(kBlock), on, total, bits, positions, numbers);
  const Sorted<K> sorted = sorted_by(positions, numbers, total, bits + width_in_bits(on.rows));
  const Scratch<std::int64_t> end(1);
  launch("find end", find_end<K>, dim3(1), dim3(32), sorted.key(), total, static_cast<K>(on.rows) << bits, end.get());
  const int64 terms = download(static_cast<const std::int64_t*>(end.get()), 1)[0];

  Found found{nullptr, {}, std::make_shared<RestOnGpu>(std::move(products))};
  RestOnGpu& work = *found.work;
  work.sums = terms;
  work.pairs = Array::empty(DType::u64, {terms});
  launch("write pairs", write_pairs, blocks(terms), dim3(kBlock), on, terms, sorted.number(), work.pairs.as<Key>());
  const Scratch<std::int64_t> heads(terms);
  launch("mark heads", mark_heads<K>, blocks(terms), dim3(kBlock), sorted.key(), terms, heads.get());
  work.count = inclusive_sum(heads.get(), heads.get(), terms);
  work.first = Array::empty(DType::i32, {work.count + 1});
  found.positions = allocate(8 * work.count);
  found.outside = Array::empty(DType::i64, {work.count});
  launch("begin sums", begin_sums<K>, blocks(terms), dim3(kBlock), sorted.key(), heads.get(), terms, bits, bands,
         work.first.as<std::int32_t>(), static_cast<Key*>(found.positions.get()), found.outside.as<std::int64_t>());
  rows::end_lists(work.first, terms);
  work.many = rows::lists_with_many(work.first, work.count);
  return found;
}

}  // namespace

RestProducts::RestProducts(const QuasiBand& a, const QuasiBand& b)
    : a_spans_(upload(spans_of(a.bands, a.op))), b_spans_(upload(spans_of(b.bands, b.op))) {
  const RowIndex of_a = rows_of(structure_of_rest(a), a.op.transposed),
                 of_b = rows_of(structure_of_rest(b), b.op.transposed);
  a_index_ = of_a.memory, b_index_ = of_b.memory;
  ends_ = Array::empty(DType::i64, {a.entries()});
  auto* const ends = ends_.as<std::int64_t>();
  launch("count products", count_products, blocks(a.entries()), dim3(kBlock), of_a.indices, a.entries(), of_b.indptr,
         ends);
  const auto rows_of_entries = [](const RowIndex& index, int64 rows, int64 entries) {
    Array result = Array::empty(DType::i32, {entries});
    launch("write rows", write_rows, blocks(entries), dim3(kBlock), index.indptr, rows, entries,
           result.as<std::int32_t>());
    return result;
  };
  a_rows_ = rows_of_entries(of_a, a.rows(), a.entries());
  b_rows_ = rows_of_entries(of_b, b.rows(), b.entries());
  const auto diagonals_of = [](const Layout& layout) { return static_cast<int64>(layout.spans.size()); };
  view_ = {.a_spans = a_spans_.as<const Span>(),
           .b_spans = b_spans_.as<const Span>(),
           .a_indptr = of_a.indptr,
           .b_indptr = of_b.indptr,
           .a_positions = of_a.positions,
           .b_positions = of_b.positions,
           .a_columns = of_a.indices,
           .b_columns = of_b.indices,
           .a_rows = a_rows_.as<const std::int32_t>(),
           .b_rows = b_rows_.as<const std::int32_t>(),
           .a_diagonals = diagonals_of(a.bands),
           .b_diagonals = diagonals_of(b.bands),
           .a_entries = a.entries(),
           .b_entries = b.entries(),
           .a_first = a.rest_first,
           .b_first = b.rest_first,
           .rows = a.rows(),
           .inner = b.rows(),
           .cols = b.cols(),
           .ends = ends,
           .parts = {}};
  view_.parts[0] = checked_product(a.entries(), view_.b_diagonals);
  view_.parts[1] = checked_product(b.entries(), view_.a_diagonals);
  view_.parts[2] = inclusive_sum(ends, ends, a.entries());
}

void RestOnGpu::used_here(const Plan& plan) const {
  products.visit(used_on_this_stream);
  for (const Array* array : {&first, &pairs, &targets, &many}) used_on_this_stream(*array);
  for (const QuasiBand& of : {QuasiBand(*plan.a, plan.op_a), QuasiBand(*plan.b, plan.op_b)}) {
    if (of.op.transposed) rows_of(structure_of_rest(of), true);  // which records the use of its index
  }
}

}  // namespace cuda::qband

RestOfProduct rest_of_product(const QuasiBand& a, const QuasiBand& b, const Layout& bands, int64) {
  using namespace cuda;
  using namespace cuda::qband;
  RestProducts products(a, b);
  constexpr int64 most = 0x7fffffff;
  const int64 values = std::max(a.rest_first + a.entries(), b.rest_first + b.entries());
  if (products.total() >= most || values >= most) {
    throw std::invalid_argument(
        "matmul: quasi-bands list fewer than 2^31 products outside of the bands, and have "
        "fewer than 2^31 values; there are " +
        std::to_string(products.total()) + " products, and " + std::to_string(values) + " values");
  }
  const int64 rows = a.rows(), rest_first = bands.values_shape.size();
  const Array spans = upload(bands.spans);
  const Bands on_device{spans.as<const Span>(), static_cast<int64>(bands.spans.size())};
  const int bits = width_in_bits(b.cols());
  const bool few = bits + width_in_bits(rows) <= 32;
  const Found found = few ? find_sums<std::uint32_t>(std::move(products), bits, on_device)
                          : find_sums<Key>(std::move(products), bits, on_device);
  RestOnGpu& work = *found.work;
  auto* const outside = found.outside.as<std::int64_t>();
  const int64 count = inclusive_sum(outside, outside, work.count);
  const Array row = Array::empty(DType::i32, {count}), col = Array::empty(DType::i32, {count});
  const Array indptr = Array::zeros(DType::i64, {rows + 1});
  work.targets = Array::empty(DType::i64, {work.count});
  launch("locate sums", locate_sums, blocks(work.count), dim3(kBlock), static_cast<const Key*>(found.positions.get()),
         outside, work.count, bits, on_device, rest_first, work.targets.as<int64>(), row.as<std::int32_t>(),
         col.as<std::int32_t>(), reinterpret_cast<unsigned long long*>(indptr.as<std::int64_t>() + 1));
  inclusive_sum(indptr.as<std::int64_t>(), indptr.as<std::int64_t>(), rows + 1);
  CUDA_CALL(cudaStreamSynchronize(stream()));
  std::vector<Part> arrays{{"row", row}, {"col", col}, {"indptr", indptr}};
  return {std::make_shared<const Indices>(coosr.name, rows, b.cols(), std::move(arrays), count), found.work};
}

}  // namespace diagsparse
