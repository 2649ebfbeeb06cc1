#include "snug/optim/settings_of.h"

namespace snug {
namespace {

class RMSpropDefinition final : public OptimizerDefinition {
 public:
  explicit RMSpropDefinition(const RMSpropOptions& options)
      : OptimizerDefinition(settings_of(options, "rm_sprop")),
        rho_(options.rho),
        momentum_(options.momentum),
        epsilon_(options.epsilon),
        centered_(options.centered) {}

  std::string_view class_name() const override { return "RMSprop"; }

 private:
  ops::UpdateRule rule() const override {
    return {.kind = ops::UpdateRule::Kind::rms_prop,
            .momentum = momentum_,
            .rho = rho_,
            .centered = centered_,
            .epsilon = epsilon_};
  }

  std::vector<SlotKind> slot_kinds() const override {
    std::vector<SlotKind> kinds = {{"velocity"}};
    if (momentum_ != 0) kinds.push_back({"momentum", static_cast<int>(kinds.size())});
    if (centered_) kinds.push_back({"average_gradient", static_cast<int>(kinds.size())});
    return kinds;
  }

  void rule_settings(SettingVisitor& visitor) override {
    visitor.visit("rho", rho_);
    visitor.visit("momentum", momentum_);
    visitor.visit("epsilon", epsilon_);
    visitor.visit("centered", centered_);
  }

  double rho_, momentum_, epsilon_;
  bool centered_;
};

}  // namespace

Optimizer RMSprop(const RMSpropOptions& options) {
  return checked_optimizer<RMSpropDefinition>(options);
}

}  // namespace snug
