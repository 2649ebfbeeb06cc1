#include "snug/cli/resume.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "snug/base/file_lock.h"
#include "snug/base/log.h"
#include "snug/cli/line_settings.h"
#include "snug/cli/named_callbacks.h"
#include "snug/cli/run_directory.h"
#include "snug/train/callbacks.h"

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

void expect_same_model(const RunFile& run, const Path& directory, bool is_newest) {
  const Path file = directory / "run.yaml";
  if (!real_files().size(file)) return;
  const std::string before = model_file_of(read_run_file(file.string(), {}));
  const std::string now = model_file_of(run);
  if (may_be_same(before, now)) return;
  const auto named = [](const std::string& model) {
    return model.empty() ? "the layers of a run file" : "the model " + model;
  };
  throw Error(
      "{}: this run{} has trained {}, not {}; to go on with it, give what it was started with; to "
      "go on with another run, its name=NAME, or --run N for an older one of the name; to start "
      "one, leave --resume out",
      directory.string(), is_newest ? fmt::format(", the newest of the name {},", run.name) : "",
      named(before), named(now));
}

// Those of backup_and_restore stand elsewhere.
Path checkpoints_of(const Session& session, const Path& directory) {
  for (const CallbackPtr& callback : session.fit.callbacks) {
    if (const auto options = callback->checkpoints()) return options->directory;
  }
  return directory / "checkpoints";
}

bool holds_checkpoint(const Path& directory) {
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error)) return false;
  const std::vector<std::string> names = real_files().list(directory);
  return std::ranges::any_of(names, [](const std::string& name) {
    return name.ends_with(".ckpt") && name != "best.ckpt";
  });
}

// One that still runs was not stopped, though it may have saved nothing yet.
void expect_stopped(const Path& checkpoints) {
  std::error_code error;
  if (!std::filesystem::is_directory(checkpoints, error)) return;
  try {
    FileLock{checkpoints};
  } catch (const FileError& held) {
    throw FileError("{}; to go on with an older run of the name, give --run N", held.what());
  }
}

// By the names of their classes, for a file may write them in several ways.
std::vector<std::string> callback_classes_of(const RunFile& run) {
  std::vector<std::string> classes;
  for (const NamedSettings& callback : named_callbacks(run))
    classes.emplace_back(make_callback(callback.name)->class_name());
  return classes;
}

// Of `from` without as many of `without`.
std::vector<std::string> difference(std::vector<std::string> from,
                                    const std::vector<std::string>& without) {
  for (const std::string& name : without) {
    const auto found = std::ranges::find(from, name);
    if (found != from.end()) from.erase(found);
  }
  return from;
}

std::string callback_changes(const std::vector<std::string>& before,
                             const std::vector<std::string>& now) {
  const std::vector<std::string> added = difference(now, before), removed = difference(before, now);
  if (added.empty() && removed.empty()) return "the callbacks stand in another order";
  std::vector<std::string> changes;
  for (const std::string& name : added) changes.push_back(name + " was added");
  for (const std::string& name : removed) changes.push_back(name + " was removed");
  return fmt::format("the callback {}", fmt::join(changes, ", "));
}

using Leaves = std::map<std::string, std::string>;

void add_leaves(const YamlValue& value, const std::string& path, Leaves& leaves) {
  if (value.is_scalar()) leaves[path] = value.text;
  if (value.is_null()) leaves[path] = "null";
  for (const YamlItem& item : value.items)
    add_leaves(item.value, path.empty() ? item.key : fmt::format("{}.{}", path, item.key), leaves);
  for (size_t i = 0; i < value.list.size(); ++i)
    add_leaves(value.list[i], fmt::format("{}.{}", path, i), leaves);
}

