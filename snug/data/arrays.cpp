#include "snug/data/arrays.h"

#include "snug/base/error.h"
#include "snug/data/random_source.h"
#include "snug/data/stage.h"

namespace snug {
namespace {

class ArraySource final : public RandomSource {
 public:
  explicit ArraySource(const data::ArraysOptions& options) : options_(options) {
    std::vector<Field> fields;
    for (size_t i = 0; i < options.x.size(); ++i) {
      fields.push_back(add(options.x[i], FieldRole::input, field_name("x", i, options.x.size())));
    }
    for (size_t i = 0; i < options.y.size(); ++i) {
      fields.push_back(add(options.y[i], FieldRole::target, field_name("y", i, options.y.size())));
    }
    if (options.sample_weight.data != nullptr) {
      fields.push_back(add(options.sample_weight, FieldRole::weight, "sample_weight"));
    }
    std::vector<int64_t> rows;
    for (const Array& array : arrays_) rows.push_back(array.shape[0]);
    set_fields(std::move(fields), rows);
  }

  SourcePtr twin() override { return std::make_shared<ArraySource>(options_); }
  const void* borrow(int field, int64_t first, int64_t count, DType dtype) override {
    const Array& array = arrays_[field];
    if (!is_same(array.stored, dtype) || first + count > array.shape[0]) return nullptr;
    return row(field, first);
  }

 protected:
  void read_run(int field, int64_t first, int64_t count, void* to, DType dtype) override {
    const Field& from = fields()[field];
    stage_rows(from, {first, 0}, row(field, first), count * from.row.size(), to, dtype);
  }

 private:
  const std::byte* row(int field, int64_t row) const {
    return static_cast<const std::byte*>(arrays_[field].data) +
           static_cast<size_t>(row) * fields()[field].row_bytes();
  }

  Field add(const Array& array, FieldRole role, std::string name) {
    if (array.data == nullptr || array.shape.rank() == 0) {
      throw Error("{}: the array is empty; give its data and a shape with the rows first", name);
    }
    arrays_.push_back(array);
    return {.name = std::move(name),
            .role = role,
            .stored = array.stored,
            .row = array.shape.part(1, array.shape.rank())};
  }

  data::ArraysOptions options_;
  std::vector<Array> arrays_;
};

}  // namespace

namespace data {

SourcePtr arrays(const ArraysOptions& options) { return std::make_shared<ArraySource>(options); }

}  // namespace data
}  // namespace snug
