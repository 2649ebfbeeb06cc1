#include "snug/data/generator.h"

#include <algorithm>
#include <utility>

#include "snug/base/error.h"
#include "snug/data/stage.h"

namespace snug {
namespace {

// For pieces that are cast; one row at least.
constexpr size_t kPieceBytes = size_t{64} << 10;

class Generator final : public Source {
 public:
  Generator(NextRows next, GeneratorSpec spec) : next_(std::move(next)), spec_(std::move(spec)) {
    if (!next_) throw Error("generator: no function was given that makes rows");
    add(spec_.x, FieldRole::input, "x");
    add(spec_.y, FieldRole::target, "y");
    if (spec_.weighted) add(FieldSpecs(Shape{}), FieldRole::weight, "sample_weight");
    check_fields(fields_, std::vector<int64_t>(fields_.size()));
    make_buffer();
  }

  const std::vector<Field>& fields() const override { return fields_; }
  std::optional<int64_t> rows() const override { return spec_.rows; }
  Access access() const override { return spec_.restart ? Access::replay : Access::once; }
  size_t buffer_bytes() const override { return buffer_.size(); }

  void read(int /*field*/, std::span<const int64_t> /*rows*/, const Tensor& /*slot*/) override {
    throw InternalError("a generator has no random access");
  }

  int64_t next(int64_t count, std::span<const Tensor> slots) override {
    bool direct = true;
    for (size_t i = 0; i < slots.size(); ++i) direct &= writes_into(slots[i], i);
    int64_t done = 0;
    while (done < count && !ended_) {
      int64_t room = direct ? count - done : std::min(count - done, piece_rows_);
      if (spec_.rows) room = std::min(room, *spec_.rows - position_);
      const int64_t made = room == 0 ? 0 : make(room, done, slots);
      ended_ = made == 0;
      done += made;
      position_ += made;
    }
    if (ended_ && spec_.rows && position_ < *spec_.rows) {
      throw Error("generator: it ended after {} rows, but its spec says {}; correct .rows",
                  position_, *spec_.rows);
    }
    return done;
  }

  void restart() override {
    if (!spec_.restart) {
      throw Error(
          "generator: it cannot start again after {} rows, because its spec has no "
          ".restart; give one, or read it once",
          position_);
    }
    spec_.restart();
    position_ = 0;
    ended_ = false;
  }

 private:
  void add(const FieldSpecs& specs, FieldRole role, std::string_view stem) {
    for (size_t i = 0; i < specs.size(); ++i) {
      fields_.push_back({.name = "generator: " + field_name(stem, i, specs.size()),
                         .role = role,
                         .stored = stored_as(specs[i].dtype),
                         .row = specs[i].row});
      types_.push_back(specs[i].dtype);
    }
  }

  void make_buffer() {
    size_t row_bytes = 0;
    for (const Field& field : fields_) row_bytes += field.row_bytes();
    piece_rows_ = std::max<int64_t>(1, static_cast<int64_t>(kPieceBytes / row_bytes));
    size_t bytes = 0;
    for (const Field& field : fields_) {
      Shape shape{piece_rows_};
      for (const Extent extent : field.row.extents()) shape.push_back(extent);
      pieces_.push_back({.type = {types_[pieces_.size()], shape}});
      bytes += aligned(pieces_.back().bytes());
    }
    buffer_.resize(bytes);
    std::byte* at = buffer_.data();
    for (Tensor& piece : pieces_) {
      piece.data = at;
      at += aligned(piece.bytes());
    }
    views_.resize(fields_.size());
  }

  static size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

  bool writes_into(const Tensor& slot, size_t field) const {
    return slot.data != nullptr && slot.dtype() == types_[field];
  }

  // Lets the function make up to `room` rows for the slots' rows from `first` on.
  int64_t make(int64_t room, int64_t first, std::span<const Tensor> slots) {
    for (size_t i = 0; i < fields_.size(); ++i) {
      views_[i] = rows_of(pieces_[i], 0, room);
      // In the shape that the spec says: the slot's may differ by axes of 1.
      if (writes_into(slots[i], i)) views_[i].data = row_of(slots[i], i, first);
    }
    const int64_t made = next_(views_);
    if (made < 0 || made > room) {
      throw Error(
          "generator: it says that it made {} rows, but there was room for {}; return the number "
          "of rows that were written to the slots, 0 at the end",
          made, room);
    }
    for (size_t i = 0; i < fields_.size(); ++i) {
      if (slots[i].data == nullptr || made == 0) continue;
      stage_rows(fields_[i], {position_, 0}, views_[i].data, made * fields_[i].row.size(),
                 row_of(slots[i], i, first), slots[i].dtype());
    }
    return made;
  }

  std::byte* row_of(const Tensor& slot, size_t field, int64_t row) const {
    const int64_t element = row * fields_[field].row.size();
    return static_cast<std::byte*>(slot.data) +
           static_cast<size_t>(element) * size_of(slot.dtype());
  }

  NextRows next_;
  GeneratorSpec spec_;
  std::vector<Field> fields_;
  std::vector<DType> types_;
  std::vector<std::byte> buffer_;
  std::vector<Tensor> pieces_;  // Of the buffer: for slots of another type, or without data.
  std::vector<Tensor> views_;   // What the function sees.
  int64_t piece_rows_ = 1;
  int64_t position_ = 0;
  bool ended_ = false;
};

}  // namespace

namespace data {

SourcePtr generator(NextRows next, GeneratorSpec spec) {
  return std::make_shared<Generator>(std::move(next), std::move(spec));
}

}  // namespace data
}  // namespace snug