bool may_change(const std::string& path, const std::vector<Override>& given) {
  // What is told of elsewhere, or changes no number.
  constexpr std::array<std::string_view, 6> kFree = {
      "name", "fit.epochs", "fit.memory", "fit.verbose", "fit.threads", "fit.batch_size"};
  const auto is_given = [&](const Override& setting) {
    // data.x may stand under train.
    const std::string by = setting.path.starts_with("data.") ? "data" : setting.path;
    return path == by || path.starts_with(by + ".");
  };
  return std::ranges::find(kFree, path) != kFree.end() || std::ranges::any_of(given, is_given);
}

// Whether an absolute path is what the file's own words, relative to its folder, may have meant.
bool may_be_of(const Path& absolute, const std::string& words) {
  Path path = Path(words).lexically_normal();
  if (words.empty() || path.is_absolute()) return false;
  while (!path.empty() && *path.begin() == "..") path = path.lexically_relative("..");
  const auto length = std::distance(path.begin(), path.end());
  const auto whole = std::distance(absolute.begin(), absolute.end());
  return absolute.is_absolute() && length <= whole &&
         std::equal(path.begin(), path.end(), std::next(absolute.begin(), whole - length));
}

// What was said at the start of the run and what is said now, both as they were resolved, and now
// by the run file and the command line themselves.
struct Said {
  Leaves before, now, own;

  // A project that was moved has its files elsewhere; whether the rows are the same is looked at
  // when it goes on.
  bool is_moved(const std::string& path) const {
    const auto words = own.find(path);
    return words != own.end() && may_be_of(before.at(path), words->second) &&
           may_be_of(now.at(path), words->second);
  }
  // Of a table, and not given: {age: standardise} is short for {age: {use: standardise}}.
  bool is_learned(const std::string& path) const {
    return path.starts_with("data.columns.") && !own.contains(path) &&
           !own.contains(path.substr(0, path.rfind('.')));
  }
};

// Runs that were started before 2026-11-19 refuse a number that is missing nowhere in their data,
// which now takes the mean: no row of it is another one.
bool takes_mean_now(const Said& said, const std::string& path) {
  return said.is_learned(path) && path.ends_with(".missing") && said.before.at(path) == "refuse" &&
         said.now.at(path) == "mean";
}

struct Change {
  std::string path, text;
};

std::vector<Change> changes_of(const Said& said, const std::vector<Override>& given) {
  std::vector<Change> changes;
  for (const auto& [path, value] : said.now) {
    const auto was = said.before.find(path);
    const bool is_new = was == said.before.end();
    if (may_change(path, given)) continue;
    if (!is_new && (was->second == value || said.is_moved(path))) continue;
    if (!is_new && takes_mean_now(said, path)) continue;
    changes.push_back({path, is_new
                                 ? fmt::format("{} is {}, and was not given", path, value)
                                 : fmt::format("{} is {}, and was {}", path, value, was->second)});
  }
  for (const auto& [path, value] : said.before) {
    if (!may_change(path, given) && !said.now.contains(path))
      changes.push_back({path, fmt::format("{} is not given, and was {}", path, value)});
  }
  return changes;
}

// The first few.
std::string list_of(std::span<const Change> changes) {
  constexpr size_t kMost = 5;
  std::string text;
  for (size_t i = 0; i < std::min(kMost, changes.size()); ++i)
    text += (i == 0 ? "" : "; ") + changes[i].text;
  if (changes.size() > kMost) text += fmt::format("; and {} more", changes.size() - kMost);
  return text;
}

}  // namespace

void warn_of_changes(const Arguments& arguments, const Path& directory, const std::string& resolved,
                     const std::vector<Override>& given) {
  const Path file = directory / "run.yaml";
  if (!real_files().size(file)) return;
  Said said;
  add_leaves(read_run_file(file.string(), {}).tree, "", said.before);
  add_leaves(parse_yaml(resolved, "run.yaml"), "", said.now);
  add_leaves(read_run_file(arguments.run_file, arguments.settings).tree, "", said.own);
  std::vector<Change> changes = changes_of(said, given);
  const auto learned =
      std::stable_partition(changes.begin(), changes.end(),
                            [&](const Change& change) { return !said.is_learned(change.path); });
  if (learned != changes.end())
    log_message(LogLevel::warning,
                "the columns of the data are not what they were when this run was started last: "
                "{}. It goes on with what is found now; to go on as before, give the data of "
                "before, or say so in data.columns",
                list_of(std::span(learned, changes.end())));
  changes.erase(learned, changes.end());
  if (changes.empty()) return;
  log_message(
      LogLevel::warning,
      "the run file has changed since this run was started last: {}. It goes on as the file "
      "says now; to go on as before, take the changes back",
      list_of(changes));
}

