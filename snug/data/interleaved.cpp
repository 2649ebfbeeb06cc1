#include "snug/data/interleaved.h"

#include <algorithm>
#include <array>
#include <limits>

#include "snug/base/error.h"
#include "snug/data/random_source.h"

namespace snug {

void InterleavedOrder::add_phase(std::vector<Turn> turns, int64_t block, int64_t rows) {
  if (rows == 0) return;
  phases_.push_back({.first = size_, .block = block, .turns = std::move(turns)});
  size_ += rows;
}

// As long as all sources that take turns have a whole block, one phase describes it; a round in
// which one begins or ends is written down turn by turn. A source is only found to have ended when
// it gives less than a block, which may be nothing.
InterleavedOrder::InterleavedOrder(std::vector<int64_t> sizes, const InterleaveOptions& options) {
  struct Open {
    int source = -1;  // None: nothing is left for this place.
    int64_t row = 0;
  };
  std::vector<Open> open(static_cast<size_t>(
      std::min<int64_t>(options.cycle_length, std::max<int64_t>(1, std::ssize(sizes)))));
  const auto is_open = [](const Open& place) { return place.source >= 0; };
  const auto left = [&](const Open& place) {
    return sizes[static_cast<size_t>(place.source)] - place.row;
  };
  int next = 0;
  const auto sources = static_cast<int>(sizes.size());
  while (next < sources || std::ranges::any_of(open, is_open)) {
    if (next == sources || std::ranges::all_of(open, is_open)) {
      std::vector<Turn> turns;
      int64_t rounds = std::numeric_limits<int64_t>::max();
      for (const Open& place : open) {
        if (!is_open(place)) continue;
        turns.push_back({place.source, place.row});
        rounds = std::min(rounds, left(place) / options.block_length);
      }
      const int64_t rows = rounds * options.block_length;
      for (Open& place : open) place.row += rows;
      const int64_t all = rows * std::ssize(turns);
      add_phase(std::move(turns), options.block_length, all);
    }
    for (Open& place : open) {
      if (!is_open(place) && next < sources) place = {next++, 0};
      if (!is_open(place)) continue;
      const int64_t rows = std::min(options.block_length, left(place));
      add_phase({{place.source, place.row}}, options.block_length, rows);
      place.row += rows;
      if (rows < options.block_length) place = {};
    }
  }
}

InterleavedOrder::Place InterleavedOrder::place(int64_t position) const {
  const auto after = std::ranges::upper_bound(phases_, position, {}, &Phase::first);
  const Phase& phase = *(after - 1);
  const int64_t within = position - phase.first, block = within / phase.block;
  const int64_t turns = std::ssize(phase.turns);
  const Turn& turn = phase.turns[static_cast<size_t>(block % turns)];
  return {turn.source, turn.row + block / turns * phase.block + within % phase.block};
}

namespace data {
namespace {

class InterleavedSource final : public RandomSource {
 public:
  InterleavedSource(std::vector<SourcePtr> sources, std::shared_ptr<const InterleavedOrder> order)
      : sources_(std::move(sources)), order_(std::move(order)) {
    const std::vector<Field>& fields = sources_[0]->fields();
    set_fields(fields, std::vector<int64_t>(fields.size(), order_->size()));
  }

  int64_t batches_ahead() const override {
    const auto ahead = [](const SourcePtr& source) { return source->batches_ahead() != 0; };
    return std::ranges::any_of(sources_, ahead) ? kAsManyAsHelp : 0;
  }
  size_t buffer_bytes() const override {
    size_t bytes = 0;
    for (const SourcePtr& source : sources_) bytes += source->buffer_bytes();
    return bytes;
  }
  SourcePtr twin() override {
    std::vector<SourcePtr> twins;
    for (const SourcePtr& source : sources_) {
      twins.push_back(source->twin());
      if (!twins.back()) return nullptr;
    }
    return std::make_shared<InterleavedSource>(std::move(twins), order_);
  }
  bool reorders() const override {
    return std::ranges::any_of(sources_,
                               [](const SourcePtr& source) { return source->reorders(); });
  }
  void begin_pass(uint64_t pass) override {
    for (const SourcePtr& source : sources_) source->begin_pass(pass);
    RandomSource::begin_pass(pass);
  }
  std::string place(int field, int64_t row) override {
    const InterleavedOrder::Place place = order_->place(row);
    return sources_[static_cast<size_t>(place.source)]->place(field, place.row);
  }

 protected:
  void read_run(int field, int64_t first, int64_t count, void* to, DType dtype) override {
    const int64_t elements = fields()[field].row.size();
    auto* at = static_cast<std::byte*>(to);
    std::array<int64_t, 256> numbers{};
    for (int64_t done = 0; done < count;) {
      const InterleavedOrder::Place begin = order_->place(first + done);
      // As many as stand together in one source.
      int64_t some = 0;
      while (some < std::min<int64_t>(std::ssize(numbers), count - done)) {
        const InterleavedOrder::Place place = order_->place(first + done + some);
        if (place.source != begin.source) break;
        numbers[static_cast<size_t>(some++)] = place.row;
      }
      sources_[static_cast<size_t>(begin.source)]->read(
          field, std::span(numbers).first(static_cast<size_t>(some)),
          {{dtype, Shape{some, elements}}, at});
      at += static_cast<size_t>(some * elements) * size_of(dtype);
      done += some;
    }
  }

 private:
  std::vector<SourcePtr> sources_;
  std::shared_ptr<const InterleavedOrder> order_;
};

void check_same_fields(const Source& first, const Source& other) {
  const std::vector<Field>&a = first.fields(), &b = other.fields();
  if (a.size() != b.size()) {
    throw Error("interleave: {} has {} fields, but {} has {}", a[0].name, a.size(), b[0].name,
                b.size());
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].row == b[i].row && a[i].role == b[i].role) continue;
    throw Error("interleave: a row of {} has the shape {}, but a row of {} has {}", a[i].name,
                a[i].row.text(), b[i].name, b[i].row.text());
  }
}

}  // namespace

SourcePtr interleaved(std::vector<SourcePtr> sources, const InterleaveOptions& options) {
  if (sources.empty()) throw Error("interleave: there is nothing to take rows from");
  if (options.cycle_length < 1 || options.block_length < 1) {
    throw Error("interleave: cycle_length is {} and block_length {}; both must be 1 or more",
                options.cycle_length, options.block_length);
  }
  std::vector<int64_t> sizes;
  for (const SourcePtr& source : sources) {
    if (source->access() != Access::random) {
      throw Error("interleave: {} and its fellows come in sequence; it needs rows with numbers",
                  source->fields()[0].name);
    }
    check_same_fields(*sources[0], *source);
    sizes.push_back(*source->rows());
  }
  auto order = std::make_shared<const InterleavedOrder>(std::move(sizes), options);
  return std::make_shared<InterleavedSource>(std::move(sources), std::move(order));
}

}  // namespace data
}  // namespace snug
