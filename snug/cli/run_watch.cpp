#include "snug/cli/run_watch.h"

#include <atomic>
#include <csignal>
#include <ctime>

#include "snug/train/model.h"

namespace snug::cli {
namespace {

volatile std::sig_atomic_t signal_number = 0;
std::atomic<int64_t> first_signal_at = 0;  // Milliseconds.

// A second one ends the program, but not the first one's twin: `timeout` and some shells send
// theirs to the program and once more to its group.
void on_signal(int number) {
  constexpr int64_t kTwins = 500;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t at = int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
  if (signal_number == 0) {
    first_signal_at = at;
    signal_number = number;
  } else if (at - first_signal_at > kTwins) {
    std::signal(number, SIG_DFL);
    std::raise(number);
  }
}

}  // namespace

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM}) sigaddset(&action.sa_mask, number);
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
  const auto once = static_cast<size_t>(history_bytes(model.compiled(), expected_));
  return is_saved_ ? 2 * once : once;
}

}  // namespace snug::cli
