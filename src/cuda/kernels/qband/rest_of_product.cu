// Where the rest of a product of quasi-bands has entries, and the terms of each: all products are listed with the place
// in C that they belong to, and sorted by it.
#include "formats/coosr.hpp"
#include "kernels/qband/products.cuh"
#include "kernels/qband/rest.cuh"
#include "kernels/rows/pairs.cuh"

namespace diagsparse {

namespace cuda::qband {
namespace {

// How many products entry e of As has with Bs.
__global__ void __launch_bounds__(kBlock)
    count_products(const std::int32_t* columns, int64 entries, const std::int64_t* indptr, std::int64_t* counts) {
  const int64 e = thread_index();
  if (e < entries) counts[e] = indptr[columns[e] + 1] - indptr[columns[e]];
}

// Keys (row << bits | column), and past all others for numbers without a product.
template <Pairing Of>
__global__ void __launch_bounds__(kBlock)
    write_products(const RestProductsOnDevice products, int64 count, int bits, Key* keys, int64* pairs) {
  const int64 t = thread_index();
  if (t >= count) return;
  const RestProduct p = products.at<Of>(t);
  keys[t] = static_cast<Key>(p.there ? p.row : products.rows) << bits | static_cast<Key>(p.there ? p.col : 0);
  pairs[t] = static_cast<int64>(make_key(p.left, p.right));
}

__global__ void __launch_bounds__(kBlock) mark_heads(const Key* keys, int64 count, std::int64_t* heads) {
  const int64 t = thread_index();
  if (t < count) heads[t] = t == 0 || keys[t] != keys[t - 1];
}

// The bands of C, as kernels look for them.
struct Bands {
  const Span* spans;
  int64 count;

