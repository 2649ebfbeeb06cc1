#include <algorithm>

#include "snug/base/error.h"
#include "snug/base/log.h"
#include "snug/train/callback_definitions.h"
#include "snug/train/learning_rate_log.h"
#include "snug/train/monitor.h"

namespace snug {
namespace {

class ReduceLROnPlateauDefinition final : public CallbackDefinition {
 public:
  explicit ReduceLROnPlateauDefinition(const ReduceLROnPlateauOptions& options)
      : options_(options) {
    check();
  }

  std::string_view class_name() const override { return "ReduceLROnPlateau"; }
  void settings(SettingVisitor& visitor) override {
    visitor.visit("monitor", options_.monitor);
    visitor.visit("factor", options_.factor);
    visitor.visit("patience", options_.patience);
    visitor.visit("verbose", options_.verbose);
    visitor.visit("mode", options_.mode);
    visitor.visit("min_delta", options_.min_delta);
    visitor.visit("cooldown", options_.cooldown);
    visitor.visit("min_lr", options_.min_lr);
    check();
  }

  void on_train_begin() override {
    refuse_schedule(class_name(), model());
    monitor_ = Monitor(std::string(class_name()), options_.monitor, options_.mode,
                       options_.min_delta, model(), params());
    best_ = monitor_.worst();
    wait_ = cooldown_left_ = 0;
  }

  void state(StateVisitor& visitor) override {
    visitor.visit("best", best_);
    visitor.visit("wait", wait_);
    visitor.visit("cooldown_left", cooldown_left_);
  }

  void on_epoch_end(int epoch, Logs& logs) override {
    logs["learning_rate"] = current_learning_rate(model());
    const std::optional<double> current = monitor_.value(logs);
    if (!current) return;
    if (cooldown_left_ > 0) {
      --cooldown_left_;
      wait_ = 0;
    }
    if (monitor_.improves(*current, best_)) {
      best_ = *current;
      wait_ = 0;
    } else if (cooldown_left_ == 0 && ++wait_ >= options_.patience) {
      reduce(epoch);
    }
  }

 private:
  void check() const {
    check_mode(class_name(), options_.mode);
    if (options_.factor < 1) return;
    throw Error("ReduceLROnPlateau: factor is {}; it must be below 1", options_.factor);
  }

  void reduce(int epoch) {
    const double rate = current_learning_rate(model());
    if (rate <= static_cast<float>(options_.min_lr)) return;
    const double reduced = std::max(rate * options_.factor, options_.min_lr);
    model().compiled().optimizer()->set_learning_rate(reduced);
    if (options_.verbose > 0) {
      log_message(LogLevel::info, "Epoch {}: ReduceLROnPlateau reducing learning rate to {}.",
                  epoch + 1, reduced);
    }
    cooldown_left_ = options_.cooldown;
    wait_ = 0;
  }

  ReduceLROnPlateauOptions options_;
  Monitor monitor_;
  double best_ = 0;
  int64_t wait_ = 0, cooldown_left_ = 0;
};

}  // namespace

std::shared_ptr<CallbackDefinition> make_reduce_lr_on_plateau(
    const ReduceLROnPlateauOptions& options) {
  return std::make_shared<ReduceLROnPlateauDefinition>(options);
}

CallbackPtr ReduceLROnPlateau(const ReduceLROnPlateauOptions& options) {
  return make_reduce_lr_on_plateau(options);
}

}  // namespace snug
