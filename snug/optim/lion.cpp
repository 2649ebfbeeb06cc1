#include "snug/base/error.h"
#include "snug/optim/settings_of.h"

namespace snug {
namespace {

class LionDefinition final : public OptimizerDefinition {
 public:
  explicit LionDefinition(const LionOptions& options)
      : OptimizerDefinition(settings_of(options, "lion")),
        beta_1_(options.beta_1),
        beta_2_(options.beta_2) {}

  std::string_view class_name() const override { return "Lion"; }

 private:
  ops::UpdateRule rule() const override {
    return {.kind = ops::UpdateRule::Kind::lion, .beta_1 = beta_1_, .beta_2 = beta_2_};
  }

  std::vector<SlotKind> slot_kinds() const override { return {{"momentum"}}; }

  void rule_settings(SettingVisitor& visitor) override {
    visitor.visit("beta_1", beta_1_);
    visitor.visit("beta_2", beta_2_);
  }

  void check_rule() const override {
    if (beta_1_ > 0 && beta_1_ <= 1) return;
    throw Error("Lion: beta_1 is {}; it must be above 0 and at most 1", beta_1_);
  }

  double beta_1_, beta_2_;
};

}  // namespace

Optimizer Lion(const LionOptions& options) { return checked_optimizer<LionDefinition>(options); }

}  // namespace snug
