#include "snug/train/fit_checkpoints.h"

#include <sstream>

#include "snug/base/log.h"
#include "snug/train/state_bytes.h"

namespace snug {

FitCheckpoints::FitCheckpoints(const CheckpointOptions& options)
    : options_(options), store_(options) {}

void FitCheckpoints::choose(bool resume) {
  const std::vector<Path> there = store_.newest_first();
  if (!resume && !there.empty()) {
    throw Error(
        "{}: there are checkpoints of another run; go on with it (resume), or choose another "
        "directory",
        options_.directory.string());
  }
  const std::optional<Path> path = store_.newest_good();
  if (path) file_.emplace(*options_.files, *path);
  if (!path && !there.empty()) {
    throw CorruptFile("{}: none of its {} checkpoints can be read; start anew in another directory",
                      options_.directory.string(), there.size());
  }
}

void FitCheckpoints::read_part(const StatePart& part) const {
  StateReader reader(file_->section(part.name),
                     fmt::format("{}: {}", file_->path().string(), part.name));
  part.visit(reader);
}

void FitCheckpoints::load(const RunContents& contents) const {
  file_->read_values(contents.variables);
  for (const StatePart& part : contents.parts) read_part(part);
  log_message(LogLevel::info, "Going on from {}", file_->path().string());
}

void FitCheckpoints::start(RunContents contents) {
  contents_ = std::move(contents);
  file_.reset();
  store_.expect_room(checkpoint_bytes(sections(), contents_.variables));
  last_ = Clock::now();
}

std::vector<CheckpointSection> FitCheckpoints::sections() const {
  std::vector<CheckpointSection> sections;
  for (const StatePart& part : contents_.parts) {
    StateWriter writer;
    part.visit(writer);
    sections.push_back({part.name, writer.take()});
  }
  return sections;
}

void FitCheckpoints::after_step(int64_t steps) {
  const bool by_steps = options_.every_steps > 0 && steps - last_steps_ >= options_.every_steps;
  const bool by_time =
      options_.every_seconds > 0 &&
      Clock::now() - last_ >= std::chrono::duration<double>(options_.every_seconds);
  if (by_steps || by_time) save(steps);
}

void FitCheckpoints::after_epoch(int epoch, int64_t steps, bool is_best) {
  if (options_.every_epochs > 0 && (epoch + 1) % options_.every_epochs == 0) save(steps);
  if (is_best)
    with_sections([&](const auto& all) { return store_.save_best(all, contents_.variables); });
}

bool FitCheckpoints::save(int64_t steps) {
  const bool saved =
      with_sections([&](const auto& all) { return store_.save(steps, all, contents_.variables); });
  // A disk that fails is tried again when the next one is due.
  last_ = Clock::now();
  last_steps_ = steps;
  return saved;
}

bool FitCheckpoints::with_sections(
    const std::function<bool(const std::vector<CheckpointSection>&)>& save) {
  try {
    return save(sections());
  } catch (const FileError& error) {
    // A callback's own file.
    store_.warn(error.what());
    return false;
  }
}

void FitCheckpoints::finish(int64_t steps) {
  options_.delete_at_end ? store_.remove_all() : static_cast<void>(save(steps));
}

void visit_history(History& history, StateVisitor& visitor) {
  std::vector<double> epochs(history.epoch.begin(), history.epoch.end());
  visitor.visit("epochs", epochs);
  std::string names;
  for (const auto& [name, values] : history.history) names += name + "\n";
  visitor.visit("names", names);
  if (visitor.reads()) {
    history = {};
    for (const double epoch : epochs) history.epoch.push_back(static_cast<int>(epoch));
    std::istringstream lines(names);
    for (std::string name; std::getline(lines, name);) history.history[name];
  }
  for (auto& [name, values] : history.history) visitor.visit("values of " + name, values);
}

}  // namespace snug