Arguments with_remembered(Arguments arguments) {
  if (!arguments.resume) return arguments;
  const RunFile run = read_run_file(arguments.run_file, arguments.settings);
  if (arguments.run_number == 0)
    arguments.run_number = RunDirectory::number_of(arguments.runs, run.name, arguments.run_file);
  const bool is_newest = arguments.run_number == 0;
  const RunDirectory chosen = RunDirectory::of(arguments.runs, run.name, arguments.run_number);
  const Path& directory = chosen.path();
  arguments.run_number = chosen.number();
  const std::vector<Override> before = remembered_settings(directory);
  std::vector<Override> kept = before;
  arguments.settings = merged(before, arguments.settings);
  std::erase_if(kept, [&](const Override& setting) {
    const auto now = std::ranges::find(arguments.settings, setting.path, &Override::path);
    return now->value != setting.value;
  });
  expect_same_model(read_run_file(arguments.run_file, arguments.settings), directory, is_newest);
  if (!kept.empty())
    log_message(LogLevel::info, "As at the start of {}: {}", directory.string(), typed_text(kept));
  return arguments;
}

std::string further_suggestion(const Arguments& arguments, const Path& model) {
  const std::string path = std::filesystem::absolute(model).string();
  return suggestion(arguments, "fit", {{.path = "model", .value = path, .place = "model=" + path}});
}

Path model_left(const Path& directory) {
  for (const char* name : {"last.keras", "best.keras"}) {
    if (real_files().size(directory / name)) return directory / name;
  }
  return {};
}

void expect_same_callbacks(const Arguments& arguments, const RunFile& run, const Path& directory) {
  const Path file = directory / "run.yaml";
  if (!real_files().size(file)) return;
  const std::vector<std::string> before = callback_classes_of(read_run_file(file.string(), {}));
  const std::vector<std::string> now = callback_classes_of(run);
  if (before == now) return;
  const Path model = model_left(directory);
  throw PlacedError(
      place_of(run, "callbacks"),
      fmt::format("{}, and the checkpoints of {} hold what its own callbacks know; take the change "
                  "back to go on with it, or start a new run{}",
                  callback_changes(before, now), directory.string(),
                  model.empty() ? ", without --resume"
                                : " from its model: " + further_suggestion(arguments, model)));
}

bool can_go_on(const Session& session, const Path& directory) {
  return holds_checkpoint(checkpoints_of(session, directory));
}

bool has_checkpoint(const Arguments& arguments, const Session& session, const Path& directory) {
  if (can_go_on(session, directory)) return true;
  expect_stopped(checkpoints_of(session, directory));
  const Path model = directory / "last.keras";
  if (real_files().size(model)) {
    throw Error(
        "{}: the run came to its end and has no checkpoint to go on from (fit.checkpoint was off, "
        "or they were removed); train its model further in a new run: {}",
        directory.string(), further_suggestion(arguments, model));
  }
  if (!session.fit.checkpoint.is_on())
    throw Error("{}: fit.checkpoint is off, so there is nothing to go on from; leave --resume out",
                directory.string());
  log_message(
      LogLevel::warning,
      "{}: the run was stopped before its first checkpoint (every 60 s, unless "
      "fit.checkpoint says otherwise), or they were removed: it begins anew, in a directory "
      "of its own, and this one stays as it is",
      directory.string());
  return false;
}

}  // namespace snug::cli
