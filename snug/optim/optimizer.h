// Keras's optimizers. Users hold cheap handles: a copy is the same optimizer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snug/optim/optimizer_definition.h"

namespace snug {

class Optimizer {
 public:
  explicit Optimizer(OptimizerPtr definition) : definition_(std::move(definition)) {}
  // By name, as make_optimizer.
  Optimizer(const char* name);
  Optimizer(const std::string& name);

  const OptimizerPtr& definition() const { return definition_; }
  OptimizerDefinition* operator->() const { return definition_.get(); }

  // See OptimizerDefinition.
  OptimizerNodes apply_gradients(const Values& gradients, const Values& weights) const {
    return definition_->apply_gradients(gradients, weights);
  }

 private:
  OptimizerPtr definition_;
};

// Each has its own settings, then those that every optimizer has (OptimizerSettings), in the order
// of Keras's arguments. An optimizer throws Error when its settings make no sense.

struct SGDOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0;
  bool nesterov = false;
  std::optional<double> weight_decay, clipnorm, clipvalue, global_clipnorm;
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency;
  std::optional<double> loss_scale_factor;
  std::optional<int64_t> gradient_accumulation_steps;
  std::string name;
  std::vector<std::string> exclude_from_weight_decay;
};
Optimizer SGD(const SGDOptions& options = {});

struct AdamOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  bool amsgrad = false;
  // Of embeddings: rows that are not in the batch keep their weights and moments. Not Keras's Adam,
  // whose moments fade with every step; much faster once most rows of a large table were trained.
  bool lazy = false;
  std::optional<double> weight_decay, clipnorm, clipvalue, global_clipnorm;
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency;
  std::optional<double> loss_scale_factor;
  std::optional<int64_t> gradient_accumulation_steps;
  std::string name;
  std::vector<std::string> exclude_from_weight_decay;
};
Optimizer Adam(const AdamOptions& options = {});
Optimizer AdamW(const AdamOptions& options = {});  // With weight_decay 0.004 if none is given.

struct RMSpropOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.9;
  double momentum = 0;
  double epsilon = 1e-7;
  bool centered = false;
  std::optional<double> weight_decay, clipnorm, clipvalue, global_clipnorm;
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency;
  std::optional<double> loss_scale_factor;
  std::optional<int64_t> gradient_accumulation_steps;
  std::string name;
  std::vector<std::string> exclude_from_weight_decay;
};
Optimizer RMSprop(const RMSpropOptions& options = {});

struct AdagradOptions {
  LearningRate learning_rate = 0.001;
  double initial_accumulator_value = 0.1;
  double epsilon = 1e-7;
  std::optional<double> weight_decay, clipnorm, clipvalue, global_clipnorm;
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency;
  std::optional<double> loss_scale_factor;
  std::optional<int64_t> gradient_accumulation_steps;
  std::string name;
  std::vector<std::string> exclude_from_weight_decay;
};
Optimizer Adagrad(const AdagradOptions& options = {});

struct AdadeltaOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.95;
  double epsilon = 1e-7;
  std::optional<double> weight_decay, clipnorm, clipvalue, global_clipnorm;
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency;
  std::optional<double> loss_scale_factor;
  std::optional<int64_t> gradient_accumulation_steps;
  std::string name;
  std::vector<std::string> exclude_from_weight_decay;
};
Optimizer Adadelta(const AdadeltaOptions& options = {});

struct AdamaxOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  std::optional<double> weight_decay, clipnorm, clipvalue, global_clipnorm;
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency;
  std::optional<double> loss_scale_factor;
  std::optional<int64_t> gradient_accumulation_steps;
  std::string name;
  std::vector<std::string> exclude_from_weight_decay;
};
using NadamOptions = AdamaxOptions;
Optimizer Adamax(const AdamaxOptions& options = {});
Optimizer Nadam(const NadamOptions& options = {});

struct LionOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.99;
  std::optional<double> weight_decay, clipnorm, clipvalue, global_clipnorm;
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency;
  std::optional<double> loss_scale_factor;
  std::optional<int64_t> gradient_accumulation_steps;
  std::string name;
  std::vector<std::string> exclude_from_weight_decay;
};
Optimizer Lion(const LionOptions& options = {});

// "adam", "Adam", "rmsprop", ... with Keras's defaults; capitals do not matter. Throws Error that
// lists the names.
Optimizer make_optimizer(std::string_view name);

}  // namespace snug
