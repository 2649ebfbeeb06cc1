#include "snug/train/fit_checkpoints.h"

#include <set>
#include <utility>

#include "snug/base/log.h"
#include "snug/train/state_bytes.h"

namespace snug {
namespace {

// Adds what passes while it lives.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds) {}
  ~Stopwatch() { seconds_ += std::chrono::duration<double>(Clock::now() - start_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  double& seconds_;
  Clock::time_point start_ = Clock::now();
};

// Whether anything is visited at all: asked before a section is made ready for it.
class Listener final : public StateVisitor {
 public:
  bool has_heard = false;

  using StateVisitor::visit;
  void visit(std::string_view, int64_t&) override { has_heard = true; }
  void visit(std::string_view, double&) override { has_heard = true; }
  void visit(std::string_view, std::string&) override { has_heard = true; }
  void visit(std::string_view, std::vector<double>&) override { has_heard = true; }
  void visit_values(std::string_view, const Tensor&) override { has_heard = true; }
  bool reads() const override { return false; }
  void sync_first(std::shared_ptr<File>) override { has_heard = true; }
};

}  // namespace

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
    throw CorruptFile(
        "{}: none of its {} checkpoints can be read; start anew, without resume (in another "
        "directory, or once these are gone)",
        options_.directory.string(), there.size());
  }
}

void FitCheckpoints::read_part(const StatePart& part) const {
  if (part.optional && !file_->has(part.name)) return;
  try {
    StateReader reader(file_->section(part.name),
                       fmt::format("{}: {}", file_->path().string(), part.name),
                       [&](const std::string& name, const Tensor& into) {
                         file_->read_values({{part.name + "/" + name, into}});
                       });
    part.visit(reader);
  } catch (const FileError& error) {
    if (!part.optional) throw;
    log_message(LogLevel::warning, "{}; the run goes on without it", error.what());
  }
}

// What the checkpoint's model has and this one has not: its layers, or its metrics, are others.
static void expect_no_others(const CheckpointFile& file,
                             const std::vector<CheckpointVariable>& wanted) {
  std::set<std::string_view> names;
  for (const CheckpointVariable& variable : wanted) names.insert(variable.name);
  for (const CheckpointFile::Variable& there : file.variables()) {
    const bool is_compared = there.name.starts_with("weights/") ||
                             there.name.starts_with("optimizer/") ||
                             there.name.starts_with("metrics/");
    if (!is_compared || names.contains(there.name)) continue;
    throw Error("{}: {}", file.path().string(), of_another_run(there.name, there.type, "missing"));
  }
}

void FitCheckpoints::load(const RunContents& contents) const {
  // What may be refused comes first, what the run only compares before what it takes over; the
  // model is touched last.
  file_->expect(contents.variables);
  expect_no_others(*file_, contents.variables);
  for (const StatePart& part : contents.parts) {
    if (!part.optional) file_->expect(part.name);
  }
  for (const bool is_fixed : {true, false}) {
    for (const StatePart& part : contents.parts) {
      if ((part.changes == StatePart::Changes::never) == is_fixed) read_part(part);
    }
  }
  file_->read_values(contents.variables);
  log_message(LogLevel::info, "Going on from {}", file_->path().string());
}

void FitCheckpoints::start(RunContents contents, int64_t steps, int copying_threads) {
  contents_ = std::move(contents);
  file_.reset();
  list_parts();
  store_.expect_room(checkpoint_bytes(sections_.all, contents_.variables));
  if (copying_threads > 0) {
    copy_.reserve(contents_.variables, copying_threads);
    writer_.prepare();
  }
  last_ = Clock::now();
  last_steps_ = steps;
}

// All of them once; from now on only what changes.
void FitCheckpoints::list_parts() {
  using Changes = StatePart::Changes;
  sections_ = {};
  numbers_.clear();
  of_steps_.clear();
  of_epochs_.clear();
  for (size_t i = 0; i < contents_.parts.size(); ++i) {
    const StatePart& part = contents_.parts[i];
    sections_.all.push_back({part.name, {}});
    if (part.changes == Changes::in_place) {
      sections_.all[i].bytes = numbers_.add(i, part.visit);
      continue;
    }
    fill_section(i);
    if (part.changes == Changes::at_steps) of_steps_.push_back(i);
    if (part.changes == Changes::at_epochs) of_epochs_.push_back(i);
  }
  epoch_ended_ = is_of_epoch_ = false;
}

