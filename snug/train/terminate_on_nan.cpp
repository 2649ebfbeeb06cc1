#include <cmath>

#include "snug/base/error.h"
#include "snug/base/log.h"
#include "snug/train/callback_definitions.h"
#include "snug/train/model.h"

namespace snug {
namespace {

class TerminateOnNaNDefinition final : public CallbackDefinition {
 public:
  explicit TerminateOnNaNDefinition(const TerminateOnNaNOptions& options) : options_(options) {}

  std::string_view class_name() const override { return "TerminateOnNaN"; }
  void settings(SettingVisitor& visitor) override {
    visitor.visit("raise_error", options_.raise_error);
  }

  bool wants_batch_logs() const override { return true; }
  bool ends_on_bad_step() const override { return !options_.raise_error; }

  void on_train_batch_end(int64_t batch, const Logs& logs) override {
    const auto loss = logs.find("loss");
    if (loss == logs.end() || std::isfinite(loss->second)) return;
    if (options_.raise_error) {
      throw NumericsError(
          "TerminateOnNaN: the loss is {} in batch {}; lower the learning rate, or clip the "
          "gradients",
          loss->second, batch);
    }
    log_message(LogLevel::warning, "Batch {}: Invalid loss, terminating training", batch);
    model().stop_training = true;
  }

 private:
  TerminateOnNaNOptions options_;
};

}  // namespace

std::shared_ptr<CallbackDefinition> make_terminate_on_nan(const TerminateOnNaNOptions& options) {
  return std::make_shared<TerminateOnNaNDefinition>(options);
}

CallbackPtr TerminateOnNaN(const TerminateOnNaNOptions& options) {
  return make_terminate_on_nan(options);
}

}  // namespace snug
