#include "snug/train/callbacks.h"

namespace snug {
namespace {

class Lambdas final : public Callback {
 public:
  explicit Lambdas(LambdaCallbackOptions options) : call_(std::move(options)) {}

  void on_epoch_begin(int epoch) override {
    if (call_.on_epoch_begin) call_.on_epoch_begin(epoch);
  }
  void on_epoch_end(int epoch, Logs& logs) override {
    if (call_.on_epoch_end) call_.on_epoch_end(epoch, logs);
  }
  void on_train_begin() override {
    if (call_.on_train_begin) call_.on_train_begin();
  }
  void on_train_end(const Logs& logs) override {
    if (call_.on_train_end) call_.on_train_end(logs);
  }
  void on_train_batch_begin(int64_t batch) override {
    if (call_.on_train_batch_begin) call_.on_train_batch_begin(batch);
  }
  void on_train_batch_end(int64_t batch, const Logs& logs) override {
    if (call_.on_train_batch_end) call_.on_train_batch_end(batch, logs);
  }
  bool wants_batch_logs() const override { return static_cast<bool>(call_.on_train_batch_end); }

 private:
  LambdaCallbackOptions call_;
};

}  // namespace

CallbackPtr LambdaCallback(LambdaCallbackOptions options) {
  return std::make_shared<Lambdas>(std::move(options));
}

}  // namespace snug
