// Dropout and noise. Draws depend on the step's seed and epoch, on the row's position in the epoch,
// on the stream and on the element's place in its row: so no mask is kept, and recompute, parts,
// threads and the gradient all see the same one.

#include "snug/ops/dropout.h"

#include <algorithm>
#include <cstring>

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/kernels/random.h"
#include "snug/kernels/strided.h"
#include "snug/ops/broadcast_walk.h"
#include "snug/ops/elementwise.h"
#include "snug/ops/ops.h"

namespace snug::ops {
namespace {

using kernels::RandomRows;

// Rows [first, first + count) of the part that a kernel runs on.
RandomRows rows_at(const Run& run, uint64_t stream, int64_t first, int64_t count, int64_t columns) {
  return {.key = {.seed = run.step->seed,
                  .stream = stream,
                  .epoch = static_cast<uint32_t>(run.step->epoch)},
          .position = run.step->position + static_cast<uint64_t>(run.first_row + first),
          .rows = count,
          .columns = columns};
}

class DropoutKernel final : public Kernel {
 public:
  DropoutKernel(float rate, uint64_t stream, int64_t rows, int64_t columns, const Target& target)
      : rate_(rate),
        stream_(stream),
        rows_(rows),
        columns_(columns),
        threads_(elementwise_threads(rows * columns, target)) {}

  std::vector<int> overwrites(int) const override { return {0}; }

  void run(const Run& run) const noexcept override {
    parallel_ranges(rows_, threads_, 1, [&](int64_t begin, int64_t end) {
      kernels::dropout(rows_at(run, stream_, begin, end - begin, columns_), rate_,
                       run.input(0) + begin * columns_, run.output() + begin * columns_);
    });
  }

 private:
  float rate_;
  uint64_t stream_;
  int64_t rows_, columns_;
  int threads_;
};

// A NaN that is dropped becomes 0, as in Keras.
void apply_mask(const float* mask, int64_t step, const float* x, float* y, int64_t n) noexcept {
  for (int64_t i = 0; i < n; ++i) y[i] = mask[i * step] == 0 ? 0 : x[i] * mask[i * step];
}

// At rate 1 nothing is left.
class ZeroKernel final : public Kernel {
 public:
  explicit ZeroKernel(size_t bytes) : bytes_(bytes) {}
  std::vector<int> overwrites(int) const override { return {0}; }
  void run(const Run& run) const noexcept override { std::memset(run.out[0], 0, bytes_); }

 private:
  size_t bytes_;
};

// A mask of `noise` elements a row, broadcast over the row.
class SharedNoiseKernel final : public Kernel {
 public:
  struct Noise {
    Shape row, mask;            // Of one row, and of the draws for it.
    bool same_in_rows = false;  // One mask for the whole batch.
  };

  SharedNoiseKernel(float rate, uint64_t stream, const Noise& noise, int64_t rows,
                    const Target& target)
      : rate_(rate),
        stream_(stream),
        same_in_rows_(noise.same_in_rows),
        rows_(rows),
        columns_(noise.row.size()),
        draws_(noise.mask.size()),
        walk_({noise.mask}, noise.row),
        threads_(elementwise_threads(rows * columns_, target)) {}

  size_t scratch_bytes() const override { return threads_ * mask_bytes(); }
  std::vector<int> overwrites(int) const override { return {0}; }

  void run(const Run& run) const noexcept override {
    parallel_parts(threads_, [&](int part) {
      auto* mask = reinterpret_cast<float*>(static_cast<std::byte*>(run.scratch) +
                                            static_cast<size_t>(part) * mask_bytes());
      for (int64_t row = rows_ * part / threads_; row < rows_ * (part + 1) / threads_; ++row) {
        const int64_t drawn = same_in_rows_ ? -run.first_row : row;
        kernels::dropout_mask(rows_at(run, stream_, drawn, 1, draws_), rate_, mask);
        apply(mask, run.input(0) + row * columns_, run.output() + row * columns_);
      }
    });
  }

 private:
  size_t mask_bytes() const { return static_cast<size_t>((draws_ + 15) / 16 * 16) * sizeof(float); }

  void apply(const float* mask, const float* x, float* y) const noexcept {
    const int64_t size = walk_.stretch_size(), step = walk_.moves(0);
    for (int64_t stretch = 0; stretch < walk_.stretches(); ++stretch) {
      apply_mask(mask + walk_.offsets(stretch)[0], step, x + stretch * size, y + stretch * size,
                 size);
    }
  }

