// A model's loss, metrics and optimizer, resolved for its outputs, with the state that they own.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "snug/nn/compile.h"
#include "snug/nn/network.h"
#include "snug/train/optimizer_state.h"

namespace snug {

// The learning rate of its own; 0 where a schedule gives it.
double fixed_rate(const Optimizer& optimizer);

// Measures of one pass over data (training or validation each have their own state).
struct OutputMetrics {
  std::vector<MetricPtr> plain, weighted;
};

class Compiled {
 public:
  // Throws Error when losses, weights and metrics do not fit the network's outputs in number; a
  // network without shapes is checked when phase() first sees it.
  Compiled(const Network& network, CompileOptions options);

  // Of this one alone, in the whole process.
  uint64_t number() const { return number_; }
  const CompileOptions& options() const { return options_; }
  const Optimizer& optimizer() const { return options_.optimizer; }
  // While one lives, what it is made for cannot be compiled again: steps refer to it.
  class Use {
   public:
    explicit Use(Compiled& compiled) : compiled_(compiled) { ++compiled_.uses_; }
    ~Use() { --compiled_.uses_; }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    Compiled& compiled_;
  };
  bool is_in_use() const { return uses_ > 0; }

  // Slots and count of the updates, from the first training step on; compile again to reset them.
  const OptimizerState& optimizer_state() const { return optimizer_state_; }
  const Loss& loss(size_t output) const;
  double loss_weight(size_t output) const;
  bool has_loss() const { return !options_.loss.losses().empty(); }

  // The measures of one phase ("training" or "validation"), made on the first call for these target
  // shapes.
  struct Phase {
    MetricPtr loss;                        // The mean loss, weighted by rows.
    std::vector<MetricPtr> output_losses;  // Of each output, where there are several.
    std::vector<OutputMetrics> outputs;
    // In the order of Keras's list: loss, output losses, metrics by output.
    std::vector<MetricPtr> all() const;
    Variables state() const;
    void reset();
    // Whether no step was counted since reset().
    bool is_empty() const;
    // By name, alphabetical, as Keras on TensorFlow logs them. NaN where no step was counted: 0
    // would be the best of all.
    std::map<std::string, double> logs() const;
  };
  Phase& phase(bool training, const std::vector<Shape>& target_rows);
  // Null before the first of these calls.
  const Phase* known_phase(bool training) const;

  // While a fit with a budget runs: what it leaves of it, for passes that its callbacks make.
  const std::optional<int64_t>& left_bytes() const { return left_bytes_; }
  void set_left_bytes(std::optional<int64_t> bytes) { left_bytes_ = bytes; }

  // The learning rate as it was given; what the callbacks of the last run have made of it does not
  // count. 0 for a schedule.
  double configured_rate() const;
  // After a run that began with this configured rate: the optimizer's is its callbacks' now.
  void end_run(double configured_rate);

  const Variables& slots() const { return optimizer_state_.slots(); }
  // The number of updates so far, 0 before the first.
  int64_t iterations() const { return optimizer_state_.iterations(); }

 private:
  // Throws Error when losses, weights and metrics are not as many as the network has outputs.
  void check_outputs() const;

  const Network& network_;
  uint64_t number_;
  CompileOptions options_;
  std::map<bool, Phase> phases_;
  OptimizerState optimizer_state_;
  int uses_ = 0;
  // Of the last run: what it was given, and what it left behind.
  struct Rates {
    double configured, left;
  };
  std::optional<Rates> last_rates_;
  std::optional<int64_t> left_bytes_;
};

// What a table of the logs of so many epochs holds.
int64_t history_bytes(const Compiled& compiled, int64_t epochs);

}  // namespace snug
