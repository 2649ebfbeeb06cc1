#include "snug/data/arrays.h"

#include <cstring>

#include "snug/base/error.h"
#include "snug/data/stage.h"

namespace snug {
namespace {

class ArraySource final : public Source {
 public:
  explicit ArraySource(const data::ArraysOptions& options) {
    for (const Array& x : options.x)
      add(x, FieldRole::input, fmt::format("x{}", suffix(options.x, fields_.size())));
    for (size_t i = 0; i < options.y.size(); ++i) {
      add(options.y[i], FieldRole::target, fmt::format("y{}", suffix(options.y, i)));
    }
    if (options.sample_weight.data != nullptr)
      add(options.sample_weight, FieldRole::weight, "sample_weight");
    check_rows();
  }

  const std::vector<Field>& fields() const override { return fields_; }
  std::optional<int64_t> rows() const override { return arrays_[0].shape[0]; }
  Access access() const override { return Access::random; }

  void read(int field, std::span<const int64_t> rows, const Tensor& slot) override {
    const Array& array = arrays_[field];
    const int64_t elements = fields_[field].row.size();
    const size_t row_bytes = static_cast<size_t>(elements) * size_of(array.stored);
    const auto* from = static_cast<const std::byte*>(array.data);
    auto* to = static_cast<std::byte*>(slot.data);
    const size_t slot_bytes = static_cast<size_t>(elements) * size_of(slot.dtype());
    // Neighbours are cast in one go.
    for (size_t i = 0; i < rows.size();) {
      size_t run = 1;
      while (i + run < rows.size() && rows[i + run] == rows[i] + static_cast<int64_t>(run)) ++run;
      const std::byte* begin = from + static_cast<size_t>(rows[i]) * row_bytes;
      const int64_t count = elements * static_cast<int64_t>(run);
      if (const auto bad = stage(begin, array.stored, count, to + i * slot_bytes, slot.dtype())) {
        refuse_element(fields_[field], rows[i] + *bad / elements, *bad % elements,
                       element_text(begin, array.stored, *bad), slot.dtype());
      }
      i += run;
    }
  }

  const void* borrow(int field, int64_t first, int64_t count, DType dtype) override {
    const Array& array = arrays_[field];
    const bool same = (array.stored == StoredType::float32 && dtype == DType::float32) ||
                      (array.stored == StoredType::int32 && dtype == DType::int32);
    if (!same || first + count > array.shape[0]) return nullptr;
    const size_t row_bytes = static_cast<size_t>(fields_[field].row.size()) * size_of(array.stored);
    return static_cast<const std::byte*>(array.data) + static_cast<size_t>(first) * row_bytes;
  }

  int64_t next(int64_t count, std::span<const Tensor> slots) override {
    const int64_t rows = std::min(count, arrays_[0].shape[0] - position_);
    std::vector<int64_t> numbers(rows);
    for (int64_t i = 0; i < rows; ++i) numbers[i] = position_ + i;
    for (size_t i = 0; i < slots.size(); ++i) read(static_cast<int>(i), numbers, slots[i]);
    position_ += rows;
    return rows;
  }
  void restart() override { position_ = 0; }

 private:
  static std::string suffix(const std::vector<Array>& arrays, size_t i) {
    return arrays.size() == 1 ? "" : std::to_string(i);
  }

  void add(const Array& array, FieldRole role, std::string name) {
    if (array.data == nullptr || array.shape.rank() == 0) {
      throw Error("{}: the array is empty; give its data and a shape with the rows first", name);
    }
    arrays_.push_back(array);
    fields_.push_back({.name = std::move(name),
                       .role = role,
                       .stored = array.stored,
                       .row = array.shape.part(1, array.shape.rank())});
  }

  void check_rows() const {
    if (arrays_.empty()) throw Error("data: no array was given");
    std::string sizes;
    bool differ = false;
    for (size_t i = 0; i < arrays_.size(); ++i) {
      sizes += fmt::format("{}{} has {}", i > 0 ? ", " : "", fields_[i].name, arrays_[i].shape[0]);
      differ |= arrays_[i].shape[0] != arrays_[0].shape[0];
    }
    if (differ) throw Error("data: all arrays need the same number of rows, but {}", sizes);
  }

  std::vector<Array> arrays_;
  std::vector<Field> fields_;
  int64_t position_ = 0;
};

}  // namespace

namespace data {

SourcePtr arrays(const ArraysOptions& options) { return std::make_shared<ArraySource>(options); }

}  // namespace data
}  // namespace snug
