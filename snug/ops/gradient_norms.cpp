// The norms of all gradients of a model in one pass, and the factors that clip them.

#include <algorithm>
#include <bit>
#include <cmath>

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/graph/magnitude_notes.h"
#include "snug/kernels/reduce.h"
#include "snug/ops/elementwise.h"
#include "snug/ops/thread_shares.h"
#include "snug/ops/update.h"

namespace snug::ops {
namespace {

// Sums are formed block by block and added up in order, so that threads do not show in the bits.
// Small, so that the threads' shares end where those of the products and the update do: a line that
// another core has written comes late.
constexpr int64_t kNormBlock = 2 * 1024;

// One gradient among the node's inputs: a value, or sums, indices and count.
struct Place {
  int gradient = 0;
  bool rows = false;
  friend bool operator==(const Place&, const Place&) = default;
};

class NormsKernel final : public Kernel, public TakesMagnitudes {
 public:
  NormsKernel(const std::vector<Place>& places, SumOrder order, const Types& in,
              const Target& target)
      : places_(places), order_(order), target_(target), notes_(places.size()) {
    for (const Place& place : places) {
      const Shape& shape = in[place.gradient].shape;
      sizes_.push_back({blocks_, shape.size(), place.rows ? shape[1] : 0});
      blocks_ += blocks_of(shape.size());
      shares_.add(blocks_of(shape.size()), !place.rows && shape.size() >= ThreadShares::kLarge);
      elements_ += shape.size();
    }
    threads_ = elementwise_threads(elements_, target);
  }

  bool takes_magnitudes(int input) const override {
    return order_ == SumOrder::any && std::ranges::count(places_, Place{.gradient = input}) == 1;
  }
  void take_magnitudes(int input, std::span<const NotedMagnitude> notes) override {
    const auto place = std::ranges::find(places_, input, &Place::gradient) - places_.begin();
    if (notes_[place].empty()) elements_ -= sizes_[place].elements;
    notes_[place] = notes;
    threads_ = elementwise_threads(elements_, target_);
  }

  size_t scratch_bytes() const override { return static_cast<size_t>(blocks_) * sizeof(Block); }

  void run(const Run& run) const noexcept override {
    auto* blocks = static_cast<Block*>(run.scratch);
    parallel_parts(threads_, [&](int part) {
      for (size_t i = 0; i < places_.size(); ++i) {
        if (!notes_[i].empty()) continue;
        sum_blocks(run, i, shares_.share(i, part, threads_), blocks + sizes_[i].first_block);
      }
    });
    for (size_t i = 0; i < places_.size(); ++i) {
      const size_t count = static_cast<size_t>(blocks_of(size(run, i)));
      notes_[i].empty() ? put(run, i, std::span(blocks + sizes_[i].first_block, count))
                        : put(run, i, notes_[i]);
    }
  }

 private:
  // The bits of magnitudes are in the order of the numbers, with NaN above infinity.
  struct Block {
    double sum_squares;
    uint32_t largest_bits;
  };

  template <typename Sums>
  static void put(const Run& run, size_t place, const Sums& sums) {
    double sum = 0;
    uint32_t largest = 0;
    for (const auto& one : sums) {
      sum += one.sum_squares;
      largest = std::max(largest, one.largest_bits);
    }
    run.output<double>(0)[place] = sum;
    run.output<float>(1)[place] = std::bit_cast<float>(largest);
  }
  struct Size {
    int64_t first_block, elements, columns;
  };

  static int64_t blocks_of(int64_t elements) { return (elements + kNormBlock - 1) / kNormBlock; }

  // Of a list of rows, the elements that are in use.
  int64_t size(const Run& run, size_t i) const {
    if (!places_[i].rows) return sizes_[i].elements;
    return *run.input<int32_t>(places_[i].gradient + 2) * sizes_[i].columns;
  }

  void sum_blocks(const Run& run, size_t i, const ThreadShares::Range& range,
                  Block* blocks) const noexcept {
    const int64_t elements = size(run, i), end = std::min(range.end, blocks_of(elements));
    const float* x = run.input(places_[i].gradient);
    for (int64_t block = range.begin; block < end; ++block) {
      const int64_t at = block * kNormBlock;
      const kernels::Magnitude magnitude =
          kernels::magnitude(x + at, std::min(kNormBlock, elements - at));
      blocks[block] = {magnitude.sum_squares, std::bit_cast<uint32_t>(magnitude.largest)};
    }
  }

