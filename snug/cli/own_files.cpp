#include "snug/cli/own_files.h"

#include <algorithm>

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

}  // namespace

void refuse_own_files(const RunFile& run, const std::string& place,
                      const std::vector<Path>& files) {
  const YamlValue* data = run.section("data");
  for (const Path& file : files) {
    if (data != nullptr && names(run, *data, file))
      refuse(place, file, "among the data that is read");
    if (run.has_model_file() && is_same(run.path(*run.section("model")), file))
      refuse(place, file, "the model that is read");
    if (is_same(run.file, file)) refuse(place, file, "the run file itself");
  }
}

void refuse_logs_over_own_files(const RunFile& run) {
  for (const NamedSettings& callback : named_callbacks(run)) {
    if (!same_word(callback.name, "CSVLogger") || callback.settings == nullptr) continue;
    const YamlValue* file =
        callback.settings->is_map() ? callback.settings->find("filename") : callback.settings;
    if (file == nullptr || !file->is_scalar()) continue;
    placed(callback.where, [&] { refuse_own_files(run, "csv_logger", {Path(file->text)}); });
  }
}

}  // namespace snug::cli
