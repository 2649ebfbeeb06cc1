#include "snug/base/error.h"
#include "snug/base/log.h"
#include "snug/train/callback_definitions.h"
#include "snug/train/monitor.h"
#include "snug/train/variable_copy.h"

namespace snug {
namespace {

class EarlyStoppingDefinition final : public CallbackDefinition {
 public:
  explicit EarlyStoppingDefinition(const EarlyStoppingOptions& options) : options_(options) {
    check_mode(class_name(), options_.mode);
  }

  std::string_view class_name() const override { return "EarlyStopping"; }
  void settings(SettingVisitor& visitor) override {
    visitor.visit("monitor", options_.monitor);
    visitor.visit("min_delta", options_.min_delta);
    visitor.visit("patience", options_.patience);
    visitor.visit("verbose", options_.verbose);
    visitor.visit("mode", options_.mode);
    visitor.visit("baseline", options_.baseline);
    visitor.visit("restore_best_weights", options_.restore_best_weights);
    visitor.visit("start_from_epoch", options_.start_from_epoch);
    check_mode(class_name(), options_.mode);
  }

  size_t held_bytes(const Model& model) const override {
    return options_.restore_best_weights ? VariableCopy::bytes_for(model.weights()) : 0;
  }
  size_t arrays_of_state(const Model& model) const override {
    return options_.restore_best_weights ? model.weights().size() : 0;
  }

  void on_train_begin() override {
    monitor_ = Monitor(std::string(class_name()), options_.monitor, options_.mode,
                       options_.min_delta, model(), params());
    best_ = monitor_.worst();
    wait_ = 0;
    stopped_epoch_ = best_epoch_ = 0;
    best_weights_.clear();
  }

  void on_epoch_end(int epoch, Logs& logs) override {
    const std::optional<double> current = monitor_.value(logs);
    if (!current || epoch < options_.start_from_epoch) return;
    // The first epoch is the best so far, whatever its value: a NaN too.
    if (options_.restore_best_weights && best_weights_.is_empty()) keep(epoch);
    ++wait_;
    if (monitor_.improves(*current, best_)) {
      best_ = *current;
      keep(epoch);
      if (!options_.baseline || monitor_.improves(*current, *options_.baseline)) wait_ = 0;
      return;
    }
    if (wait_ >= options_.patience && epoch > 0) {
      stopped_epoch_ = epoch;
      model().stop_training = true;
    }
  }

  void state(StateVisitor& visitor) override {
    visitor.visit("best", best_);
    visitor.visit("wait", wait_);
    visitor.visit("stopped_epoch", stopped_epoch_);
    visitor.visit("best_epoch", best_epoch_);
    bool keeps = !best_weights_.is_empty();
    visitor.visit("keeps_weights", keeps);
    if (!keeps) return;
    const Variables weights = model().weights();
    if (visitor.reads()) best_weights_.reserve(weights);
    best_weights_.each(weights, [&](const VariablePtr& weight, std::byte* kept) {
      visitor.visit_values("best/" + weight->path(), {weight->type(), kept});
    });
  }

  void on_train_end(const Logs&) override {
    const bool speaks = options_.verbose > 0;
    if (stopped_epoch_ > 0 && speaks) {
      log_message(LogLevel::info, "Epoch {}: early stopping", stopped_epoch_ + 1);
    }
    if (best_weights_.is_empty()) return;
    if (speaks) {
      log_message(LogLevel::info, "Restoring model weights from the end of the best epoch: {}.",
                  best_epoch_ + 1);
    }
    best_weights_.give_back(model().weights());
    best_weights_.clear();
  }

 private:
  void keep(int epoch) {
    best_epoch_ = epoch;
    if (options_.restore_best_weights) best_weights_.take(model().weights());
  }

  EarlyStoppingOptions options_;
  Monitor monitor_;
  double best_ = 0;
  int64_t wait_ = 0;
  int stopped_epoch_ = 0, best_epoch_ = 0;
  VariableCopy best_weights_;
};

}  // namespace

std::shared_ptr<CallbackDefinition> make_early_stopping(const EarlyStoppingOptions& options) {
  return std::make_shared<EarlyStoppingDefinition>(options);
}

CallbackPtr EarlyStopping(const EarlyStoppingOptions& options) {
  return make_early_stopping(options);
}

}  // namespace snug
