// One pass over all weights of a model, their gradients and their slots.

#include "snug/ops/update.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/kernels/isa.h"
#include "snug/ops/elementwise.h"
#include "snug/ops/thread_shares.h"
#include "snug/ops/update_layout.h"

namespace snug::ops {
namespace {

constexpr int64_t kGrain = 64;

// Marks in `touched`.
constexpr uint8_t kNever = 0, kBefore = 1, kNow = 2;

// So many rows without a gradient, or a few more, are updated at a time.
constexpr int64_t kBlockRows = 1024, kWordRows = 64;

// The rows of a table that change although they have no gradient now.
struct MovingRows {
  const uint8_t* touched;
  bool all;  // Those that never had one, too.

  struct List {
    int32_t rows[kBlockRows + kWordRows];
    int64_t count = 0;
    void add(int64_t row) { rows[count++] = static_cast<int32_t>(row); }
  };

  bool has(int64_t row) const { return touched[row] == kBefore || (all && touched[row] == kNever); }

  // Adds those from `row` on to the list, until it has a block of them; answers where to go on.
  int64_t list(int64_t row, int64_t end, List& list) const {
    for (; row + kWordRows <= end && list.count < kBlockRows; row += kWordRows) {
      for (uint64_t bits = word(row); bits != 0; bits &= bits - 1)
        list.add(row + std::countr_zero(bits));
    }
    if (list.count >= kBlockRows) return row;
    for (; row < end; ++row) {
      if (has(row)) list.add(row);
    }
    return end;
  }

 private:
  // A bit for each of the rows from `row` on. Eight marks at a time: their lowest bits are added up
  // into the highest byte of a product.
  uint64_t word(int64_t row) const {
    static_assert(kNever == 0 && kBefore == 1 && kNow == 2);
    uint64_t bits = 0;
    for (int64_t k = 0; k < kWordRows / 8; ++k) {
      uint64_t marks;
      std::memcpy(&marks, touched + row + 8 * k, sizeof(marks));
      marks = (all ? ~(marks >> 1) : marks) & 0x0101010101010101u;
      bits |= (marks * 0x0102040810204080u >> 56) << (8 * k);
    }
    return bits;
  }
};

// Threads write to lines of their own.
struct alignas(64) Reach {
  uint32_t weight_bits, slot_bits;

  // The bits of magnitudes are in the order of the numbers, with NaN above infinity.
  void add(const kernels::UpdateReach& reach) {
    weight_bits = std::max(weight_bits, std::bit_cast<uint32_t>(reach.weight));
    slot_bits = std::max(slot_bits, std::bit_cast<uint32_t>(reach.slot));
  }
};

struct Range {
  int64_t begin, end;
};

Range part_of(int64_t size, int parts, int part) {
  return {size * part / parts, size * (part + 1) / parts};
}

class UpdateKernel final : public Kernel {
 public:
  UpdateKernel(const UpdateLayout& layout, const Types& in, const Target& target)
      : layout_(layout) {
    int64_t dense_size = 0;
    for (size_t i = 0; i < layout.places.size(); ++i) {
      const UpdatePlace& place = layout.places[i];
      const Shape& shape = in[place.weight].shape;
      const auto segment = static_cast<int64_t>(i);
      if (place.rows) {
        const int moving = place.touched < 0 ? place.gradient : place.weight;
        const int threads = elementwise_threads(in[moving].shape.size(), target);
        tables_.push_back({segment, shape[0], shape[1], threads});
        threads_ = std::max(threads_, threads);
        zeros_ = std::max(zeros_, shape[1]);
      } else {
        dense_.push_back(segment);
        shares_.add(shape.size(), shape.size() >= ThreadShares::kLarge);
        dense_size += shape.size();
      }
    }
    dense_threads_ = elementwise_threads(dense_size, target);
    threads_ = std::max(threads_, dense_threads_);
    takes_back_ = threads_ > 1 && flushes_lines_soon();
  }

  size_t scratch_bytes() const override {
    return threads_ * sizeof(Reach) + zeros_ * sizeof(float);
  }