// Most callbacks keep nothing, and none should be waited for.
bool FitCheckpoints::is_silent(size_t part) const {
  if (!sections_.all[part].bytes.empty()) return false;
  Listener listener;
  contents_.parts[part].visit(listener);
  return !listener.has_heard;
}

void FitCheckpoints::fill_section(size_t part) {
  const std::string& name = contents_.parts[part].name;
  StateWriter writer(std::move(sections_.all[part].bytes));
  contents_.parts[part].visit(writer);
  sections_.all[part].bytes = writer.take();
  for (const auto& [array, values] : writer.values())
    sections_.lent.push_back({name + "/" + array, values});
  sections_.files.insert(sections_.files.end(), writer.files().begin(), writer.files().end());
}

void FitCheckpoints::fill_sections() {
  sections_.lent.clear();
  sections_.files.clear();
  for (const size_t part : of_steps_) {
    if (!is_silent(part)) fill_section(part);
  }
  contents_.bring_up_to_date();
  numbers_.take();
  is_of_epoch_ |= std::exchange(epoch_ended_, false);
}

void FitCheckpoints::after_step(int64_t steps) {
  // Steps that outrun the disk wait for it, so that a crash costs no more than twice what was
  // asked for; time does not.
  const bool by_steps = options_.every_steps > 0 && steps - last_steps_ >= options_.every_steps;
  if (writer_.is_busy() && !by_steps) return;
  writer_.look();
  const bool by_time =
      options_.every_seconds > 0 &&
      Clock::now() - last_ >= std::chrono::duration<double>(options_.every_seconds);
  if (by_steps || by_time) save({.step = steps});
}

void FitCheckpoints::after_epoch(int epoch, int64_t steps, bool is_best) {
  epoch_ended_ = true;
  Request request{.step = std::nullopt, .best = is_best};
  if (options_.every_epochs > 0 && (epoch + 1) % options_.every_epochs == 0) request.step = steps;
  if (request.step || request.best) save(request);
}

bool FitCheckpoints::save(int64_t steps) { return save_in_place({.step = steps}); }

void FitCheckpoints::save(const Request& request) {
  if (copy_.is_empty()) return static_cast<void>(save_in_place(request));
  wait();
  const Stopwatch stalled(cost_.stalled_seconds);
  if (!prepare(request)) return;
  copy_.take();
  lends_ = !sections_.lent.empty();
  writer_.start([this] { write(copy_.variables()); });
}

bool FitCheckpoints::save_in_place(const Request& request) {
  wait();
  const Stopwatch stalled(cost_.stalled_seconds);
  return prepare(request) && write(contents_.variables);
}

void FitCheckpoints::wait() {
  const Stopwatch waited(cost_.waited_seconds);
  writer_.wait();
  if (std::exchange(lost_best_, false)) contents_.best_is_lost();
}

bool FitCheckpoints::prepare(const Request& request) {
  ++cost_.saves;
  request_ = request;
  lost_best_ = request.best;
  // A disk that fails is tried again when the next one is due.
  last_ = Clock::now();
  if (request.step) last_steps_ = *request.step;
  try {
    fill_sections();
    return true;
  } catch (const FileError& error) {
    // A callback's own file.
    store_.warn(error.what());
    return false;
  }
}

// False where it failed: warned of.
bool FitCheckpoints::write(std::vector<CheckpointVariable> variables) {
  numbers_.put_into(sections_.all);
  if (std::exchange(is_of_epoch_, false)) {
    for (const size_t part : of_epochs_) fill_section(part);
  }
  try {
    for (const std::shared_ptr<File>& file : sections_.files) file->sync();
  } catch (const FileError& error) {
    store_.warn(error.what());
    return false;
  }
  sections_.files.clear();  // Their owners may close them.
  variables.insert(variables.end(), sections_.lent.begin(), sections_.lent.end());
  // The sections speak of a best that must be there before they are.
  if (request_.best && !store_.save_best(sections_.all, variables)) return false;
  lost_best_ = false;
  return !request_.step || store_.save(*request_.step, sections_.all, variables);
}

void FitCheckpoints::finish(int64_t steps) {
  writer_.wait();
  options_.delete_at_end ? store_.remove_all() : static_cast<void>(save(steps));
}

}  // namespace snug
