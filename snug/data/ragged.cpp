#include "snug/data/ragged.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "snug/base/error.h"
#include "snug/data/random_source.h"
#include "snug/data/stage.h"

namespace snug::data {
namespace {

void check(const RaggedOptions& options) {
  const std::span<const int64_t> splits = options.row_splits;
  if (options.values.data == nullptr || options.values.shape.rank() == 0)
    throw Error("ragged: there are no values; give their data and a shape with the steps first");
  if (splits.size() < 2)
    throw Error("ragged: row_splits has no row; give one number more than rows");
  if (options.longest < 1)
    throw Error("ragged: longest is {}; declare how many steps a row has at most", options.longest);
  const int64_t steps = options.values.shape[0];
  for (size_t row = 0; row + 1 < splits.size(); ++row) {
    if (splits[row] < 0 || splits[row + 1] < splits[row] || splits[row + 1] > steps) {
      throw Error("ragged: row_splits say that row {} has the steps {} up to {}, but there are {}",
                  row, splits[row], splits[row + 1], steps);
    }
    const int64_t length = splits[row + 1] - splits[row];
    if (length <= options.longest || options.too_long == TooLong::cut) continue;
    throw DataError(
        "x: row {} has {} steps, but {} is the longest that was declared; declare more, or let "
        "longer rows be cut",
        row, length, options.longest);
  }
}

class RaggedSource final : public RandomSource {
 public:
  explicit RaggedSource(const RaggedOptions& options) : options_(options) {
    const Shape& shape = options.values.shape;
    Shape row{options.longest};
    for (int axis = 1; axis < shape.rank(); ++axis) row.push_back(shape[axis]);
    const int64_t rows = std::ssize(options.row_splits) - 1;
    set_fields({{.name = "x", .stored = options.values.stored, .row = row}}, {&rows, 1});
    step_ = row.size() / options.longest;
  }

  SourcePtr twin() override { return std::make_shared<RaggedSource>(options_); }

 protected:
  void read_run(int /*field*/, int64_t first, int64_t count, void* to, DType dtype) override {
    const size_t size = size_of(dtype);
    const int64_t whole = fields()[0].row.size();
    for (int64_t row = first; row < first + count; ++row) {
      auto* at = static_cast<std::byte*>(to) + static_cast<size_t>((row - first) * whole) * size;
      const auto index = static_cast<size_t>(row);
      const int64_t begin = options_.row_splits[index];
      const int64_t elements =
          std::min(options_.row_splits[index + 1] - begin, options_.longest) * step_;
      const auto* from = static_cast<const std::byte*>(options_.values.data) +
                         static_cast<size_t>(begin * step_) * size_of(options_.values.stored);
      stage_rows(fields()[0], {row, 0}, from, elements, at, dtype);
      pad(at + static_cast<size_t>(elements) * size, whole - elements, dtype);
    }
  }

 private:
  void pad(std::byte* to, int64_t count, DType dtype) const {
    std::array<std::byte, 8> element{};
    const float value = options_.padding_value;
    if (stage(&value, StoredType::float32, 1, element.data(), dtype))
      throw Error("ragged: the padding value {} is no {}", value, name_of(dtype));
    const size_t size = size_of(dtype);
    for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * size, element.data(), size);
  }

  RaggedOptions options_;
  int64_t step_ = 1;  // Elements of a step.
};

}  // namespace

SourcePtr ragged(const RaggedOptions& options) {
  check(options);
  return std::make_shared<RaggedSource>(options);
}

}  // namespace snug::data
