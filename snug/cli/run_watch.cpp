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

void RunWatch::on_train_batch_end(int64_t, const Logs&) {
  ++steps_;
  if (caught_signal() != 0) model().stop_training = true;
}

double RunWatch::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

}  // namespace snug::cli
