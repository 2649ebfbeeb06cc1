// Adamax and Nadam, which have the same settings.

#include "snug/optim/settings_of.h"

namespace snug {
namespace {

class AdamaxDefinition : public OptimizerDefinition {
 public:
  explicit AdamaxDefinition(const AdamaxOptions& options, std::string_view name = "adamax")
      : OptimizerDefinition(settings_of(options, name)),
        beta_1_(options.beta_1),
        beta_2_(options.beta_2),
        epsilon_(options.epsilon) {}

  std::string_view class_name() const override { return "Adamax"; }

 protected:
  ops::UpdateRule rule() const override {
    return {.kind = ops::UpdateRule::Kind::adamax,
            .beta_1 = beta_1_,
            .beta_2 = beta_2_,
            .epsilon = epsilon_};
  }

  std::vector<SlotKind> slot_kinds() const override { return {{"momentum"}, {"norm"}}; }

 private:
  void rule_settings(SettingVisitor& visitor) final {
    visitor.visit("beta_1", beta_1_);
    visitor.visit("beta_2", beta_2_);
    visitor.visit("epsilon", epsilon_);
  }

  double beta_1_, beta_2_, epsilon_;
};

class NadamDefinition final : public AdamaxDefinition {
 public:
  explicit NadamDefinition(const NadamOptions& options) : AdamaxDefinition(options, "nadam") {}

  std::string_view class_name() const override { return "Nadam"; }

 private:
  ops::UpdateRule rule() const override {
    ops::UpdateRule rule = AdamaxDefinition::rule();
    rule.kind = ops::UpdateRule::Kind::nadam;
    return rule;
  }

  std::vector<SlotKind> slot_kinds() const override { return {{"momentum"}, {"velocity"}}; }
};

}  // namespace

Optimizer Adamax(const AdamaxOptions& options) {
  return checked_optimizer<AdamaxDefinition>(options);
}
Optimizer Nadam(const NadamOptions& options) { return checked_optimizer<NadamDefinition>(options); }

}  // namespace snug
