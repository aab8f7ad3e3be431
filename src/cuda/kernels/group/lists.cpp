#include "kernels/group/lists.hpp"

#include <algorithm>

#include "device/cuda.hpp"

namespace diagsparse::cuda::group {

namespace {

// Diagonal a of A and diagonal b of B meet on a diagonal of C, `c` counted from the first of its group.
struct Meeting {
  std::int32_t a, b, c;
  std::int32_t block, count;  // of rows, in which they do
};

class Grouping {
 public:
  Grouping(const Plan& plan, int a_item, int b_item, int budget)
      : plan_(plan),
        a_(spans_of(layout_of(plan.a), plan.op_a)),
        b_(spans_of(layout_of(plan.b), plan.op_b)),
        a_item_(a_item),
        b_item_(b_item),
        budget_(budget),
        number_a_(a_),
        number_b_(b_),
        windows_(b_.size()) {
    made_.shape = layout_of(plan.c).spans.size() <= static_cast<std::size_t>(kFewDiagonals.diagonals) ? kFewDiagonals
                                                                                                      : kManyDiagonals;
    rows_ = made_.shape.rows;
    diagonals_ = made_.shape.diagonals;
    by_diagonal_.resize(diagonals_);
  }

  Lists lists() {
    const std::size_t count = layout_of(plan_.c).spans.size();
    for (std::size_t first = 0; first < count; first += diagonals_) {
      add_group(first, std::min(count, first + diagonals_));
    }
    return std::move(made_);
  }

 private:
  using Iterator = std::vector<Meeting>::const_iterator;

  // What a chunk needs of a diagonal of B: its rows for A's offsets from `low` to `high`, and where they lie.
  struct Window {
    int64 low = 0, high = -1;
    std::int32_t place = 0;

    bool used() const { return low <= high; }
  };

  static std::int32_t round_up(std::int32_t n, int step) { return (n + step - 1) / step * step; }
  static std::int32_t since_border(int64 n, int border) { return static_cast<int>((n % border + border) % border); }
  static std::int32_t size(const auto& list) { return static_cast<std::int32_t>(list.size()); }

  void add_group(std::size_t first, std::size_t last) {
    const auto& c = layout_of(plan_.c).spans;
    Group group{size(made_.c), 0, size(made_.chunks), 0};
    found_.clear();
    for (std::size_t d = first; d < last; ++d) {
      made_.c.push_back({c[d].start - c[d].row, c[d].row, c[d].row + c[d].length, 0, rows_, 0});
      const Sum& sum = sums_of(plan_).sums[d];
      for (int64 t = sum.terms; t < sum.terms_end; ++t) {
        const Term& term = sums_of(plan_).terms[t];
        const auto block = static_cast<std::int32_t>(term.first / rows_);
        const auto end = static_cast<std::int32_t>((term.last + rows_ - 1) / rows_);
        found_.push_back({static_cast<std::int32_t>(number_a_.find(term.key)),
                          static_cast<std::int32_t>(number_b_.find(c[d].offset - term.key)),
                          static_cast<std::int32_t>(d - first), block, end - block});
      }
    }
    sort_by_a();
    for (Iterator begin = all_.begin(); begin != all_.end();) begin = add_chunk(begin, all_.end());
    group.c_end = size(made_.c);
    group.chunk_end = size(made_.chunks);
    made_.groups.push_back(group);
  }

  void sort_by_a() {
    begin_a_.assign(a_.size() + 1, 0);
    for (const Meeting& m : found_) ++begin_a_[m.a + 1];
    for (std::size_t i = 1; i < begin_a_.size(); ++i) begin_a_[i] += begin_a_[i - 1];
    all_.resize(found_.size());
    for (const Meeting& m : found_) all_[begin_a_[m.a]++] = m;
  }

