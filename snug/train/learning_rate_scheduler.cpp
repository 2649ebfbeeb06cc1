#include <cmath>

#include "snug/base/error.h"
#include "snug/base/log.h"
#include "snug/train/callbacks.h"
#include "snug/train/learning_rate_log.h"

namespace snug {
namespace {

class LearningRateSchedulerCallback final : public Callback {
 public:
  LearningRateSchedulerCallback(std::function<double(int, double)> schedule, int64_t verbose)
      : schedule_(std::move(schedule)), verbose_(verbose) {
    if (!schedule_) throw Error("LearningRateScheduler: the schedule is an empty function");
  }

  bool wants_batch_logs() const override { return false; }
  void on_train_begin() override { refuse_schedule("LearningRateScheduler", model()); }

  void on_epoch_begin(int epoch) override {
    const double rate = schedule_(epoch, current_learning_rate(model()));
    if (!std::isfinite(rate)) {
      throw Error("LearningRateScheduler: the schedule gave {} for epoch {}; it must give a number",
                  rate, epoch);
    }
    model().compiled().optimizer()->set_learning_rate(rate);
    if (verbose_ > 0) {
      log_message(LogLevel::info, "Epoch {}: LearningRateScheduler setting learning rate to {}.",
                  epoch + 1, rate);
    }
  }

  void on_epoch_end(int, Logs& logs) override {
    logs["learning_rate"] = current_learning_rate(model());
  }

 private:
  std::function<double(int, double)> schedule_;
  int64_t verbose_;
};

}  // namespace

void refuse_schedule(std::string_view who, const Model& model) {
  if (!model.compiled().optimizer()->common().learning_rate.schedule()) return;
  throw Error(
      "{}: the optimizer's learning rate is a schedule, which cannot be set; give the optimizer a "
      "number, or leave the callback out",
      who);
}

CallbackPtr LearningRateScheduler(std::function<double(int, double)> schedule, int64_t verbose) {
  return std::make_shared<LearningRateSchedulerCallback>(std::move(schedule), verbose);
}

CallbackPtr LearningRateScheduler(std::function<double(int)> schedule, int64_t verbose) {
  if (!schedule) throw Error("LearningRateScheduler: the schedule is an empty function");
  return std::make_shared<LearningRateSchedulerCallback>(
      [schedule = std::move(schedule)](int epoch, double) { return schedule(epoch); }, verbose);
}

}  // namespace snug
