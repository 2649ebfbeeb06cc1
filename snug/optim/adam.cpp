#include "snug/base/error.h"
#include "snug/optim/settings_of.h"

namespace snug {
namespace {

class AdamDefinition : public OptimizerDefinition {
 public:
  explicit AdamDefinition(const AdamOptions& options, std::string_view name = "adam")
      : OptimizerDefinition(settings_of(options, name)),
        beta_1_(options.beta_1),
        beta_2_(options.beta_2),
        epsilon_(options.epsilon),
        amsgrad_(options.amsgrad),
        lazy_(options.lazy) {}

  std::string_view class_name() const override { return "Adam"; }

 private:
  ops::UpdateRule rule() const override {
    return {.kind = ops::UpdateRule::Kind::adam,
            .beta_1 = beta_1_,
            .beta_2 = beta_2_,
            .epsilon = epsilon_,
            .amsgrad = amsgrad_,
            .lazy = lazy_};
  }

  std::vector<SlotKind> slot_kinds() const override {
    std::vector<SlotKind> kinds = {{"momentum"}, {"velocity"}};
    if (amsgrad_) kinds.push_back({"velocity_hat", 1});
    return kinds;
  }

  void rule_settings(SettingVisitor& visitor) override {
    visitor.visit("beta_1", beta_1_);
    visitor.visit("beta_2", beta_2_);
    visitor.visit("epsilon", epsilon_);
    visitor.visit("amsgrad", amsgrad_);
    visitor.visit_own("lazy", lazy_);
  }

  double beta_1_, beta_2_, epsilon_;
  bool amsgrad_, lazy_;
};

AdamOptions decaying(AdamOptions options) {
  if (!options.weight_decay) options.weight_decay = 0.004;
  return options;
}

class AdamWDefinition final : public AdamDefinition {
 public:
  explicit AdamWDefinition(const AdamOptions& options)
      : AdamDefinition(decaying(options), "adam_w") {}

  std::string_view class_name() const override { return "AdamW"; }

 private:
  void check_rule() const override {
    if (settings_.weight_decay) return;
    throw Error("AdamW: weight_decay is missing; give a number, or take Adam");
  }
};

}  // namespace

Optimizer Adam(const AdamOptions& options) { return checked_optimizer<AdamDefinition>(options); }
Optimizer AdamW(const AdamOptions& options) { return checked_optimizer<AdamWDefinition>(options); }

}  // namespace snug