  void run(const Run& run) const noexcept override {
    const float product = layout_.product < 0 ? 1 : *run.input(layout_.product);
    const BoundRule rule(layout_.rule, *run.input(0), *run.input<int64_t>(1), product);
    auto* reaches = static_cast<Reach*>(run.scratch);
    std::memset(run.scratch, 0, scratch_bytes());
    parallel_parts(dense_threads_, [&](int part) { run_dense(run, rule, part, reaches[part]); });
    run_tables(run, rule, reaches);
    if (layout_.product >= 0) *written(run, layout_.product) = rule.product();
    Reach all{};
    for (int part = 0; part < threads_; ++part) {
      all.weight_bits = std::max(all.weight_bits, reaches[part].weight_bits);
      all.slot_bits = std::max(all.slot_bits, reaches[part].slot_bits);
    }
    run.output()[0] = std::bit_cast<float>(all.weight_bits);
    run.output()[1] = std::bit_cast<float>(all.slot_bits);
  }

 private:
  struct Table {
    int64_t place, rows, columns;
    int threads;
  };
  // The weights and slots of one segment.
  struct State {
    float* weight;
    float* slots[UpdateRule::kMostSlots];
    int slot_count;

    State at(int64_t element) const {
      State moved = *this;
      moved.weight += element;
      for (int k = 0; k < slot_count; ++k) moved.slots[k] += element;
      return moved;
    }
  };

  template <typename T = float>
  static T* written(const Run& run, int input) {
    return const_cast<T*>(run.input<T>(input));
  }

  State state(const Run& run, const UpdatePlace& place) const {
    State result{written(run, place.weight), {}, layout_.rule.slots()};
    for (int k = 0; k < result.slot_count; ++k) {
      result.slots[k] = written(run, place.weight + 1 + k);
    }
    return result;
  }

  kernels::UpdateStep step(const Run& run, int64_t segment) const {
    const bool decays = layout_.places[segment].decays;
    return {.learning_rate = *run.input(0),
            .gradient_scale = layout_.scales < 0 ? 1 : run.input(layout_.scales)[segment],
            .clip_value = layout_.clip_value,
            .weight_decay = decays ? layout_.weight_decay : 0,
            .takes_back = takes_back_};
  }

  void run_dense(const Run& run, const BoundRule& rule, int part, Reach& reach) const noexcept {
    for (size_t i = 0; i < dense_.size(); ++i) {
      const auto [begin, end] = shares_.share(i, part, dense_threads_);
      if (begin >= end) continue;
      const UpdatePlace& place = layout_.places[dense_[i]];
      const State at = state(run, place).at(begin);
      reach.add(rule.run(step(run, dense_[i]), at.weight, run.input(place.gradient) + begin,
                         at.slots, end - begin));
    }
  }

  void run_tables(const Run& run, const BoundRule& rule, Reach* reaches) const noexcept {
    if (tables_.empty()) return;
    mark_tables(run, kNow);
    parallel_parts(threads_, [&](int part) {
      for (const Table& table : tables_) {
        if (part < table.threads) run_table(run, rule, table, part, reaches[part]);
      }
    });
    mark_tables(run, kBefore);
  }

  void mark_tables(const Run& run, uint8_t value) const noexcept {
    parallel_parts(threads_, [&](int part) {
      for (size_t i = part; i < tables_.size(); i += threads_) {
        const UpdatePlace& place = layout_.places[tables_[i].place];
        if (place.touched < 0) continue;
        auto* touched = written<uint8_t>(run, place.touched);
        const auto* indices = run.input<int32_t>(place.gradient + 1);
        const int64_t count = *run.input<int32_t>(place.gradient + 2);
        for (int64_t k = 0; k < count; ++k) touched[indices[k]] = value;
      }
    });
  }

  void run_table(const Run& run, const BoundRule& rule, const Table& table, int part,
                 Reach& reach) const noexcept {
    const UpdatePlace& place = layout_.places[table.place];
    const int64_t count = *run.input<int32_t>(place.gradient + 2);
    run_listed(run, rule, table, part_of(count, table.threads, part), reach);
    if (place.touched < 0) return;
    run_others(run, rule, table, part_of(table.rows, table.threads, part), reach);
  }

