#include "snug/optim/settings_of.h"

namespace snug {
namespace {

class AdadeltaDefinition final : public OptimizerDefinition {
 public:
  explicit AdadeltaDefinition(const AdadeltaOptions& options)
      : OptimizerDefinition(settings_of(options, "adadelta")),
        rho_(options.rho),
        epsilon_(options.epsilon) {}

  std::string_view class_name() const override { return "Adadelta"; }

 private:
  ops::UpdateRule rule() const override {
    return {.kind = ops::UpdateRule::Kind::adadelta, .rho = rho_, .epsilon = epsilon_};
  }

  std::vector<SlotKind> slot_kinds() const override {
    return {{"accumulated_grad"}, {"accumulated_delta_var"}};
  }

  void rule_settings(SettingVisitor& visitor) override {
    visitor.visit("rho", rho_);
    visitor.visit("epsilon", epsilon_);
  }

  double rho_, epsilon_;
};

}  // namespace

Optimizer Adadelta(const AdadeltaOptions& options) {
  return checked_optimizer<AdadeltaDefinition>(options);
}

}  // namespace snug
