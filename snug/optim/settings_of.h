// From the options of one optimizer to those that all have.
#pragma once

#include <memory>
#include <string_view>

#include "snug/optim/optimizer.h"

namespace snug {

template <typename Options>
OptimizerSettings settings_of(const Options& options, std::string_view name) {
  return {.name = options.name.empty() ? std::string(name) : options.name,
          .learning_rate = options.learning_rate,
          .weight_decay = options.weight_decay,
          .exclude_from_weight_decay = options.exclude_from_weight_decay,
          .clipnorm = options.clipnorm,
          .global_clipnorm = options.global_clipnorm,
          .clipvalue = options.clipvalue,
          .use_ema = options.use_ema,
          .ema_momentum = options.ema_momentum,
          .ema_overwrite_frequency = options.ema_overwrite_frequency,
          .loss_scale_factor = options.loss_scale_factor,
          .gradient_accumulation_steps = options.gradient_accumulation_steps};
}

template <typename Definition, typename... Args>
Optimizer checked_optimizer(const Args&... args) {
  auto definition = std::make_shared<Definition>(args...);
  definition->check();
  return Optimizer(std::move(definition));
}

}  // namespace snug
