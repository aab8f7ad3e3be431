#include "kernels/group/lists.hpp"

#include <algorithm>
#include <bit>

#include "device/cuda.hpp"

namespace diagsparse::cuda::group {

namespace {

constexpr int64 kSections = 1 << 18;  // room for sections is taken at once, for no more than so many

// Diagonal a of A and diagonal b of B meet on a diagonal of C, `c` counted from the first of its group.
struct Found {
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
        windows_(b_.size()) {
    made_.shape = layout_of(plan.c).spans.size() <= static_cast<std::size_t>(kFewDiagonals.diagonals) ? kFewDiagonals
                                                                                                      : kManyDiagonals;
    rows_ = made_.shape.rows;
    log_rows_ = std::countr_zero(static_cast<unsigned>(rows_));
    diagonals_ = made_.shape.diagonals;
    const int64 pairs = sums_of(plan).terms(), sections = std::min(pairs, kSections);
    made_.pairs.reserve(pairs);
    made_.a.reserve(sections);
    made_.b.reserve(sections);
  }

  Lists lists() {
    const std::size_t count = layout_of(plan_.c).spans.size();
    for (std::size_t first = 0; first < count; first += diagonals_) {
      add_group(first, std::min(count, first + diagonals_));
    }
    return std::move(made_);
  }

 private:
  using Iterator = std::vector<Found>::const_iterator;

  // What a bunch needs of a diagonal of B: its rows for A's offsets from `low` to `high`, and where they lie.
  struct Window {
    int64 low = 0, high = -1;
    std::int32_t place = 0;

    bool used() const { return low <= high; }
  };

  static std::int32_t round_up(std::int32_t n, int step) { return (n + step - 1) / step * step; }
  static std::int32_t since_border(int64 n, int border) { return static_cast<std::int32_t>(n & (border - 1)); }
  static std::int32_t size(const auto& list) { return static_cast<std::int32_t>(list.size()); }

  // Of a diagonal whose row x + shift meets row x of C.
  static Section section(const Span& s, int64 shift, std::int32_t length, std::int32_t place) {
    return {s.start - s.row + shift, s.row - shift, s.row + s.length - shift, length, place};
  }

  void add_group(std::size_t first, std::size_t last) {
    const auto& c = layout_of(plan_.c).spans;
    Group group{size(made_.c), 0, size(made_.bunches), 0};
    for (std::size_t d = first; d < last; ++d) {
      made_.c.push_back(section(c[d], 0, rows_, 0));
    }
    find_pairs(first, last);
    for (Iterator begin = found_.begin(); begin != found_.end();) begin = add_bunch(begin, found_.end());
    group.c_end = size(made_.c);
    group.bunch_end = size(made_.bunches);
    made_.groups.push_back(group);
  }

  // Of the group's diagonals of C, by A's diagonals: each pair once to count, once to put it there.
  void find_pairs(std::size_t first, std::size_t last) {
    const Sums& all = sums_of(plan_);
    begin_a_.assign(a_.size() + 1, 0);
    for (std::size_t d = first; d < last; ++d) {
      all.for_each_pair(all.sums[d], [&](std::int32_t a, std::int32_t) { ++begin_a_[a + 1]; });
    }
    for (std::size_t i = 1; i < begin_a_.size(); ++i) begin_a_[i] += begin_a_[i - 1];
    found_.resize(begin_a_.back());
    for (std::size_t d = first; d < last; ++d) {
      const Sum& sum = all.sums[d];
      all.for_each_pair(sum, [&](std::int32_t a, std::int32_t b) {
        const Term term = all.term(sum, a, b);
        const auto block = static_cast<std::int32_t>(term.first >> log_rows_);
        const auto end = static_cast<std::int32_t>((term.last + rows_ - 1) >> log_rows_);
        found_[begin_a_[a]++] = {a, b, static_cast<std::int32_t>(d - first), block, end - block};
      });
    }
  }

