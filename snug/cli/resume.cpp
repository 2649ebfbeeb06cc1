#include "snug/cli/resume.h"

#include <algorithm>

#include "snug/base/file_lock.h"
#include "snug/base/log.h"
#include "snug/cli/line_settings.h"
#include "snug/cli/run_directory.h"

namespace snug::cli {
namespace {

// The model file that a run has trained, as its run.yaml says; empty: layers.
std::string model_file_of(const RunFile& run) {
  return run.has_model_file() ? std::filesystem::absolute(run.path(*run.section("model"))).string()
                              : "";
}

// A file that is no longer where it was may be the one that is given now.
bool may_be_same(const std::string& before, const std::string& now) {
  if (before.empty() || now.empty()) return before == now;
  std::error_code error;
  return before == now || !real_files().size(before) ||
         std::filesystem::equivalent(before, now, error);
}

void expect_same_model(const RunFile& run, const Path& directory) {
  const Path file = directory / "run.yaml";
  if (!real_files().size(file)) return;
  const std::string before = model_file_of(read_run_file(file.string(), {}));
  const std::string now = model_file_of(run);
  if (may_be_same(before, now)) return;
  const auto named = [](const std::string& model) {
    return model.empty() ? "the layers of a run file" : "the model " + model;
  };
  throw Error(
      "{}: this run, the newest of the name {}, has trained {}, not {}; to go on with it, give "
      "what it was started with; to go on with another run, its name=NAME; to start one, leave "
      "--resume out",
      directory.string(), run.name, named(before), named(now));
}

bool has_checkpoint(const Path& directory) {
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error)) return false;
  const std::vector<std::string> names = real_files().list(directory);
  return std::ranges::any_of(names, [](const std::string& name) {
    return name.ends_with(".ckpt") && name != "best.ckpt";
  });
}

}  // namespace

Arguments with_remembered(Arguments arguments) {
  if (!arguments.resume) return arguments;
  const RunFile run = read_run_file(arguments.run_file, arguments.settings);
  const Path directory = RunDirectory::newest(arguments.runs, run.name).path();
  const std::vector<Override> before = remembered_settings(directory);
  std::vector<Override> kept = before;
  arguments.settings = merged(before, arguments.settings);
  std::erase_if(kept, [&](const Override& setting) {
    const auto now = std::ranges::find(arguments.settings, setting.path, &Override::path);
    return now->value != setting.value;
  });
  expect_same_model(read_run_file(arguments.run_file, arguments.settings), directory);
  if (!kept.empty())
    log_message(LogLevel::info, "As at the start of {}: {}", directory.string(), typed_text(kept));
  return arguments;
}

void expect_checkpoint(const Arguments& arguments, const Session& session, const Path& directory) {
  // Those of backup_and_restore stand elsewhere.
  const bool elsewhere = std::ranges::any_of(
      session.fit.callbacks,
      [](const CallbackPtr& callback) { return callback->checkpoints().has_value(); });
  const Path checkpoints = directory / "checkpoints";
  if (elsewhere || has_checkpoint(checkpoints)) return;
  // One that still runs was not stopped: this throws.
  if (std::filesystem::is_directory(checkpoints)) FileLock{checkpoints};
  const Path model = directory / "last.keras";
  if (real_files().size(model)) {
    const std::string typed = "model=" + std::filesystem::absolute(model).string();
    throw Error(
        "{}: the run came to its end and has no checkpoint to go on from (fit.checkpoint was off, "
        "or they were removed); train its model further in a new run: {}",
        directory.string(),
        suggestion(arguments, "fit",
                   {{.path = "model", .value = typed.substr(6), .place = typed}}));
  }
  if (!session.fit.checkpoint.is_on())
    throw Error("{}: fit.checkpoint is off, so there is nothing to go on from; leave --resume out",
                directory.string());
  log_message(LogLevel::warning,
              "{}: the run was stopped before its first checkpoint (every 60 s, unless "
              "fit.checkpoint says otherwise): it begins anew",
              directory.string());
}

}  // namespace snug::cli