  float rate_;
  uint64_t stream_;
  bool same_in_rows_;
  int64_t rows_, columns_, draws_;
  BroadcastWalk<1> walk_;
  int threads_;
};

void check_float(const Type& x, std::string_view name) {
  if (x.dtype != DType::float32)
    throw ShapeError("{}: expected a float32 value, got {}; cast it first", name, x.text());
}

// Built for the symbolic shape of x: a concrete one does not say how many elements a row has.
class Dropout final : public Op, private ElementwiseBlock {
 public:
  // `of`: the result whose gradient this is; none where it is dropout itself.
  Dropout(const DropoutOptions& options, const Shape& x, Value of = {})
      : options_(options), x_(x), of_(of) {
    if (options_.noise_shape == x) options_.noise_shape.reset();
  }

  std::string_view name() const override { return "dropout"; }
  std::string attributes() const override {
    std::string text = fmt::format("rate={} stream={}", options_.rate, options_.stream);
    if (options_.noise_shape) text += " noise_shape=" + options_.noise_shape->text();
    return text;
  }

  Types infer(const Types& in) const override {
    check_float(in[0], "dropout");
    if (!(options_.rate >= 0 && options_.rate <= 1))
      throw Error("dropout: the rate {} is not within [0, 1]", options_.rate);
    if (options_.noise_shape) check_noise(*options_.noise_shape, in[0].shape);
    return in;
  }

  float rate() const { return options_.rate; }
  Value of() const { return of_; }

  Values gradient(const Node& node, const Values& dy) const override {
    return {dy[0].graph().add<Dropout>({dy[0]}, options_, x_, node.output())};
  }

  Rows rows(const Types&) const override { return Rows::each; }
  Traits traits() const override { return {.random = true}; }

  Cost cost(const Types& in) const override {
    constexpr double kFlopsOfADraw = 12;
    return elementwise_cost(in, in[0].shape, kFlopsOfADraw);
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    if (options_.rate == 1) return std::make_unique<ZeroKernel>(in[0].bytes());
    const int64_t columns = x_.size_per_row();
    const int64_t rows = columns == 0 ? 0 : in[0].shape.size() / columns;
    if (!options_.noise_shape) {
      return std::make_unique<DropoutKernel>(options_.rate, options_.stream, rows, columns, target);
    }
    return std::make_unique<SharedNoiseKernel>(options_.rate, options_.stream, noise(), rows,
                                               target);
  }

  const ElementwiseBlock* elementwise() const override {
    return !options_.noise_shape && x_.size_per_row() <= kLongestRow ? this : nullptr;
  }

 private:
  // Draws start at the beginning of a row, so that a block which begins inside one draws more than
  // it needs: longer rows are better off with a pass of their own.
  static constexpr int64_t kLongestRow = 1024;

  int64_t stride() const noexcept override { return std::max<int64_t>(1, x_.size_per_row()); }

  void run_block(const float* const* in, float* out, int64_t count,
                 const BlockPlace& place) const noexcept override {
    const float* x = in[0];
    if (options_.rate == 1) return kernels::fill(0, out, count);
    const int64_t columns = x_.size_per_row();
    int64_t row = place.first / columns;
    if (const int64_t offset = place.first % columns; offset > 0) {
      const int64_t rest = std::min(count, columns - offset);
      float mask[kLongestRow];
      kernels::dropout_mask(rows_at(*place.run, options_.stream, row++, 1, offset + rest),
                            options_.rate, mask);
      apply_mask(mask + offset, 1, x, out, rest);
      x += rest, out += rest, count -= rest;
    }
    const int64_t whole = count / columns, last = count % columns;
    kernels::dropout(rows_at(*place.run, options_.stream, row, whole, columns), options_.rate, x,
                     out);
    kernels::dropout(rows_at(*place.run, options_.stream, row + whole, 1, last), options_.rate,
                     x + whole * columns, out + whole * columns);
  }

  static void check_noise(const Shape& noise, const Shape& x) {
    bool fits = noise.rank() == x.rank();
    for (int axis = 0; fits && axis < x.rank(); ++axis) {
      fits = noise.extent(axis) == x.extent(axis) || noise.extent(axis) == Extent(1);
    }
    if (!fits) {
      throw ShapeError(
          "dropout: noise_shape {} for a value of {}: each extent must be the value's or 1",
          noise.text(), x.text());
    }
  }