  // Takes diagonals of A as long as their sections, windows and pairs fit; at least one. On one diagonal of A a
  // diagonal of B occurs once.
  Iterator add_bunch(Iterator begin, Iterator end) {
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
    write_bunch(begin, next);
    return next;
  }

  // Makes room for a bunch's pairs, by diagonal of C, and notes where each diagonal's begin.
  void start_pairs(Iterator begin, Iterator end) {
    const std::int32_t before = size(made_.pairs);
    next_.assign(diagonals_ + 1, 0);
    for (Iterator m = begin; m != end; ++m) ++next_[m->c + 1];
    for (int c = 0; c < diagonals_; ++c) next_[c + 1] += next_[c];
    made_.starts.insert(made_.starts.end(), next_.begin(), next_.end());
    for (std::int32_t& at : next_) at += before;
    made_.pairs.resize(before + (end - begin));
  }

  // Sections and windows begin as many values after a 32-byte border as they do in global memory.
  void write_bunch(Iterator begin, Iterator end) {
    Bunch bunch{size(made_.a), 0, size(made_.b), 0, size(made_.pairs), 0, size(made_.starts), 0, 0, 0};
    const int a_border = kSector / a_item_, b_border = kSector / b_item_;
    std::int32_t a_end = 0, b_end = 0, last = -1, place = 0;  // of A's section at hand
    int64 offset = 0;
    start_pairs(begin, end);
    for (Iterator m = begin; m != end; ++m) {
      if (m->a != last) {
        const Span& s = a_[last = m->a];
        offset = s.offset;
        place = a_end + since_border(s.start - s.row, a_border);
        made_.a.push_back(section(s, 0, rows_, place));
        a_end = round_up(place + rows_, a_border);
      }
      Window& w = windows_[m->b];
      if (offset == w.low) {  // the first time that the bunch meets it
        const Span& s = b_[m->b];
        const auto length = static_cast<std::int32_t>(rows_ + w.high - w.low);
        w.place = b_end + since_border(s.start - s.row + w.low, b_border);
        made_.b.push_back(section(s, w.low, length, w.place));
        b_end = round_up(w.place + length, b_border);
      }
      const auto in_window = static_cast<std::int32_t>(offset - w.low);
      made_.pairs[next_[m->c]++] = {place, w.place + in_window, m->block, m->count};
    }
    for (Iterator m = begin; m != end; ++m) windows_[m->b] = Window{};
    bunch.a_end = size(made_.a);
    bunch.b_end = size(made_.b);
    bunch.pairs_end = size(made_.pairs);
    bunch.b_at = a_end * a_item_;
    bunch.pairs_at = bunch.b_at + b_end * b_item_;
    bunch.list_at = bunch.pairs_at + (bunch.pairs_end - bunch.pairs) * static_cast<int>(sizeof(Pair));
    const std::int32_t listed = bunch.a_end - bunch.a + bunch.b_end - bunch.b + 1;
    made_.most_bytes = std::max(made_.most_bytes, bunch.list_at + 4 * listed);
    made_.bunches.push_back(bunch);
  }

  const Plan& plan_;
  const std::vector<Span> a_, b_;
  const int a_item_, b_item_;
  const int64 budget_;
  std::vector<Found> found_;          // the group's
  std::vector<std::size_t> begin_a_;  // where each of A's diagonals begins among them
  std::vector<Window> windows_;       // of the bunch at hand, by number of B's diagonal
  std::vector<std::int32_t> next_;    // where each diagonal of C has its next pair in the bunch at hand
  int rows_ = 0, log_rows_ = 0, diagonals_ = 0;
  Lists made_;
};

}  // namespace

Lists make_lists(const Plan& plan, int a_item, int b_item, int budget) {
  return Grouping(plan, a_item, b_item, budget).lists();
}

}  // namespace diagsparse::cuda::group
