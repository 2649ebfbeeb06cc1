#include "snug/train/checkpoint_store.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "snug/base/bytes.h"
#include "snug/base/log.h"
#include "snug/base/temporary_file.h"

namespace snug {
namespace {

constexpr std::string_view kSuffix = ".ckpt", kBad = ".bad";

// Of a name such as 0000000123.ckpt.
std::optional<int64_t> step_of(const std::string& name) {
  if (!name.ends_with(kSuffix)) return std::nullopt;
  const char* end = name.data() + name.size() - kSuffix.size();
  int64_t step = 0;
  const auto [stop, error] = std::from_chars(name.data(), end, step);
  return error == std::errc() && stop == end ? std::optional(step) : std::nullopt;
}

// Without what a person would be told to do, which is being done.
std::string what_is_wrong(const FileError& error) {
  constexpr std::string_view kAdvice = "take an older checkpoint";
  std::string text = error.what();
  if (text.ends_with(kAdvice)) text.resize(text.size() - kAdvice.size() - 2);
  return text;
}

}  // namespace

void CheckpointOptions::check() const {
  const auto expect = [](const char* name, double value, double least) {
    if (!(value >= least))
      throw Error("checkpoint: {} is {}; it must be {} or more", name, value, least);
  };
  expect("every_seconds", every_seconds, 0);
  expect("every_steps", static_cast<double>(every_steps), 0);
  expect("every_epochs", static_cast<double>(every_epochs), 0);
  expect("keep", static_cast<double>(keep), 1);
}

CheckpointStore::CheckpointStore(const CheckpointOptions& options)
    : options_(options), files_(*options.files) {
  options_.check();
  files_.create_directories(options_.directory);
  if (&files_ == &real_files()) lock_ = std::make_unique<FileLock>(options_.directory);
  for (const std::string& name : files_.list(options_.directory)) {
    const std::optional<std::string_view> target = target_of_temporary(name);
    if (target && target->ends_with(kSuffix)) files_.remove(options_.directory / name);
  }
}

std::vector<Path> CheckpointStore::newest_first() const {
  std::vector<std::pair<int64_t, Path>> found;
  for (const std::string& name : files_.list(options_.directory)) {
    if (const auto step = step_of(name)) found.emplace_back(*step, options_.directory / name);
  }
  std::ranges::sort(found, std::greater<>());
  std::vector<Path> paths;
  for (auto& [step, path] : found) paths.push_back(std::move(path));
  return paths;
}

std::optional<Path> CheckpointStore::newest_good() {
  std::vector<Path> damaged;
  for (const Path& path : newest_first()) {
    try {
      CheckpointFile(files_, path).verify();
      put_aside(damaged);
      return path;
    } catch (const FileError& error) {
      log_message(LogLevel::warning, "{}; it is passed over", what_is_wrong(error));
      damaged.push_back(path);
    }
  }
  return std::nullopt;
}

// Where they are, the ones to keep would be them.
void CheckpointStore::put_aside(const std::vector<Path>& damaged) {
  for (const Path& path : damaged) {
    Path aside = path;
    aside += kBad;
    try {
      files_.rename(path, aside);
    } catch (const FileError& error) {
      log_message(LogLevel::warning, "{}", error.what());
    }
  }
}

// Of those that are there: newer ones take their places.
int64_t CheckpointStore::bytes_to_go() const {
  int64_t bytes = options_.best.empty() ? 0 : files_.size(best()).value_or(0);
  const std::vector<Path> paths = newest_first();
  for (size_t i = 0; i < paths.size() && std::cmp_less(i, options_.keep); ++i)
    bytes += files_.size(paths[i]).value_or(0);
  return bytes;
}

void CheckpointStore::expect_room(int64_t checkpoint_bytes) const {
  const int64_t files = options_.keep + 1 + (options_.best.empty() ? 0 : 2);
  const int64_t there = bytes_to_go(), needed = checkpoint_bytes * files - there;
  const int64_t free = files_.free_bytes(options_.directory);
  if (free >= needed) return;
  throw FileError(
      "{}: {} checkpoints of {} each need {}{}, but {} are free there; make room, choose another "
      "folder, or keep fewer",
      options_.directory.string(), files, bytes_text(checkpoint_bytes, Rounding::up),
      bytes_text(needed, Rounding::up), there > 0 ? " beside those that are there" : "",
      bytes_text(free));
}

bool CheckpointStore::write(const Path& path, const std::vector<CheckpointSection>& sections,
                            const std::vector<CheckpointVariable>& variables) {
  try {
    write_checkpoint(files_, path, sections, variables);
  } catch (const FileError& error) {
    warn(error.what());
    return false;
  } catch (const NumericsError& error) {
    warn(error.what());
    return false;
  }
  trouble_.worked();
  return true;
}

bool CheckpointStore::save(int64_t step, const std::vector<CheckpointSection>& sections,
                           const std::vector<CheckpointVariable>& variables) {
  const Path path = options_.directory / fmt::format("{:010}{}", step, kSuffix);
  if (!write(path, sections, variables)) return false;
  remove_old();
  return true;
}

bool CheckpointStore::save_best(const std::vector<CheckpointSection>& sections,
                                const std::vector<CheckpointVariable>& variables) {
  return write(best(), sections, variables);
}

void CheckpointStore::remove_old() {
  try {
    const std::vector<Path> paths = newest_first();
    for (size_t i = options_.keep; i < paths.size(); ++i) files_.remove(paths[i]);
  } catch (const FileError& error) {
    warn(error.what());
  }
}

void CheckpointStore::remove_all() {
  try {
    for (const std::string& name : files_.list(options_.directory)) {
      const bool is_bad = name.ends_with(kBad);
      if (step_of(is_bad ? name.substr(0, name.size() - kBad.size()) : name))
        files_.remove(options_.directory / name);
    }
    files_.remove(best());
    files_.sync_directory(options_.directory);
  } catch (const FileError& error) {
    log_message(LogLevel::warning,
                "the checkpoints of the run, which has ended, could not be removed: {}. Remove "
                "them, or the next run in {} goes on from them",
                error.what(), options_.directory.string());
  }
}

void CheckpointStore::warn(const std::string& reason) {
  trouble_.failed(
      fmt::format("no checkpoint could be saved: {}. Training goes on, the checkpoints that are "
                  "there stay, and saving is tried again",
                  reason));
}

}  // namespace snug