  // Of {rows * k, a, b}, a row is [k, a, b].
  SharedNoiseKernel::Noise noise() const {
    SharedNoiseKernel::Noise result;
    for (int axis = 0; axis < x_.rank(); ++axis) {
      result.row.push_back(x_.extent(axis).count);
      result.mask.push_back(options_.noise_shape->extent(axis).count);
    }
    result.same_in_rows = x_.has_rows() && !options_.noise_shape->has_rows();
    return result;
  }

  DropoutOptions options_;
  Shape x_;
  Value of_;
};

using Draw = void (*)(const RandomRows& where, float a, float b, float* y);

class DrawKernel final : public Kernel {
 public:
  DrawKernel(Draw draw, float a, float b, uint64_t stream, int64_t rows, int64_t columns,
             bool may_overwrite, const Target& target)
      : draw_(draw),
        a_(a),
        b_(b),
        stream_(stream),
        rows_(rows),
        columns_(columns),
        may_overwrite_(may_overwrite),
        threads_(elementwise_threads(rows * columns, target)) {}

  std::vector<int> overwrites(int) const override {
    return may_overwrite_ ? std::vector<int>{0} : std::vector<int>{};
  }

  void run(const Run& run) const noexcept override {
    parallel_ranges(rows_, threads_, 1, [&](int64_t begin, int64_t end) {
      draw_(rows_at(run, stream_, begin, end - begin, columns_), a_, b_,
            run.output() + begin * columns_);
    });
  }

 private:
  Draw draw_;
  float a_, b_;
  uint64_t stream_;
  int64_t rows_, columns_;
  bool may_overwrite_;
  int threads_;
};

// Draws in the shape of its input, which it does not read.
class RandomLike final : public Op {
 public:
  struct Distribution {
    std::string_view name;
    Draw draw;
    float a, b;
  };

  RandomLike(const Distribution& distribution, uint64_t stream, const Shape& like)
      : distribution_(distribution), stream_(stream), columns_(like.size_per_row()) {}

  std::string_view name() const override { return distribution_.name; }
  std::string attributes() const override {
    return fmt::format("({}, {}) stream={}", distribution_.a, distribution_.b, stream_);
  }
  Types infer(const Types& in) const override { return {{DType::float32, in[0].shape}}; }
  Values gradient(const Node&, const Values&) const override { return {Value()}; }
  Rows rows(const Types&) const override { return Rows::each; }
  Traits traits() const override { return {.random = true}; }

  Cost cost(const Types& in) const override {
    constexpr double kFlopsOfADraw = 30;
    return elementwise_cost({}, in[0].shape, kFlopsOfADraw);
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    const int64_t rows = columns_ == 0 ? 0 : in[0].shape.size() / columns_;
    return std::make_unique<DrawKernel>(distribution_.draw, distribution_.a, distribution_.b,
                                        stream_, rows, columns_, size_of(in[0].dtype) == 4, target);
  }

 private:
  Distribution distribution_;
  uint64_t stream_;
  int64_t columns_;
};

}  // namespace

Dropped dropped_gradient(Value x, Value dx) {
  const Node* node = dx.producer();
  const auto* op = node == nullptr ? nullptr : dynamic_cast<const Dropout*>(&node->op());
  if (op == nullptr || !op->of() || op->rate() == 1) return {};
  if (&op->of().graph() != &x.graph() || op->of().producer()->input(0) != x) return {};
  return {op->of(), node->input(0), kernels::DropRate(op->rate()).scale};
}

Value dropout(Value x, const DropoutOptions& options) {
  return x.graph().add<Dropout>({x}, options, x.shape());
}

Value random_normal_like(Value like, float mean, float deviation, uint64_t stream) {
  const RandomLike::Distribution normal{"random_normal_like", kernels::random_normal, mean,
                                        deviation};
  return like.graph().add<RandomLike>({like}, normal, stream, like.shape());
}

Value random_uniform_like(Value like, float low, float high, uint64_t stream) {
  const RandomLike::Distribution uniform{"random_uniform_like", kernels::random_uniform, low, high};
  return like.graph().add<RandomLike>({like}, uniform, stream, like.shape());
}

}  // namespace snug::ops
