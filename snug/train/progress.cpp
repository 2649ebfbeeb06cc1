#include "snug/train/progress.h"

#include <fmt/format.h>

#include <cmath>

#include "snug/base/bytes.h"
#include "snug/base/log.h"
#include "snug/base/memory.h"

namespace snug {
namespace {

constexpr int kBarWidth = 20;
constexpr std::chrono::milliseconds kBetweenDrawings(50);

void write(const std::string& text) { send_to_log(LogLevel::progress, text); }

std::string bar(int64_t step, int64_t steps) {
  const auto done = static_cast<int>(static_cast<double>(kBarWidth) * static_cast<double>(step) /
                                     static_cast<double>(steps));
  std::string text;
  if (done > 0) {
    text += "\33[32m";
    for (int i = 0; i < done; ++i) text += "━";
    text += "\x1b[0m";
  }
  text += "\33[37m";
  for (int i = done; i < kBarWidth; ++i) text += "━";
  return text + "\x1b[0m";
}

}  // namespace

PlanningNotice planning_notice(int verbose) {
  if (verbose == 0) return PlanningNotice(nullptr);
  return PlanningNotice(
      [] { write("Planning the memory of a step: this takes some seconds ...\n"); });
}

std::string logs_text(const Logs& logs) {
  std::string text;
  const auto add = [&](const std::string& name, double value) {
    if (std::isnan(value)) value = std::abs(value);  // It may have a sign, which means nothing.
    const bool small = std::abs(value) <= 1e-3;
    text += small ? fmt::format(" - {}: {:.4e}", name, value)
                  : fmt::format(" - {}: {:.4f}", name, value);
  };
  for (const bool validation : {false, true}) {
    for (const auto& [name, value] : logs) {
      if (name.starts_with("val_") == validation) add(name, value);
    }
  }
  return text;
}

std::string step_time_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.0f}s/step", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.0f}ms/step", seconds * 1e3);
  return fmt::format("{:.0f}us/step", seconds * 1e6);
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<int64_t>(seconds);
  if (whole >= 3600)
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole % 3600 / 60, whole % 60);
  if (whole >= 60) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}s", whole);
}

Progress::Progress(int verbose, int epochs, std::optional<int64_t> steps, std::string note)
    : verbose_(verbose), epochs_(epochs), steps_(steps), note_(std::move(note)) {}

void Progress::begin_epoch(int epoch) {
  start_ = drawn_ = Clock::now();
  past_first_ = false;
  done_ = drawn_step_ = 0;
  drawn_width_ = 0;
  if (verbose_ > 0 && epochs_ > 1) write(fmt::format("Epoch {}/{}\n", epoch + 1, epochs_));
}

bool Progress::is_due() const { return verbose_ == 1 && Clock::now() - drawn_ >= kBetweenDrawings; }

void Progress::update(int64_t step, const Logs& logs) { draw(step, logs, /*last=*/false); }

void Progress::draw(int64_t step, const Logs& logs, bool last) {
  drawn_ = Clock::now();
  const double elapsed = std::chrono::duration<double>(drawn_ - start_).count();
  // The first step, with its page faults and cold caches, is left out of the estimate.
  if (!past_first_) {
    past_first_ = true;
    after_first_ = drawn_;
    drawn_step_ = step;
  }
  const double since = std::chrono::duration<double>(drawn_ - after_first_).count();
  const double a_step = step > drawn_step_
                            ? since / static_cast<double>(step - drawn_step_)
                            : elapsed / static_cast<double>(std::max<int64_t>(step, 1));
  const int64_t steps = last ? step : steps_.value_or(0);
  std::string line;
  if (steps > 0) {
    const size_t width = std::to_string(steps).size();
    line = fmt::format("\x1b[1m{:>{}}/{}\x1b[0m {}", step, width, steps, bar(step, steps));
  } else {
    line = fmt::format("\x1b[1m{:>7}/Unknown\x1b[0m", step);
  }
  const double left = a_step * static_cast<double>(std::max<int64_t>(steps - step, 0));
  const std::string time =
      last || steps == 0 ? fmt::format("{:.0f}s", elapsed) : duration_text(left);
  line += fmt::format(" \x1b[1m{}\x1b[0m {}{} - memory: {}{}", time, step_time_text(a_step),
                      logs_text(logs), bytes_text(resident_bytes()), note_);
  const size_t width = line.size();
  std::string text = drawn_width_ > 0 ? std::string(drawn_width_, '\b') + "\r" : "\r";
  text += line;
  if (width < drawn_width_) text += std::string(drawn_width_ - width, ' ');
  drawn_width_ = width;
  write(last ? text + "\n" : text);
}

void Progress::end_epoch(const Logs& logs) {
  if (verbose_ == 1) return draw(done_, logs, /*last=*/true);
  if (verbose_ != 2) return;
  const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
  write(fmt::format("{}/{} - {:.0f}s - {}{} - memory: {}{}\n", done_, done_, elapsed,
                    step_time_text(elapsed / static_cast<double>(std::max<int64_t>(done_, 1))),
                    logs_text(logs), bytes_text(resident_bytes()), note_));
}

}  // namespace snug
