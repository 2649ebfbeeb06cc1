// Watches a run that goes astray with finite numbers: losses and gradients far outside what they
// were, layers that do not learn.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "snug/train/run_state.h"

namespace snug {

// A running mean and spread of logarithms.
class Band {
 public:
  // Whether the value stands far above: more than 1,000 times the (geometric) mean of the steps so
  // far, and more than 8 spreads; never in the first 20 steps. Then it is not added.
  bool is_far_above(double value);
  double mean() const;
  // Under these names: its count, mean and square.
  void state(const std::array<const char*, 3>& names, StateVisitor& visitor);

 private:
  int64_t count_ = 0;
  double mean_ = 0, square_ = 0;
};

// Its warnings go to the log: once an epoch for losses and gradients, once a run for a layer.
class Divergence {
 public:
  // The weights in the order of the square norms; those of rank below 2 (biases, scales) are not
  // watched: their gradients may vanish in a healthy model.
  struct Weight {
    std::string name;
    bool watched = false;
  };
  Divergence(std::vector<Weight> weights, double most_loss);

  // The loss of a constant prediction, at the start of the run.
  void set_reference(double loss) { reference_ = loss; }
  double reference() const { return reference_; }

  void begin_epoch();
  void step(double loss, double gradient_norm, std::span<const double> square_norms);
  int64_t steps() const { return steps_; }  // Of this epoch so far.
  // What is wrong, where the run is to be stopped. Asked again without steps it finds nothing.
  std::optional<std::string> end_epoch(int epoch);
  // After the last epoch: a run that ends worse than a constant prediction is warned of, however
  // short it was.
  void end_run() const;

  void state(StateVisitor& visitor);

 private:
  void warn_of_loss(int epoch, double mean);
  void warn_of_gradients(int epoch);

  std::vector<Weight> weights_;
  double most_loss_;
  double reference_ = 0;
  Band loss_band_, norm_band_;
  bool warned_ = false;  // In this epoch.
  int64_t steps_ = 0;    // Of this epoch.
  double loss_sum_ = 0, least_loss_ = 0;
  std::vector<double> squares_;  // Of each weight, over the epoch.
  std::vector<double> warned_of_;
  int64_t worse_epochs_ = 0;
  double last_mean_ = 0;  // The loss of the last epoch.
};

}  // namespace snug
