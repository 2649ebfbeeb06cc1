#include "snug/data/preprocessed.h"

#include <algorithm>
#include <optional>

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/data/parallel_rows.h"
#include "snug/data/random_source.h"
#include "snug/data/stage.h"
#include "snug/exec/program.h"
#include "snug/tensor/arena.h"

namespace snug::data {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;
constexpr int64_t kMostPieceRows = 64;

// Nothing trains them here, so their first values would be their last.
void refuse_untrained(const Layer& layer) {
  for (const VariablePtr& weight : layer.trainable_weights()) {
    if (weight->has_values()) continue;
    throw Error(
        "preprocessing: {} has to learn {}, and rows that are read train nothing; put it "
        "into the model",
        layer.definition()->class_name(), weight->name());
  }
}

// The layers as a program for one row, with its own memory.
class RowProgram {
 public:
  RowProgram(const PreprocessOptions& options, const Shape& row) {
    Shape shape{kRows};
    for (const Extent extent : row.extents()) shape.push_back(extent);
    in_ = graph_.input("x", {DType::float32, shape});
    Tracer tracer(graph_, options.training);
    out_ = in_;
    for (const Layer& layer : options.layers) {
      out_ = call_layer(layer.definition(), tracer, {out_})[0];
      refuse_untrained(layer);
      allocate(layer.weights(), options.seed);
    }
    if (out_.dtype() != DType::float32)
      throw Error("preprocessing: the layers give {}, but float32 is needed", out_.type().text());
    if (out_ == in_) return;  // Nothing to do.
    program_.emplace(
        make_program(graph_, {out_}, /*rows=*/1, {.threads = 1}, kUnlimited, {.borrowed = {in_}}));
    arena_ = Arena(program_->arena_bytes());
    std::vector<void*> outside(graph_.value_count());
    for (const auto& [variable, value] : tracer.variables())
      outside[value.id()] = variable->tensor().data;
    program_->bind(arena_.data(), outside);
  }

  Shape row() const { return out_.shape().part(1, out_.shape().rank()); }
  size_t bytes() const { return program_ ? program_->arena_bytes() : 0; }

  // What a row becomes, until the next.
  const float* run(const StepInfo& step, const float* from) {
    if (!program_) return from;
    program_->bind_borrowed(in_, from);
    program_->compute(step);
    return program_->tensor(out_).as<float>().data();
  }

 private:
  Graph graph_;
  Value in_, out_;
  std::optional<Program> program_;
  Arena arena_;
};

class PreprocessedSource final : public RandomSource {
 public:
  PreprocessedSource(SourcePtr source, const PreprocessOptions& options)
      : source_(std::move(source)), options_(options), seed_(options.seed) {
    if (source_->access() != Access::random)
      throw Error("preprocessing: the source must have random access");
    std::vector<Field> fields = source_->fields();
    const Shape row = fields[0].row;
    const int threads = options.threads > 0 ? options.threads : hardware_threads();
    for (int i = 0; i < threads; ++i)
      programs_.push_back(std::make_unique<RowProgram>(options, row));
    fields[0].row = programs_[0]->row();
    fields[0].stored = StoredType::float32;
    const auto in = static_cast<size_t>(std::max<int64_t>(1, row.size()));
    piece_ = std::clamp(static_cast<int64_t>(kPieceBytes / (sizeof(float) * in)), int64_t{threads},
                        std::max<int64_t>(threads, kMostPieceRows));
    in_.resize(static_cast<size_t>(piece_) * in);
    set_fields(fields, std::vector<int64_t>(fields.size(), *source_->rows()));
  }

  size_t buffer_bytes() const override {
    size_t bytes = source_->buffer_bytes() + in_.size() * sizeof(float);
    for (const auto& program : programs_) bytes += program->bytes();
    return bytes;
  }
  std::string place(int field, int64_t row) override { return source_->place(field, row); }
  SourcePtr twin() override {
    SourcePtr source = source_->twin();
    if (!source) return nullptr;
    PreprocessOptions options = options_;
    options.threads = 1;
    return std::make_shared<PreprocessedSource>(std::move(source), options);
  }
  int64_t batches_ahead() const override { return source_->batches_ahead(); }
  bool reorders() const override { return source_->reorders(); }
  void begin_pass(uint64_t pass) override {
    pass_ = pass;
    source_->begin_pass(pass);
    RandomSource::begin_pass(pass);
  }
  const void* borrow(int field, int64_t first, int64_t count, DType dtype) override {
    return field == 0 ? nullptr : source_->borrow(field, first, count, dtype);
  }

  void read(int field, std::span<const int64_t> rows, const Tensor& slot) override {
    if (field != 0) return source_->read(field, rows, slot);
    const int64_t piece = threads() > 1 ? piece_ : std::max<int64_t>(1, piece_ / most_threads());
    for (int64_t done = 0; done < std::ssize(rows); done += piece) {
      const int64_t some = std::min(piece, std::ssize(rows) - done);
      prepare(rows.subspan(static_cast<size_t>(done), static_cast<size_t>(some)),
              rows_of(slot, done, some));
    }
  }

 protected:
  void read_run(int field, int64_t first, int64_t count, void* to, DType dtype) override {
    std::vector<int64_t> numbers(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) numbers[static_cast<size_t>(i)] = first + i;
    Shape shape{count};
    for (const Extent extent : fields()[static_cast<size_t>(field)].row.extents())
      shape.push_back(extent);
    read(field, numbers, {{dtype, shape}, to});
  }

 private:
  void prepare(std::span<const int64_t> rows, const Tensor& slot) {
    Shape shape{std::ssize(rows)};
    for (const Extent extent : source_->fields()[0].row.extents()) shape.push_back(extent);
    source_->read(0, rows, {{DType::float32, shape}, in_.data()});
    const int64_t in = source_->fields()[0].row.size(), out = fields()[0].row.size();
    parallel_rows(threads(), std::ssize(rows), [&](int lane, int64_t i) {
      const float* row = programs_[static_cast<size_t>(lane)]->run(
          {.seed = seed_, .epoch = pass_, .position = static_cast<uint64_t>(rows[i])},
          in_.data() + i * in);
      stage_rows(fields()[0], {rows[i], 0}, row, out, slot_row(0, slot, i), slot.dtype());
    });
  }

  int64_t most_threads() const { return std::ssize(programs_); }
  // Within a parallel region the others are taken: then a piece is what one thread works on, which
  // stays in its cache.
  int threads() const { return in_parallel_region() ? 1 : static_cast<int>(most_threads()); }

  SourcePtr source_;
  PreprocessOptions options_;
  uint64_t seed_, pass_ = 0;
  int64_t piece_ = 1;
  std::vector<std::unique_ptr<RowProgram>> programs_;  // One a thread.
  std::vector<float> in_;
};

}  // namespace

SourcePtr preprocessed(SourcePtr source, const PreprocessOptions& options) {
  return std::make_shared<PreprocessedSource>(std::move(source), options);
}

}  // namespace snug::data
