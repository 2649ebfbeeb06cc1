#include "snug/data/windows.h"

#include <algorithm>
#include <array>
#include <vector>

#include "snug/base/error.h"
#include "snug/data/random_source.h"

namespace snug::data {
namespace {

// How a field's row is made: `size` rows from `first` + window * `shift` on, `stride` apart.
struct Cut {
  int64_t size = 1, stride = 1, first = 0, shift = 1;
};

Shape longer(const Field& field, int64_t size) {
  Shape shape{size};
  for (const Extent extent : field.row.extents()) shape.push_back(extent);
  return shape;
}

class WindowedSource final : public RandomSource {
 public:
  // A cut for each field; those with an axis more say so by `long_`.
  WindowedSource(SourcePtr source, std::vector<Cut> cuts, std::vector<bool> is_longer,
                 int64_t windows)
      : source_(std::move(source)),
        cuts_(std::move(cuts)),
        is_longer_(std::move(is_longer)),
        windows_(windows) {
    std::vector<Field> fields = source_->fields();
    for (size_t i = 0; i < fields.size(); ++i) {
      if (is_longer_[i]) fields[i].row = longer(fields[i], cuts_[i].size);
    }
    set_fields(fields, std::vector<int64_t>(fields.size(), windows));
  }

  int64_t batches_ahead() const override { return source_->batches_ahead(); }
  size_t buffer_bytes() const override { return source_->buffer_bytes(); }
  SourcePtr twin() override {
    SourcePtr twin = source_->twin();
    if (!twin) return nullptr;
    return std::make_shared<WindowedSource>(std::move(twin), cuts_, is_longer_, windows_);
  }
  bool reorders() const override { return source_->reorders(); }
  void begin_pass(uint64_t pass) override {
    source_->begin_pass(pass);
    RandomSource::begin_pass(pass);
  }
  std::string place(int field, int64_t row) override {
    const Cut& cut = cuts_[static_cast<size_t>(field)];
    return source_->place(field, cut.first + row * cut.shift);
  }

 protected:
  void read_run(int field, int64_t first, int64_t count, void* to, DType dtype) override {
    const Cut& cut = cuts_[static_cast<size_t>(field)];
    const int64_t elements = source_->fields()[field].row.size();
    auto* at = static_cast<std::byte*>(to);
    std::array<int64_t, 256> numbers{};
    // Row by row of all windows together, a few at a time.
    for (int64_t done = 0; done < count * cut.size; done += std::ssize(numbers)) {
      const int64_t some = std::min<int64_t>(std::ssize(numbers), count * cut.size - done);
      for (int64_t i = 0; i < some; ++i) {
        const int64_t window = first + (done + i) / cut.size, step = (done + i) % cut.size;
        numbers[static_cast<size_t>(i)] = cut.first + window * cut.shift + step * cut.stride;
      }
      source_->read(field, std::span(numbers).first(static_cast<size_t>(some)),
                    {{dtype, Shape{some, elements}}, at});
      at += static_cast<size_t>(some * elements) * size_of(dtype);
    }
  }

 private:
  SourcePtr source_;
  std::vector<Cut> cuts_;
  std::vector<bool> is_longer_;
  int64_t windows_;
};

void check_number(std::string_view what, int64_t number, int64_t least) {
  if (number < least) throw Error("{} is {}; it must be {} or more", what, number, least);
}

}  // namespace

SourcePtr windows(SourcePtr source, const WindowOptions& options) {
  SNUG_CHECK(source->access() == Access::random);
  const int64_t shift = options.shift.value_or(options.size);
  check_number("window: size", options.size, 1);
  check_number("window: shift", shift, 1);
  check_number("window: stride", options.stride, 1);
  const std::vector<Field>& fields = source->fields();
  if (std::ranges::find(fields, FieldRole::weight, &Field::role) != fields.end()) {
    throw Error("window: a window of rows would have a window of weights; leave out the weights");
  }
  const int64_t rows = *source->rows(), span = (options.size - 1) * options.stride + 1;
  if (span > rows) {
    throw Error("window: a window reaches over {} rows, but there are {}; give a smaller one", span,
                rows);
  }
  const Cut cut{.size = options.size, .stride = options.stride, .first = 0, .shift = shift};
  const size_t count = fields.size();
  return std::make_shared<WindowedSource>(std::move(source), std::vector<Cut>(count, cut),
                                          std::vector<bool>(count, true),
                                          (rows - span) / shift + 1);
}

SourcePtr timeseries(SourcePtr source, const TimeseriesOptions& options) {
  SNUG_CHECK(source->access() == Access::random);
  check_number("timeseries: sequence_length", options.sequence_length, 1);
  check_number("timeseries: sequence_stride", options.sequence_stride, 1);
  check_number("timeseries: sampling_rate", options.sampling_rate, 1);
  check_number("timeseries: start_index", options.start_index, 0);
  check_number("timeseries: target_delay", options.target_delay, 0);
  const int64_t rows = *source->rows(), end = options.end_index.value_or(rows);
  if (end > rows || end <= options.start_index) {
    throw Error("timeseries: rows {} up to {} were asked for, but there are rows 0 to {}",
                options.start_index, end, rows - 1);
  }
  // Of a sequence, and of the target that comes later.
  const int64_t span =
      std::max((options.sequence_length - 1) * options.sampling_rate, options.target_delay);
  const int64_t starts = end - options.start_index - span;
  if (starts < 1) {
    throw Error(
        "timeseries: a sequence with its target reaches over {} rows, but there are {}; give a "
        "smaller sequence_length, sampling_rate or target_delay",
        span + 1, end - options.start_index);
  }
  std::vector<Cut> cuts;
  std::vector<bool> is_longer;
  for (const Field& field : source->fields()) {
    const bool input = field.role == FieldRole::input;
    is_longer.push_back(input);
    cuts.push_back({.size = input ? options.sequence_length : 1,
                    .stride = options.sampling_rate,
                    .first = options.start_index + (input ? 0 : options.target_delay),
                    .shift = options.sequence_stride});
  }
  return std::make_shared<WindowedSource>(std::move(source), std::move(cuts), std::move(is_longer),
                                          (starts - 1) / options.sequence_stride + 1);
}

}  // namespace snug::data
