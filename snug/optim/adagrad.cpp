#include "snug/base/error.h"
#include "snug/optim/settings_of.h"

namespace snug {
namespace {

class AdagradDefinition final : public OptimizerDefinition {
 public:
  explicit AdagradDefinition(const AdagradOptions& options)
      : OptimizerDefinition(settings_of(options, "adagrad")),
        initial_accumulator_value_(options.initial_accumulator_value),
        epsilon_(options.epsilon) {}

  std::string_view class_name() const override { return "Adagrad"; }

 private:
  ops::UpdateRule rule() const override {
    return {.kind = ops::UpdateRule::Kind::adagrad, .epsilon = epsilon_};
  }

  std::vector<SlotKind> slot_kinds() const override {
    return {{"accumulator", 0, initial_accumulator_value_}};
  }

  void rule_settings(SettingVisitor& visitor) override {
    visitor.visit("initial_accumulator_value", initial_accumulator_value_);
    visitor.visit("epsilon", epsilon_);
  }

  void check_rule() const override {
    if (initial_accumulator_value_ >= 0) return;
    throw Error("Adagrad: initial_accumulator_value is {}; it must not be below 0",
                initial_accumulator_value_);
  }

  double initial_accumulator_value_, epsilon_;
};

}  // namespace

Optimizer Adagrad(const AdagradOptions& options) {
  return checked_optimizer<AdagradDefinition>(options);
}

}  // namespace snug