  std::vector<Place> places_;
  SumOrder order_;
  Target target_;
  std::vector<std::span<const NotedMagnitude>> notes_;  // Of each place; empty: it is looked at.
  std::vector<Size> sizes_;
  ThreadShares shares_{1};  // Of blocks.
  int64_t blocks_ = 0;
  int64_t elements_ = 0;  // That are looked at.
  int threads_ = 1;
};

class GradientNorms final : public Op {
 public:
  GradientNorms(std::vector<Place> places, SumOrder order)
      : places_(std::move(places)), order_(order) {}

  std::string_view name() const override { return "gradient_norms"; }

  Types infer(const Types& in) const override {
    for (const Place& place : places_) {
      if (in[place.gradient].dtype == DType::float32) continue;
      throw ShapeError("gradient_norms: a gradient is {}; gradients are float32",
                       in[place.gradient].text());
    }
    const Shape shape{static_cast<int64_t>(places_.size())};
    return {{DType::float64, shape}, {DType::float32, shape}};
  }

  Values gradient(const Node&, const Values&) const override { refuse_second_gradient(name()); }

  Cost cost(const Types& in) const override {
    double elements = 0;
    for (const Place& place : places_) {
      elements += static_cast<double>(in[place.gradient].shape.size());
    }
    return {.flops = 2 * elements, .bytes = elements * sizeof(float)};
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return std::make_unique<NormsKernel>(places_, order_, in, target);
  }

 private:
  std::vector<Place> places_;
  SumOrder order_;
};

// Keras's formulas in float32 (docs: keras.md 4.6), from norms whose squares cannot overflow.
class ScalesKernel final : public Kernel {
 public:
  ScalesKernel(int64_t count, float clip_norm, bool global)
      : count_(count), clip_norm_(clip_norm), global_(global) {}

  void run(const Run& run) const noexcept override {
    const auto* squares = run.input<double>(0);
    double sum = 0;
    for (int64_t i = 0; i < count_; ++i) {
      sum += squares[i];
      if (!global_) run.output()[i] = scale(static_cast<float>(std::sqrt(squares[i])));
    }
    if (global_)
      std::fill_n(run.output(), count_, global_scale(static_cast<float>(std::sqrt(sum))));
  }

 private:
  // NaN is kept: it is not less than anything.
  float scale(float norm) const { return clip_norm_ / (norm < clip_norm_ ? clip_norm_ : norm); }

  float global_scale(float norm) const {
    if (!std::isfinite(norm)) return std::nanf("");
    return clip_norm_ * std::min(1 / norm, 1 / clip_norm_);
  }

  int64_t count_;
  float clip_norm_;
  bool global_;
};

class ClipScales final : public Op {
 public:
  ClipScales(float clip_norm, bool global) : clip_norm_(clip_norm), global_(global) {}

  std::string_view name() const override { return "clip_scales"; }
  std::string attributes() const override {
    return fmt::format("clip_norm={} global={}", clip_norm_, global_);
  }

  Types infer(const Types& in) const override {
    if (in[0].dtype != DType::float64 || in[0].shape.rank() != 1) {
      throw ShapeError("clip_scales: the norms are {}; give what gradient_norms returns",
                       in[0].text());
    }
    return {{DType::float32, in[0].shape}};
  }

  Values gradient(const Node&, const Values&) const override { refuse_second_gradient(name()); }

  Cost cost(const Types& in) const override {
    const auto count = static_cast<double>(in[0].shape.size());
    return {.flops = 3 * count, .bytes = count * (sizeof(double) + sizeof(float))};
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target&) const override {
    return std::make_unique<ScalesKernel>(in[0].shape.size(), clip_norm_, global_);
  }

 private:
  float clip_norm_;
  bool global_;
};

}  // namespace

Value gradient_norms(const Values& gradients, SumOrder order) {
  if (gradients.empty()) throw Error("gradient_norms: there is no gradient; give at least one");
  Values in;
  std::vector<Place> places;
  for (const Value& gradient : gradients) {
    places.push_back({static_cast<int>(in.size()), is_row_gradient(gradient)});
    in.push_back(gradient);
    if (!places.back().rows) continue;
    for (const int output : {1, 2}) in.push_back(gradient.producer()->output(output));
  }
  return gradients[0].graph().add<GradientNorms>(in, std::move(places), order);
}

Value largest_magnitudes(Value square_norms) { return square_norms.producer()->output(1); }

Value clip_scales(Value square_norms, double clip_norm, bool global) {
  if (!(clip_norm > 0)) {
    throw Error("clip_scales: the norm to clip to is {}; it must be above 0", clip_norm);
  }
  return square_norms.graph().add<ClipScales>({square_norms}, static_cast<float>(clip_norm),
                                              global);
}

}  // namespace snug::ops
