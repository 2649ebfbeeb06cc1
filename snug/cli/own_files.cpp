#include "snug/cli/own_files.h"

#include <fnmatch.h>

#include <algorithm>
#include <optional>

#include "snug/base/nearest_word.h"
#include "snug/cli/named_callbacks.h"
#include "snug/data/file_list.h"

namespace snug::cli {
namespace {

bool is_same(const Path& a, const Path& b) {
  std::error_code error;
  return std::filesystem::equivalent(a, b, error);
}

// Whether a text of the section, any that may be a path, names the file.
bool names(const RunFile& run, const YamlValue& value, const Path& file) {
  const auto in = [&](const YamlValue& part) { return names(run, part, file); };
  for (const YamlItem& item : value.items) {
    if (in(item.value)) return true;
  }
  if (std::ranges::any_of(value.list, in)) return true;
  if (!value.is_scalar() || value.text.empty()) return false;
  try {
    const std::vector<Path> pattern = {run.path(value)};
    return std::ranges::any_of(list_files(real_files(), pattern),
                               [&](const Path& found) { return is_same(found, file); });
  } catch (const FileError&) {
    return false;  // It is no path.
  }
}

void refuse(const std::string& place, const Path& file, std::string_view what) {
  throw Error("{} {}: this file is {}; give another one", place, file.string(), what);
}

void refuse_data(const RunFile& run, const std::string& place, const Path& file,
                 std::string_view what) {
  const YamlValue* data = run.section("data");
  if (data != nullptr && names(run, *data, file)) refuse(place, file, what);
}

// Without the settings of the command line; nothing where it is no whole one without them.
std::optional<RunFile> as_it_stands(const std::string& run_file) {
  try {
    return read_run_file(run_file, {});
  } catch (const Error&) {
    return std::nullopt;
  }
}

void refuse_data_and_run_file(const RunFile& run, const std::string& place, const Path& file) {
  refuse_data(run, place, file, "among the data that is read");
  if (is_model_file(run.file)) return;
  if (is_same(run.file, file)) refuse(place, file, "the run file itself");
  if (const std::optional<RunFile> own = as_it_stands(run.file))
    refuse_data(*own, place, file, "among the data that the run file names");
}

// The path that a callback of this class writes to; empty: it is another callback, or has none.
std::string path_of(const NamedSettings& callback, std::string_view name, std::string_view key) {
  if (!same_word(callback.name, name) || callback.settings == nullptr) return "";
  const YamlValue* path =
      callback.settings->is_map() ? callback.settings->find(key) : callback.settings;
  return path != nullptr && path->is_scalar() ? path->text : "";
}

// What model-{epoch}.h5 becomes, as a pattern: numbers are filled in.
std::string pattern_of(std::string_view name) {
  std::string pattern;
  while (!name.empty()) {
    const size_t close = name[0] == '{' ? name.find('}') : std::string_view::npos;
    if (close != std::string_view::npos) {
      pattern += "[-0-9]*";
      name.remove_prefix(close + 1);
      continue;
    }
    if (std::string_view("*?[]\\").find(name[0]) != std::string_view::npos) pattern += '\\';
    pattern += name[0];
    name.remove_prefix(1);
  }
  return pattern;
}

// Those of its folder that may be written over.
std::vector<Path> filled_in(const Path& path) {
  const std::string name = path.filename().string();
  if (name.find('{') == std::string::npos) return {path};
  const std::string pattern = pattern_of(name);
  std::vector<Path> found;
  std::error_code error;
  const Path folder = path.has_parent_path() ? path.parent_path() : Path(".");
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const Path other = entry.path().filename();
    if (::fnmatch(pattern.c_str(), other.c_str(), 0) == 0)
      found.push_back(path.parent_path() / other);
  }
  return found;
}

}  // namespace

void refuse_own_files(const RunFile& run, const std::string& place,
                      const std::vector<Path>& files) {
  for (const Path& file : files) {
    if (run.has_model_file() && is_same(run.path(*run.section("model")), file))
      refuse(place, file, "the model that is read");
    refuse_data_and_run_file(run, place, file);
  }
}

void refuse_trained_on(const Path& run_file, const std::string& place,
                       const std::vector<Path>& files) {
  const std::optional<RunFile> run = as_it_stands(run_file.string());
  for (const Path& file : run ? files : std::vector<Path>())
    refuse_data(*run, place, file, "among the data that the model was trained on");
}

void refuse_callbacks_over_own_files(const RunFile& run) {
  for (const NamedSettings& callback : named_callbacks(run)) {
    placed(callback.where, [&] {
      const Path log = path_of(callback, "CSVLogger", "filename");
      if (!log.empty()) refuse_own_files(run, "csv_logger", {log});
      const Path model = path_of(callback, "ModelCheckpoint", "filepath");
      for (const Path& file : model.empty() ? std::vector<Path>() : filled_in(model))
        refuse_data_and_run_file(run, "model_checkpoint", file);
    });
  }
}

}  // namespace snug::cli