  // Where element (i, j) lies among the values of C, -1 beside the bands.
  __device__ int64 place(int64 i, int64 j) const {
    const int64 d = bisect(0, count, [&](int64 k) { return spans[k].offset < j - i; });
    return d < count && spans[d].offset == j - i ? spans[d].start + i - spans[d].row : -1;
  }
};

// Of each sum: where its terms begin, and whether it lies beside the bands.
__global__ void __launch_bounds__(kBlock)
    begin_sums(const Key* keys, const std::int64_t* heads, int64 count, int bits, const Bands bands,
               std::int32_t* first, Key* places, std::int64_t* beside) {
  const int64 t = thread_index();
  if (t >= count || (t > 0 && keys[t] == keys[t - 1])) return;
  const int64 sum = heads[t] - 1;
  first[sum] = static_cast<std::int32_t>(t);
  places[sum] = keys[t];
  beside[sum] = bands.place(keys[t] >> bits, keys[t] & ((Key{1} << bits) - 1)) < 0;
}

// Where each sum goes; row and column of those beside the bands, and how many lie in each row.
__global__ void __launch_bounds__(kBlock)
    place_sums(const Key* places, const std::int64_t* beside, int64 count, int bits, const Bands bands,
               int64 rest_first, int64* targets, std::int32_t* row, std::int32_t* col, unsigned long long* in_row) {
  const int64 s = thread_index();
  if (s >= count) return;
  const int64 i = places[s] >> bits, j = places[s] & ((Key{1} << bits) - 1);
  const int64 rank = beside[s], before = s > 0 ? beside[s - 1] : 0;
  if (rank == before) {
    targets[s] = bands.place(i, j);
    return;
  }
  targets[s] = rest_first + before;
  row[before] = static_cast<std::int32_t>(i);
  col[before] = static_cast<std::int32_t>(j);
  atomicAdd(in_row + i, 1ull);
}

int bits_of(int64 n) {
  int bits = 1;
  while (n >> bits) ++bits;
  return bits;
}

// All products, sorted by their places in C; those that are there.
Keys sorted_products(const RestProducts& products, int bits) {
  Keys all(products.total());
  const RestProductsOnDevice& on = products.on_device();
  int64 at = 0;
  const auto write = [&](auto kernel, int64 count) {
    launch("write products", kernel, blocks(count), dim3(kBlock), on, count, bits, all.key() + at, all.place() + at);
    at += count;
  };
  write(write_products<Pairing::sparse_by_bands>, products.count(Pairing::sparse_by_bands));
  write(write_products<Pairing::bands_by_sparse>, products.count(Pairing::bands_by_sparse));
  write(write_products<Pairing::sparse_by_sparse>, products.count(Pairing::sparse_by_sparse));
  sort(all, bits + bits_of(on.rows));
  return all;
}

__global__ void __launch_bounds__(kBlock) find_end(const Key* keys, int64 count, Key end, std::int64_t* found) {
  if (thread_index() == 0) *found = bisect(0, count, [&](int64 t) { return keys[t] < end; });
}

}  // namespace

RestProducts::RestProducts(const QuasiBand& a, const QuasiBand& b)
    : a_spans_(upload(spans_of(a.bands, a.op))), b_spans_(upload(spans_of(b.bands, b.op))) {
  const RowIndex of_a = rows_of(places_of_rest(a), a.op.transposed), of_b = rows_of(places_of_rest(b), b.op.transposed);
  a_index_ = of_a.memory, b_index_ = of_b.memory;
  ends_ = Array::empty(DType::i64, {a.entries()});
  auto* const ends = ends_.as<std::int64_t>();
  launch("count products", count_products, blocks(a.entries()), dim3(kBlock), of_a.indices, a.entries(), of_b.indptr,
         ends);
  const auto diagonals_of = [](const Layout& layout) { return static_cast<int64>(layout.spans.size()); };
  view_ = {a_spans_.as<const Span>(),
           b_spans_.as<const Span>(),
           of_a.indptr,
           of_b.indptr,
           of_a.places,
           of_b.places,
           of_a.indices,
           of_b.indices,
           diagonals_of(a.bands),
           diagonals_of(b.bands),
           a.entries(),
           b.entries(),
           a.rest_first,
           b.rest_first,
           a.rows(),
           b.rows(),
           b.cols(),
           ends};
  parts_[0] = checked_product(a.entries(), view_.b_diagonals);
  parts_[1] = checked_product(b.entries(), view_.a_diagonals);
  parts_[2] = inclusive_sum(ends, ends, a.entries());
}

}  // namespace cuda::qband

RestOfProduct rest_of_product(const QuasiBand& a, const QuasiBand& b, const Layout& bands) {
  using namespace cuda;
  using namespace cuda::qband;
  const auto work = std::make_shared<RestOnGpu>(RestProducts(a, b));
  constexpr int64 most = 0x7fffffff;
  const auto values = [](const QuasiBand& x) { return x.rest_first + x.entries(); };
  if (work->products.total() >= most || values(a) >= most || values(b) >= most) {
    throw std::invalid_argument(
        "matmul: quasi-bands list fewer than 2^31 products beside those of the bands, and take "
        "fewer than 2^31 values; there are " +
        std::to_string(work->products.total()) + " products, and " + std::to_string(std::max(values(a), values(b))) +
        " values");
  }
  const int64 rows = a.rows(), rest_first = bands.values_shape.size();
  const int bits = bits_of(b.cols());
  const Keys all = sorted_products(work->products, bits);
  const Scratch<std::int64_t> end(1);
  launch("find end", find_end, dim3(1), dim3(32), static_cast<const Key*>(all.key()), all.count,
         static_cast<Key>(rows) << bits, end.get());
  work->sums = download(static_cast<const std::int64_t*>(end.get()), 1)[0];
  const int64 terms = work->sums;
  const Scratch<std::int64_t> heads(terms);
  launch("mark heads", mark_heads, blocks(terms), dim3(kBlock), static_cast<const Key*>(all.key()), terms, heads.get());
  work->count = inclusive_sum(heads.get(), heads.get(), terms);

  const Array spans = upload(bands.spans);
  const Bands on_device{spans.as<const Span>(), static_cast<int64>(bands.spans.size())};
  const Scratch<Key> places(work->count);
  const Scratch<std::int64_t> beside(work->count);
  work->first = Array::empty(DType::i32, {work->count + 1});
  launch("begin sums", begin_sums, blocks(terms), dim3(kBlock), static_cast<const Key*>(all.key()), heads.get(), terms,
         bits, on_device, work->first.as<std::int32_t>(), places.get(), beside.get());
  rows::end_lists(work->first, terms);
  const int64 count = inclusive_sum(beside.get(), beside.get(), work->count);

  const Array row = Array::empty(DType::i32, {count}), col = Array::empty(DType::i32, {count});
  const Array indptr = Array::zeros(DType::i64, {rows + 1});
  work->targets = Array::empty(DType::i64, {work->count});
  launch("place sums", place_sums, blocks(work->count), dim3(kBlock), static_cast<const Key*>(places.get()),
         beside.get(), work->count, bits, on_device, rest_first, work->targets.as<int64>(), row.as<std::int32_t>(),
         col.as<std::int32_t>(), reinterpret_cast<unsigned long long*>(indptr.as<std::int64_t>() + 1));
  inclusive_sum(indptr.as<std::int64_t>(), indptr.as<std::int64_t>(), rows + 1);
  work->pairs = Array::empty(DType::u64, {terms});
  copy_bytes(work->pairs.data, all.place(), 8 * terms);
  work->many = rows::lists_with_many(work->first, work->count);
  CUDA_CALL(cudaStreamSynchronize(stream()));
  std::vector<Part> arrays{{"row", row}, {"col", col}, {"indptr", indptr}};
  return {std::make_shared<const Indices>(coosr.name, rows, b.cols(), std::move(arrays), count), work};
}

}  // namespace diagsparse
