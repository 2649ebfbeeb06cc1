#include "snug/base/error.h"
#include "snug/optim/settings_of.h"

namespace snug {
namespace {

class SGDDefinition final : public OptimizerDefinition {
 public:
  explicit SGDDefinition(const SGDOptions& options)
      : OptimizerDefinition(settings_of(options, "sgd")),
        momentum_(options.momentum),
        nesterov_(options.nesterov) {}

  std::string_view class_name() const override { return "SGD"; }

 private:
  ops::UpdateRule rule() const override {
    return {.kind = ops::UpdateRule::Kind::sgd, .momentum = momentum_, .nesterov = nesterov_};
  }

  std::vector<SlotKind> slot_kinds() const override {
    if (momentum_ == 0) return {};
    return {{"momentum"}};
  }

  void rule_settings(SettingVisitor& visitor) override {
    visitor.visit("momentum", momentum_);
    visitor.visit("nesterov", nesterov_);
  }

  void check_rule() const override {
    if (momentum_ >= 0 && momentum_ <= 1) return;
    throw Error("SGD: momentum is {}; it must be within [0, 1]", momentum_);
  }

  double momentum_;
  bool nesterov_;
};

}  // namespace

Optimizer SGD(const SGDOptions& options) { return checked_optimizer<SGDDefinition>(options); }

}  // namespace snug