  // The rows that have a gradient.
  void run_listed(const Run& run, const BoundRule& rule, const Table& table, Range range,
                  Reach& reach) const noexcept {
    const UpdatePlace& place = layout_.places[table.place];
    const State whole = state(run, place);
    const float* sums = run.input(place.gradient) + range.begin * table.columns;
    const auto* indices = run.input<int32_t>(place.gradient + 1) + range.begin;
    reach.add(rule.run(step(run, table.place), whole.weight, sums, whole.slots,
                       {indices, range.end - range.begin, table.columns, false}));
  }

  // The rows that have none, but move.
  void run_others(const Run& run, const BoundRule& rule, const Table& table, Range range,
                  Reach& reach) const noexcept {
    const UpdatePlace& place = layout_.places[table.place];
    const State whole = state(run, place);
    kernels::UpdateStep step = this->step(run, table.place);
    step.gradient_scale = 1;
    const bool all = step.weight_decay != 0 || !layout_.rule.rests_at_zero();
    const MovingRows moving{run.input<uint8_t>(place.touched), all};
    const auto* zeros = reinterpret_cast<const float*>(static_cast<Reach*>(run.scratch) + threads_);
    for (int64_t row = range.begin; row < range.end;) {
      MovingRows::List list;
      row = moving.list(row, range.end, list);
      reach.add(rule.run(step, whole.weight, zeros, whole.slots,
                         {list.rows, list.count, table.columns, true}));
    }
  }

  const UpdateLayout layout_;
  std::vector<int64_t> dense_;   // Places.
  ThreadShares shares_{kGrain};  // Of the dense ones.
  std::vector<Table> tables_;
  int dense_threads_ = 1;
  int threads_ = 1;  // The most that any pass has.
  bool takes_back_ = false;
  int64_t zeros_ = 0;  // The gradient of a row without one: the widest table's.
};

class Update final : public Op {
 public:
  explicit Update(UpdateLayout layout) : layout_(std::move(layout)) {}

  std::string_view name() const override { return "update"; }
  const UpdateLayout& layout() const { return layout_; }

  Types infer(const Types& in) const override {
    for (size_t i = 0; i < layout_.places.size(); ++i) check(in, layout_.places[i], i);
    return {{DType::float32, Shape{2}}};
  }

  Values gradient(const Node& node, const Values&) const override {
    return Values(node.in().size());
  }

  Traits traits() const override {
    Traits traits;
    if (layout_.product >= 0) traits.writes.push_back(layout_.product);
    for (const UpdatePlace& place : layout_.places) {
      for (int k = 0; k <= layout_.rule.slots(); ++k) traits.writes.push_back(place.weight + k);
      if (place.touched >= 0) traits.writes.push_back(place.touched);
    }
    return traits;
  }

  // Of a table with `touched`, as if every row were touched.
  Cost cost(const Types& in) const override {
    double elements = 0;
    for (const UpdatePlace& place : layout_.places) {
      const bool listed_only = place.rows && place.touched < 0;
      elements += static_cast<double>(in[listed_only ? place.gradient : place.weight].shape.size());
    }
    const double slots = layout_.rule.slots();
    return {.flops = (6 + 6 * slots) * elements,
            .bytes = (3 + 2 * slots) * elements * sizeof(float)};
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return std::make_unique<UpdateKernel>(layout_, in, target);
  }

