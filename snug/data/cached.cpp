#include "snug/data/cached.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <numeric>

#include "snug/base/error.h"
#include "snug/data/ordered.h"
#include "snug/data/random_source.h"
#include "snug/data/stage.h"

namespace snug::data {
namespace {

// How a field is kept for slots of a type: bytes stay bytes, all else is what the slot holds.
DType kept_type(const Field& field, DType wanted) {
  return field.stored == StoredType::uint8 ? DType::uint8 : wanted;
}

// One bit a row, for several threads.
class Marks {
 public:
  void resize(int64_t rows) { words_.resize(static_cast<size_t>((rows + 63) / 64)); }
  bool has(int64_t row) {
    return (word(row).load(std::memory_order_acquire) >> (row % 64) & 1) != 0;
  }
  // Whether it had it before.
  bool add(int64_t row) {
    const uint64_t bit = uint64_t{1} << (row % 64);
    return (word(row).fetch_or(bit, std::memory_order_acq_rel) & bit) != 0;
  }

 private:
  std::atomic_ref<uint64_t> word(int64_t row) {
    return std::atomic_ref(words_[static_cast<size_t>(row / 64)]);
  }
  std::vector<uint64_t> words_;
};

// The kept rows of one field, for slots of one type: that which is asked for first.
struct KeptField {
  std::once_flag once;
  DType wanted = DType::float32, kept = DType::float32;
  size_t row_bytes = 0;
  std::vector<std::byte> rows;
  Marks begun, ready;  // A row is written by the thread that has begun it.
};

struct Kept {
  Kept(size_t fields, int64_t count) : fields(fields), count(count) {}
  std::vector<KeptField> fields;
  int64_t count;  // Rows 0 .. count-1 are kept.
};

class CachedSource final : public RandomSource {
 public:
  CachedSource(SourcePtr source, std::shared_ptr<Kept> kept)
      : source_(std::move(source)), kept_(std::move(kept)) {
    set_fields(source_->fields(), std::vector<int64_t>(source_->fields().size(), *source_->rows()));
  }

  int64_t batches_ahead() const override {
    return kept_->count < *rows() ? source_->batches_ahead() : 0;
  }
  size_t buffer_bytes() const override {
    return source_->buffer_bytes() + static_cast<size_t>(kept_->count) * row_cost(fields());
  }
  SourcePtr twin() override {
    SourcePtr twin = source_->twin();
    return twin ? std::make_shared<CachedSource>(std::move(twin), kept_) : nullptr;
  }
  void begin_pass(uint64_t pass) override {
    source_->begin_pass(pass);
    RandomSource::begin_pass(pass);
  }
  std::string place(int field, int64_t row) override { return source_->place(field, row); }

  void read(int field, std::span<const int64_t> rows, const Tensor& slot) override {
    KeptField& kept = kept_->fields[static_cast<size_t>(field)];
    std::call_once(kept.once, [&] { begin(field, kept, slot.dtype()); });
    if (kept.wanted != slot.dtype()) return source_->read(field, rows, slot);
    // Those that are not kept are read together.
    for (size_t at = 0; at < rows.size();) {
      size_t end = at;
      while (end < rows.size() && !holds(field, kept, rows[end])) ++end;
      if (end > at) {
        const auto count = static_cast<int64_t>(end - at);
        source_->read(field, rows.subspan(at, end - at),
                      {{slot.dtype(), Shape{count, fields()[field].row.size()}},
                       slot_row(field, slot, static_cast<int64_t>(at))});
      }
      for (; end < rows.size() && holds(field, kept, rows[end]); ++end) {
        give(field, kept, rows[end], slot_row(field, slot, static_cast<int64_t>(end)));
      }
      at = end;
    }
  }

  // What one row costs, its marks included.
  static size_t row_cost(std::span<const Field> fields) {
    size_t bytes = 1;
    for (const Field& field : fields) {
      bytes += static_cast<size_t>(field.row.size()) * size_of(kept_type(field, DType::float32));
    }
    return bytes;
  }

 protected:
  void read_run(int field, int64_t first, int64_t count, void* to, DType dtype) override {
    std::array<int64_t, 256> numbers{};
    const int64_t elements = fields()[field].row.size();
    auto* at = static_cast<std::byte*>(to);
    for (int64_t done = 0; done < count; done += std::ssize(numbers)) {
      const int64_t some = std::min<int64_t>(std::ssize(numbers), count - done);
      std::iota(numbers.begin(), numbers.begin() + some, first + done);
      read(field, std::span(numbers).first(static_cast<size_t>(some)),
           {{dtype, Shape{some, elements}}, at});
      at += static_cast<size_t>(some * elements) * size_of(dtype);
    }
  }

 private:
  void begin(int field, KeptField& kept, DType wanted) const {
    const Field& of = fields()[field];
    kept.wanted = wanted;
    kept.kept = kept_type(of, wanted);
    kept.row_bytes = static_cast<size_t>(of.row.size()) * size_of(kept.kept);
    kept.rows.resize(static_cast<size_t>(kept_->count) * kept.row_bytes);
    kept.begun.resize(kept_->count);
    kept.ready.resize(kept_->count);
  }

  // Whether the row stands there; one that is to be kept is read now.
  bool holds(int field, KeptField& kept, int64_t row) {
    if (row >= kept_->count) return false;
    if (kept.ready.has(row)) return true;
    if (kept.begun.add(row)) return false;  // Another thread has it in hand.
    source_->read(field, {&row, 1},
                  {{kept.kept, Shape{1, fields()[field].row.size()}}, kept_row(kept, row)});
    kept.ready.add(row);
    return true;
  }

  static std::byte* kept_row(KeptField& kept, int64_t row) {
    return kept.rows.data() + static_cast<size_t>(row) * kept.row_bytes;
  }

  void give(int field, KeptField& kept, int64_t row, std::byte* to) const {
    if (kept.kept == kept.wanted) {
      std::memcpy(to, kept_row(kept, row), kept.row_bytes);
      return;
    }
    const Field& of = fields()[field];
    stage_rows(of, {row, 0}, kept_row(kept, row), of.row.size(), to, kept.wanted);
  }

  SourcePtr source_;
  std::shared_ptr<Kept> kept_;
};

}  // namespace

SourcePtr cached(SourcePtr source, int64_t most_bytes) {
  SNUG_CHECK(source->access() == Access::random);
  if (most_bytes < 0) throw Error("cache: {} bytes; the number must not be negative", most_bytes);
  source = pinned(std::move(source));
  const auto cost = static_cast<int64_t>(CachedSource::row_cost(source->fields()));
  const int64_t count = std::min(*source->rows(), most_bytes / cost);
  auto kept = std::make_shared<Kept>(source->fields().size(), count);
  return std::make_shared<CachedSource>(std::move(source), std::move(kept));
}

}  // namespace snug::data