  // Takes diagonals of A as long as their sections, windows and pairs fit; at least one. On one diagonal of A a
  // diagonal of B occurs once.
  Iterator add_chunk(Iterator begin, Iterator end) {
    int64 sections = 0, windows = 0, values_b = 0;
    Iterator next = begin;
    while (next != end) {
      Iterator stop = next;
      const int64 offset = a_[next->a].offset;
      int64 more_b = 0, more_windows = 0;
      for (; stop != end && stop->a == next->a; ++stop) {
        const Window& w = windows_[stop->b];
        more_b += w.used() ? offset - w.high : rows_;
        more_windows += w.used() ? 0 : 1;
      }
      const int64 all = sections + 1 + windows + more_windows;
      const int64 bytes = a_item_ * (sections + 1) * rows_ + b_item_ * (values_b + more_b) +
                          static_cast<int64>(sizeof(Pair)) * (stop - begin) + (2 * kSector + 4) * (all + 1);
      if (next != begin && bytes > budget_) break;
      for (; next != stop; ++next) {
        Window& w = windows_[next->b];
        if (!w.used()) w.low = offset;
        w.high = offset;
      }
      sections += 1;
      values_b += more_b;
      windows += more_windows;
    }
    write_chunk(begin, next);
    return next;
  }

  // Sections and windows begin as many values after a 32-byte border as they do in global memory.
  void write_chunk(Iterator begin, Iterator end) {
    Chunk chunk{size(made_.a), 0, size(made_.b), 0, size(made_.pairs), 0, size(made_.starts), 0, 0, 0};
    const int a_border = kSector / a_item_, b_border = kSector / b_item_;
    std::int32_t a_end = 0, b_end = 0, last = -1;
    for (auto& pairs : by_diagonal_) pairs.clear();
    for (Iterator m = begin; m != end; ++m) {
      if (m->a != last) {
        const Span& s = a_[last = m->a];
        const std::int32_t place = a_end + since_border(s.start - s.row, a_border);
        made_.a.push_back({s.start - s.row, s.row, s.row + s.length, 0, rows_, place});
        a_end = round_up(place + rows_, a_border);
      }
      Window& w = windows_[m->b];
      if (a_[m->a].offset == w.low) {  // the first time that the chunk meets it
        const Span& s = b_[m->b];
        const auto length = static_cast<std::int32_t>(rows_ + w.high - w.low);
        w.place = b_end + since_border(s.start - s.row + w.low, b_border);
        made_.b.push_back({s.start - s.row, s.row, s.row + s.length, w.low, length, w.place});
        b_end = round_up(w.place + length, b_border);
      }
      const auto in_window = static_cast<std::int32_t>(a_[m->a].offset - w.low);
      by_diagonal_[m->c].push_back({made_.a.back().place, w.place + in_window, m->block, m->count});
    }
    for (Iterator m = begin; m != end; ++m) windows_[m->b] = Window{};
    made_.starts.push_back(0);
    for (const auto& pairs : by_diagonal_) {
      made_.pairs.insert(made_.pairs.end(), pairs.begin(), pairs.end());
      made_.starts.push_back(size(made_.pairs) - chunk.pairs);
    }
    chunk.a_end = size(made_.a);
    chunk.b_end = size(made_.b);
    chunk.pairs_end = size(made_.pairs);
    chunk.b_at = a_end * a_item_;
    chunk.pairs_at = chunk.b_at + b_end * b_item_;
    chunk.list_at = chunk.pairs_at + (chunk.pairs_end - chunk.pairs) * static_cast<int>(sizeof(Pair));
    const std::int32_t listed = chunk.a_end - chunk.a + chunk.b_end - chunk.b + 1;
    made_.most_bytes = std::max(made_.most_bytes, chunk.list_at + 4 * listed);
    made_.chunks.push_back(chunk);
  }

  const Plan& plan_;
  const std::vector<Span> a_, b_;
  const int a_item_, b_item_;
  const int64 budget_;
  const ByOffset number_a_, number_b_;
  std::vector<Meeting> found_, all_;  // the group's
  std::vector<std::size_t> begin_a_;  // where each of A's diagonals begins among them
  std::vector<Window> windows_;       // of the chunk at hand, by number of B's diagonal
  std::vector<std::vector<Pair>> by_diagonal_;
  int rows_ = 0, diagonals_ = 0;
  Lists made_;
};

}  // namespace

Lists make_lists(const Plan& plan, int a_item, int b_item, int budget) {
  return Grouping(plan, a_item, b_item, budget).lists();
}

}  // namespace diagsparse::cuda::group
