#include "snug/cli/run_watch.h"

#include <csignal>
#include <sstream>

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
  int64_t count = std::ssize(epochs_);
  visitor.visit("epochs", count);
  if (visitor.reads()) {
    before_ = so_far;
    start_ = Clock::now();
    epochs_.assign(static_cast<size_t>(count), {});
  }
  for (int64_t i = 0; i < count; ++i) visit(epochs_[i], std::to_string(i), visitor);
}

void RunWatch::visit(Epoch& epoch, const std::string& number, StateVisitor& visitor) {
  visitor.visit("number of " + number, epoch.number);
  std::string names;
  std::vector<double> values;
  for (const auto& [name, value] : epoch.logs) {
    names += name + "\n";
    values.push_back(value);
  }
  visitor.visit("names of " + number, names);
  visitor.visit("values of " + number, values);
  if (!visitor.reads()) return;
  std::istringstream lines(names);
  size_t at = 0;
  for (std::string name; std::getline(lines, name) && at < values.size();)
    epoch.logs[name] = values[at++];
}

}  // namespace snug::cli
