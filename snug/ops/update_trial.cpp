#include "snug/ops/update_trial.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "snug/base/error.h"
#include "snug/ops/update_layout.h"

namespace snug::ops {
namespace {

constexpr int64_t kTrialBlock = 512;

class Trial {
 public:
  Trial(const Node& update, const UpdateLayout& layout, const void* const* in)
      : node_(update),
        layout_(layout),
        in_(in),
        rule_(layout.rule, *input(0), *static_cast<const int64_t*>(in[1]),
              layout.product < 0 ? 1 : *input(layout.product)) {}

  std::optional<UpdateFault> run() const {
    for (size_t i = 0; i < layout_.places.size(); ++i) {
      const UpdatePlace& place = layout_.places[i];
      const kernels::UpdateStep step{
          .learning_rate = *input(0),
          .gradient_scale = layout_.scales < 0 ? 1 : input(layout_.scales)[i],
          .clip_value = layout_.clip_value,
          .weight_decay = place.decays ? layout_.weight_decay : 0};
      const auto fault = place.rows ? try_rows(place, step) : try_dense(place, step);
      if (fault) return fault;
    }
    return std::nullopt;
  }

 private:
  const float* input(int i) const { return static_cast<const float*>(in_[i]); }

  std::optional<UpdateFault> try_dense(const UpdatePlace& place,
                                       const kernels::UpdateStep& step) const {
    const int64_t size = node_.input(place.weight).shape().size();
    return try_stretch(place, step, 0, size, input(place.gradient));
  }

  // The listed rows, and where others move too, all rows with a gradient of zero.
  std::optional<UpdateFault> try_rows(const UpdatePlace& place, kernels::UpdateStep step) const {
    const Shape& shape = node_.input(place.weight).shape();
    const auto* indices = static_cast<const int32_t*>(in_[place.gradient + 1]);
    const int64_t count = *static_cast<const int32_t*>(in_[place.gradient + 2]);
    for (int64_t i = 0; i < count; ++i) {
      const auto fault = try_stretch(place, step, indices[i] * shape[1], shape[1],
                                     input(place.gradient) + i * shape[1]);
      if (fault) return fault;
    }
    if (place.touched < 0) return std::nullopt;
    step.gradient_scale = 1;
    return try_stretch(place, step, 0, shape.size(), nullptr);
  }

  // `gradient` null: all zero.
  std::optional<UpdateFault> try_stretch(const UpdatePlace& place, const kernels::UpdateStep& step,
                                         int64_t first, int64_t size, const float* gradient) const {
    for (int64_t done = 0; done < size; done += kTrialBlock) {
      const int64_t count = std::min(kTrialBlock, size - done);
      const float* block = gradient == nullptr ? nullptr : gradient + done;
      if (const auto fault = try_block(place, step, first + done, count, block)) return fault;
    }
    return std::nullopt;
  }

  std::optional<UpdateFault> try_block(const UpdatePlace& place, const kernels::UpdateStep& step,
                                       int64_t first, int64_t count, const float* gradient) const {
    constexpr int kArrays = 1 + UpdateRule::kMostSlots;
    alignas(64) float copies[kArrays][kTrialBlock];
    alignas(64) static constexpr float kZeros[kTrialBlock] = {};
    float* slots[UpdateRule::kMostSlots] = {};
    const int arrays = 1 + layout_.rule.slots();
    for (int k = 0; k < arrays; ++k) {
      std::memcpy(copies[k], input(place.weight + k) + first, count * sizeof(float));
      if (k > 0) slots[k - 1] = copies[k];
    }
    const float* g = gradient == nullptr ? kZeros : gradient;
    const kernels::UpdateReach reach = rule_.run(step, copies[0], g, slots, count);
    if (std::isfinite(reach.weight) && std::isfinite(reach.slot)) return std::nullopt;
    // The slots first: an overflowing moment is the cause, the weight shows it.
    for (int k = arrays - 1; k >= 0; --k) {
      const float* bad =
          std::find_if_not(copies[k], copies[k] + count, [](float x) { return std::isfinite(x); });
      if (bad == copies[k] + count) continue;
      const int64_t at = bad - copies[k];
      return UpdateFault{place.weight, k - 1, first + at, *bad, g[at]};
    }
    throw InternalError("an update reaches {} and {}, but no element does", reach.weight,
                        reach.slot);
  }

  const Node& node_;
  const UpdateLayout& layout_;
  const void* const* in_;
  BoundRule rule_;
};

}  // namespace

std::optional<UpdateFault> try_update(const Node& update, const void* const* in) {
  const UpdateLayout* layout = update_layout(update.op());
  SNUG_CHECK(layout != nullptr, "{} is no update", update.label());
  return Trial(update, *layout, in).run();
}

}  // namespace snug::ops
