#include "snug/train/divergence.h"

#include <algorithm>
#include <cmath>

#include "snug/base/log.h"

namespace snug {
namespace {

constexpr int64_t kFirstSteps = 20;
constexpr double kFarAbove = 1000;
constexpr double kSpreads = 8;
// How fast a band forgets: about the last 100 steps.
constexpr double kShare = 0.01;
// A loss this many times that of a constant prediction, for so many epochs, is warned of.
constexpr double kWorse = 2;
constexpr int64_t kWorseEpochs = 5;
// Of the other layers' gradients.
constexpr double kVanishing = 1e-8;

}  // namespace

bool Band::is_far_above(double value) {
  if (!(value > 0) || !std::isfinite(value)) return false;
  const double logarithm = std::log(value);
  const double spread = std::sqrt(std::max(0.0, square_ - mean_ * mean_));
  if (count_ >= kFirstSteps &&
      logarithm > mean_ + std::max(std::log(kFarAbove), kSpreads * spread)) {
    return true;
  }
  ++count_;
  const double share = std::max(kShare, 1.0 / static_cast<double>(count_));
  mean_ += (logarithm - mean_) * share;
  square_ += (logarithm * logarithm - square_) * share;
  return false;
}

double Band::mean() const { return std::exp(mean_); }

void Band::state(const std::array<const char*, 3>& names, StateVisitor& visitor) {
  visitor.visit(names[0], count_);
  visitor.visit(names[1], mean_);
  visitor.visit(names[2], square_);
}

Divergence::Divergence(std::vector<Weight> weights, double most_loss)
    : weights_(std::move(weights)),
      most_loss_(most_loss),
      squares_(weights_.size()),
      warned_of_(weights_.size()) {}

void Divergence::begin_epoch() {
  warned_ = false;
  steps_ = 0;
  loss_sum_ = 0;
  least_loss_ = 0;
  std::ranges::fill(squares_, 0);
}

void Divergence::step(double loss, double gradient_norm, std::span<const double> square_norms) {
  ++steps_;
  loss_sum_ += loss;
  least_loss_ = steps_ == 1 ? loss : std::min(least_loss_, loss);
  for (size_t i = 0; i < squares_.size(); ++i) squares_[i] += square_norms[i];
  const bool loss_jumps = loss_band_.is_far_above(loss);
  const bool norm_jumps = norm_band_.is_far_above(gradient_norm);
  if (warned_ || !(loss_jumps || norm_jumps)) return;
  warned_ = true;
  log_message(LogLevel::warning,
              "{} is {:.3g}, far above the {:.3g} of the steps before; if the loss does not come "
              "down again, lower the learning rate or clip the gradients (clipnorm)",
              loss_jumps ? "the loss" : "the gradient norm", loss_jumps ? loss : gradient_norm,
              loss_jumps ? loss_band_.mean() : norm_band_.mean());
}

std::optional<std::string> Divergence::end_epoch(int epoch) {
  if (steps_ == 0) return std::nullopt;
  warn_of_loss(epoch, loss_sum_ / static_cast<double>(steps_));
  warn_of_gradients(epoch);
  const double least_loss = least_loss_;
  // A run that is resumed here has the verdict behind it.
  begin_epoch();
  if (!(reference_ > 0) || !(least_loss > most_loss_ * reference_)) return std::nullopt;
  return fmt::format(
      "in epoch {} every step had a loss of {:.3g} or more, {:.0f} times the {:.3g} that a "
      "constant "
      "prediction would have: training has diverged. The model is kept as it is. Try: a learning "
      "rate that is 10 or 100 times lower, gradients that are clipped (clipnorm: 1), inputs and "
      "targets scaled to about 1",
      epoch + 1, least_loss, least_loss / reference_, reference_);
}

void Divergence::end_run() const {
  // After so many epochs it has been said.
  if (worse_epochs_ == 0 || worse_epochs_ >= kWorseEpochs || !(last_mean_ > 0)) return;
  log_message(LogLevel::warning,
              "training ends with a loss of {:.3g}, {:.3g} times the {:.3g} of a constant "
              "prediction: the model is worse than one that has learned nothing; try a learning "
              "rate that is 10 or 100 times lower, and inputs and targets scaled to about 1",
              last_mean_, last_mean_ / reference_, reference_);
}

void Divergence::warn_of_loss(int epoch, double mean) {
  last_mean_ = mean;
  worse_epochs_ = reference_ > 0 && mean > kWorse * reference_ ? worse_epochs_ + 1 : 0;
  if (worse_epochs_ != kWorseEpochs) return;
  log_message(LogLevel::warning,
              "the loss of epoch {} is {:.3g}, and for {} epochs it was worse than that of a "
              "constant prediction, about {:.3g}: the model has not learned anything yet; check "
              "the learning rate, the scale of the inputs and the targets",
              epoch + 1, mean, kWorseEpochs, reference_);
}

void Divergence::warn_of_gradients(int epoch) {
  if (squares_.empty()) return;
  const double largest = *std::ranges::max_element(squares_);
  if (largest == 0 && last_mean_ > 0 && warned_of_[0] == 0) {
    std::ranges::fill(warned_of_, 1);
    log_message(LogLevel::warning,
                "nothing is learned: in epoch {} all gradients were zero, with a loss of {:.3g}; "
                "activations that are saturated (sigmoid, tanh) or dead (ReLU) let none through: "
                "try a learning rate that is 10 or 100 times lower, and inputs scaled to about 1",
                epoch + 1, last_mean_);
  }
  for (size_t i = 0; i < weights_.size(); ++i) {
    const bool vanishes = squares_[i] <= largest * kVanishing * kVanishing && largest > 0;
    if (!weights_[i].watched || !vanishes || warned_of_[i] != 0) continue;
    warned_of_[i] = 1;
    log_message(LogLevel::warning,
                "{} learns nothing: in epoch {} its gradients were {} while others' were {:.3g}; "
                "are all units of its layer dead (ReLU with inputs below zero: lower the learning "
                "rate, or use leaky_relu), or the activations saturated?",
                weights_[i].name, epoch + 1,
                squares_[i] == 0 ? "zero" : fmt::format("{:.3g}", std::sqrt(squares_[i])),
                std::sqrt(largest));
  }
}

void Divergence::state(StateVisitor& visitor) {
  loss_band_.state({"loss_band.count", "loss_band.mean", "loss_band.square"}, visitor);
  norm_band_.state({"norm_band.count", "norm_band.mean", "norm_band.square"}, visitor);
  visitor.visit("reference", reference_);
  visitor.visit("warned", warned_);
  visitor.visit("steps", steps_);
  visitor.visit("loss_sum", loss_sum_);
  visitor.visit("least_loss", least_loss_);
  visitor.visit_as_many("squares", squares_);
  visitor.visit_as_many("warned_of", warned_of_);
  visitor.visit("worse_epochs", worse_epochs_);
}

}  // namespace snug
