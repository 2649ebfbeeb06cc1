#include "snug/cli/line_settings.h"

#include <algorithm>
#include <span>

#include "snug/base/error.h"
#include "snug/cli/json_text.h"

namespace snug::cli {
namespace {

constexpr std::string_view kFile = "settings.json";
constexpr std::string_view kPlain =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+./=:,@%";

// "--memory 64MiB" is two words, whatever is in the second.
std::string typed(const Override& setting) {
  const size_t blank =
      setting.place.starts_with("--") ? setting.place.find(' ') : std::string::npos;
  if (blank == std::string::npos) return shell_word(setting.place);
  return setting.place.substr(0, blank + 1) + shell_word(setting.place.substr(blank + 1));
}

std::string start_of(const Arguments& arguments, std::string_view command) {
  std::string text = fmt::format("snug {} {}", command, shell_word(arguments.run_file));
  if (arguments.runs != Arguments().runs) text += " --runs " + shell_word(arguments.runs.string());
  return text;
}

std::string run_text(const Arguments& arguments) {
  return arguments.run_number == 0 ? "" : fmt::format(" --run {}", arguments.run_number);
}

std::string with(std::string text, const std::vector<Override>& settings) {
  if (!settings.empty()) text += " " + typed_text(settings);
  return text;
}

// Options that `fit` alone has are settings for the others.
std::vector<Override> understood_by(std::string_view command, std::vector<Override> settings) {
  if (command == "fit") return settings;
  for (Override& setting : settings) {
    if (setting.path == "fit.epochs" || setting.path == "fit.seed")
      setting.place = fmt::format("{}={}", setting.path, setting.value);
  }
  return settings;
}

}  // namespace

std::vector<Override> merged(const std::vector<Override>& earlier,
                             const std::vector<Override>& later) {
  std::vector<Override> all = earlier;
  std::erase_if(all, [&](const Override& setting) {
    return std::ranges::find(later, setting.path, &Override::path) != later.end();
  });
  all.insert(all.end(), later.begin(), later.end());
  return all;
}

void remember_settings(const Path& directory, const std::vector<Override>& settings) {
  if (settings.empty()) return;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Override& setting : settings)
    list.push_back({{"path", setting.path}, {"value", setting.value}, {"typed", setting.place}});
  const std::string text = json_text(list, 2) + "\n";
  write_atomically(real_files(), directory / kFile,
                   [&](File& file) { file.append(std::as_bytes(std::span(text))); });
}

std::vector<Override> remembered_settings(const Path& directory) {
  const Path path = directory / kFile;
  if (!real_files().size(path)) return {};
  const std::unique_ptr<File> file = real_files().open(path, OpenMode::read);
  std::string text(static_cast<size_t>(file->size()), '\0');
  file->read_exactly_at(std::as_writable_bytes(std::span(text)), 0);
  try {
    std::vector<Override> settings;
    for (const nlohmann::json& item : nlohmann::json::parse(text))
      settings.push_back({item.at("path"), item.at("value"), item.at("typed")});
    return settings;
  } catch (const nlohmann::json::exception&) {
    throw Error(
        "{}: the settings of the run's start cannot be read; remove it, and give them again",
        path.string());
  }
}

std::string shell_word(std::string_view word) {
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string(word);
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string typed_text(const std::vector<Override>& settings) {
  std::string text;
  for (const Override& setting : settings) text += (text.empty() ? "" : " ") + typed(setting);
  return text;
}

std::string suggestion(const Arguments& arguments, std::string_view command,
                       const std::vector<Override>& more) {
  std::string start = start_of(arguments, command);
  if (command == "evaluate" || command == "predict") start += run_text(arguments);
  return with(start, understood_by(command, merged(arguments.settings, more)));
}

std::string remembered_suggestion(const Arguments& arguments, std::string_view command) {
  std::vector<Override> names = arguments.settings;
  std::erase_if(names, [](const Override& setting) { return setting.path != "name"; });
  return with(start_of(arguments, command), names) + run_text(arguments);
}

std::string resume_suggestion(const Arguments& arguments) {
  return remembered_suggestion(arguments, "fit") + " --resume";
}

}  // namespace snug::cli
