#include "snug/data/joined.h"

#include <algorithm>
#include <array>
#include <vector>

#include "snug/base/error.h"
#include "snug/data/random_source.h"
#include "snug/data/stage.h"

namespace snug::data {
namespace {

// A run of neighbouring rows of another source.
void read_stretch(Source& source, int field, int64_t first, int64_t count, void* to, DType dtype) {
  std::array<int64_t, 256> numbers{};
  const int64_t elements = source.fields()[field].row.size();
  auto* at = static_cast<std::byte*>(to);
  for (int64_t done = 0; done < count; done += std::ssize(numbers)) {
    const int64_t some = std::min<int64_t>(std::ssize(numbers), count - done);
    for (int64_t i = 0; i < some; ++i) numbers[i] = first + done + i;
    source.read(field, std::span(numbers).first(some), {{dtype, Shape{some, elements}}, at});
    at += static_cast<size_t>(some * elements) * size_of(dtype);
  }
}

int64_t ahead_of(const Source& first, const Source& second) {
  return first.batches_ahead() != 0 || second.batches_ahead() != 0 ? Source::kAsManyAsHelp : 0;
}

template <typename Joined>
SourcePtr twin_of(Source& first, Source& second) {
  SourcePtr a = first.twin(), b = second.twin();
  return a && b ? std::make_shared<Joined>(std::move(a), std::move(b)) : nullptr;
}

class ConcatenatedSource final : public RandomSource {
 public:
  ConcatenatedSource(SourcePtr first, SourcePtr second)
      : first_(std::move(first)), second_(std::move(second)) {
    check();
    const int64_t rows = *first_->rows() + *second_->rows();
    set_fields(first_->fields(), std::vector<int64_t>(first_->fields().size(), rows));
  }

  size_t buffer_bytes() const override { return first_->buffer_bytes() + second_->buffer_bytes(); }
  int64_t batches_ahead() const override { return ahead_of(*first_, *second_); }
  SourcePtr twin() override { return twin_of<ConcatenatedSource>(*first_, *second_); }
  bool reorders() const override { return first_->reorders() || second_->reorders(); }
  void begin_pass(uint64_t pass) override {
    first_->begin_pass(pass);
    second_->begin_pass(pass);
    RandomSource::begin_pass(pass);
  }
  std::string place(int field, int64_t row) override {
    const int64_t border = *first_->rows();
    return row < border ? first_->place(field, row) : second_->place(field, row - border);
  }

 protected:
  void read_run(int field, int64_t first, int64_t count, void* to, DType dtype) override {
    const int64_t border = *first_->rows();
    const int64_t before = std::clamp<int64_t>(border - first, 0, count);
    if (before > 0) read_stretch(*first_, field, first, before, to, dtype);
    if (before == count) return;
    auto* rest = static_cast<std::byte*>(to) +
                 static_cast<size_t>(before * fields()[field].row.size()) * size_of(dtype);
    read_stretch(*second_, field, std::max<int64_t>(0, first - border), count - before, rest,
                 dtype);
  }

 private:
  void check() const {
    const std::vector<Field>&a = first_->fields(), &b = second_->fields();
    if (a.size() != b.size()) {
      throw Error("Dataset: concatenate: {} has {} fields, but {} has {}", a[0].name, a.size(),
                  b[0].name, b.size());
    }
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i].row == b[i].row && a[i].role == b[i].role) continue;
      throw Error("Dataset: concatenate: a row of {} has the shape {}, but a row of {} has {}",
                  a[i].name, a[i].row.text(), b[i].name, b[i].row.text());
    }
  }

  SourcePtr first_, second_;
};

class ZippedSource final : public RandomSource {
 public:
  ZippedSource(SourcePtr first, SourcePtr second) : sources_{std::move(first), std::move(second)} {
    std::vector<Field> fields;
    for (const FieldRole role : {FieldRole::input, FieldRole::target, FieldRole::weight}) {
      for (int source = 0; source < 2; ++source) {
        const std::vector<Field>& from = sources_[source]->fields();
        for (int i = 0; i < std::ssize(from); ++i) {
          if (from[i].role != role) continue;
          fields.push_back(from[i]);
          places_.push_back({source, i});
        }
      }
    }
    if (std::ranges::count(fields, FieldRole::weight, &Field::role) > 1) {
      throw Error("Dataset: zip: both sides have weights; a row has one");
    }
    const int64_t rows = std::min(*sources_[0]->rows(), *sources_[1]->rows());
    set_fields(fields, std::vector<int64_t>(fields.size(), rows));
  }

  size_t buffer_bytes() const override {
    return sources_[0]->buffer_bytes() + sources_[1]->buffer_bytes();
  }
  int64_t batches_ahead() const override { return ahead_of(*sources_[0], *sources_[1]); }
  SourcePtr twin() override { return twin_of<ZippedSource>(*sources_[0], *sources_[1]); }
  bool reorders() const override { return sources_[0]->reorders() || sources_[1]->reorders(); }
  void begin_pass(uint64_t pass) override {
    for (const SourcePtr& source : sources_) source->begin_pass(pass);
    RandomSource::begin_pass(pass);
  }
  std::string place(int field, int64_t row) override {
    const Place place = places_[static_cast<size_t>(field)];
    return sources_[place.source]->place(place.field, row);
  }

 protected:
  void read_run(int field, int64_t first, int64_t count, void* to, DType dtype) override {
    const Place place = places_[static_cast<size_t>(field)];
    read_stretch(*sources_[place.source], place.field, first, count, to, dtype);
  }

 private:
  struct Place {
    int source, field;
  };
  SourcePtr sources_[2];
  std::vector<Place> places_;
};

class NumberedSource final : public RandomSource {
 public:
  NumberedSource(int64_t count, int64_t first) : first_(first) {
    const bool wide = first < INT32_MIN || first + count - 1 > INT32_MAX;
    Field field = number_;
    if (!wide) field.stored = StoredType::int32;
    set_fields({field}, std::vector<int64_t>{count});
  }
  SourcePtr twin() override { return std::make_shared<NumberedSource>(*rows(), first_); }

 protected:
  void read_run(int field, int64_t first, int64_t count, void* to, DType dtype) override {
    SNUG_CHECK(field == 0);
    auto* at = static_cast<std::byte*>(to);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t number = first_ + first + i;
      stage_rows(number_, {first + i, 0}, &number, 1, at, dtype);
      at += size_of(dtype);
    }
  }

 private:
  // As read_run() counts them; the field itself is int32 where that holds all.
  const Field number_{.name = "range", .stored = StoredType::int64, .row = {}};
  int64_t first_;
};

}  // namespace

SourcePtr concatenated(SourcePtr first, SourcePtr second) {
  return std::make_shared<ConcatenatedSource>(std::move(first), std::move(second));
}

SourcePtr zipped(SourcePtr first, SourcePtr second) {
  return std::make_shared<ZippedSource>(std::move(first), std::move(second));
}

SourcePtr numbered(int64_t count, int64_t first) {
  return std::make_shared<NumberedSource>(count, first);
}

}  // namespace snug::data