 private:
  void check(const Types& in, const UpdatePlace& place, size_t segment) const {
    const Type& weight = in[place.weight];
    if (weight.dtype != DType::float32) {
      throw ShapeError("update: weight {} is {}; only float32 weights are trained", segment,
                       weight.text());
    }
    for (int k = 1; k <= layout_.rule.slots(); ++k) {
      if (in[place.weight + k] == weight) continue;
      throw ShapeError("update: weight {} is {}, its slot {} is {}; they must be of one type",
                       segment, weight.text(), k - 1, in[place.weight + k].text());
    }
    const Type& gradient = in[place.gradient];
    if (!place.rows && gradient != weight) {
      throw ShapeError("update: weight {} is {}, its gradient {}; they must be of one type",
                       segment, weight.text(), gradient.text());
    }
    if (place.rows && (weight.shape.rank() != 2 || gradient.shape.extent(1) != weight.shape[1])) {
      throw ShapeError("update: weight {} is {}, its gradient lists rows {}; they must be as wide",
                       segment, weight.text(), gradient.text());
    }
    const Type marks{DType::uint8, weight.shape.rank() > 0 ? Shape{weight.shape[0]} : Shape{}};
    if (place.touched >= 0 && in[place.touched] != marks) {
      throw ShapeError("update: weight {} is {}, its touched rows {}; they must be {}", segment,
                       weight.text(), in[place.touched].text(), marks.text());
    }
  }

  UpdateLayout layout_;
};

void expect(Value value, const Type& type, std::string_view what) {
  if (!value) throw Error("update: {} is missing; give a value {}", what, type.text());
  if (value.type() == type) return;
  throw ShapeError("update: {} is {}; it must be {}", what, value.type().text(), type.text());
}

// Appends a segment's values in the order that UpdatePlace describes.
UpdatePlace append(const UpdateSegment& segment, const UpdateRule& rule, bool decays, Values& in) {
  UpdatePlace place{.weight = static_cast<int>(in.size()), .decays = decays};
  if (segment.slots.size() != static_cast<size_t>(rule.slots())) {
    throw Error("update: {} has {} slots; the rule has {}", segment.weight.name(),
                segment.slots.size(), rule.slots());
  }
  in.push_back(segment.weight);
  in.insert(in.end(), segment.slots.begin(), segment.slots.end());
  place.gradient = static_cast<int>(in.size());
  place.rows = is_row_gradient(segment.gradient);
  if (!place.rows) {
    in.push_back(segment.gradient);
    return place;
  }
  const Node& node = *segment.gradient.producer();
  for (const int output : {0, 1, 2}) in.push_back(node.output(output));
  if (!wants_touched(rule, decays)) return place;
  if (!segment.touched) {
    throw Error("update: {} has a gradient of rows; give a variable for the touched rows",
                segment.weight.name());
  }
  place.touched = static_cast<int>(in.size());
  in.push_back(segment.touched);
  return place;
}

}  // namespace

const UpdateLayout* update_layout(const Op& op) {
  const auto* update = dynamic_cast<const Update*>(&op);
  return update == nullptr ? nullptr : &update->layout();
}

bool is_row_gradient(Value gradient) {
  return gradient && gradient.producer() != nullptr &&
         gradient.producer()->op().traits().row_gradient;
}

bool wants_touched(const UpdateRule& rule, bool decays) {
  return !rule.lazy && (decays || !rule.rests());
}

Value update(const std::vector<UpdateSegment>& segments, const UpdateOptions& options) {
  if (segments.empty()) throw Error("update: there is no weight; give at least one");
  expect(options.learning_rate, {DType::float32, {}}, "the learning rate");
  expect(options.iterations, {DType::int64, {}}, "the count of iterations");
  UpdateLayout layout{.rule = options.rule,
                      .clip_value = static_cast<float>(options.clip_value),
                      .weight_decay = static_cast<float>(options.weight_decay)};
  Values in = {options.learning_rate, options.iterations};
  if (options.scales) {
    const auto count = static_cast<int64_t>(segments.size());
    expect(options.scales, {DType::float32, Shape{count}}, "the list of scales");
    layout.scales = static_cast<int>(in.size());
    in.push_back(options.scales);
  }
  if (options.rule.has_product()) {
    expect(options.product, {DType::float32, {}}, "the product of momentum factors");
    layout.product = static_cast<int>(in.size());
    in.push_back(options.product);
  }
  for (const UpdateSegment& segment : segments) {
    const bool decays = segment.decays && layout.weight_decay != 0;
    layout.places.push_back(append(segment, options.rule, decays, in));
  }
  Graph& graph = segments[0].weight.graph();
  return graph.add<Update>(in, std::move(layout));
}

}  // namespace snug::ops
