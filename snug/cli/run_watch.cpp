#include "snug/cli/run_watch.h"

#include <csignal>

#include "snug/train/model.h"

namespace snug::cli {
namespace {

volatile std::sig_atomic_t signal_number = 0;

void on_signal(int number) { signal_number = number; }

}  // namespace

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM}) sigaction(number, &action, nullptr);
}

int caught_signal() { return signal_number; }

double RunWatch::seconds() const {
  return before_ + std::chrono::duration<double>(Clock::now() - start_).count();
}

void RunWatch::state(StateVisitor& visitor) {
  visitor.visit("steps", steps_);
  double so_far = seconds();
  visitor.visit("seconds", so_far);
  if (visitor.reads()) {
    before_ = so_far;
    start_ = Clock::now();
  }
  epochs_.state(visitor);
}

void RunWatch::on_epoch_end(int epoch, Logs& logs) {
  epochs_.add(epoch, logs);
  if (file_) file_->follow(epochs_);
}

size_t RunWatch::held_bytes(const Model& model) const {
  return static_cast<size_t>(history_bytes(model.compiled(), expected_));
}

}  // namespace snug::cli
