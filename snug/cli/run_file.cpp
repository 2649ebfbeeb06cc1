#include "snug/cli/run_file.h"

#include <algorithm>
#include <array>

namespace snug::cli {
namespace {

constexpr std::array<std::string_view, 4> kSections = {"name", "data", "model", "fit"};

[[noreturn]] void refuse_data(const std::string& file, std::string_view what) {
  throw PlacedError(
      file, fmt::format("this is no run file, for it {}; a run file is a text with the sections "
                        "data, model and fit. To train on data, name it there: data: {{train: {{x: "
                        "x.npy, y: y.npy}}}}, or data: {{train: rows.csv, label: COLUMN}}; to look "
                        "at it: snug check {}",
                        what, file));
}

[[noreturn]] void refuse_checkpoint(const std::string& file) {
  throw PlacedError(file,
                    "this is a checkpoint, and no run file; to go on from the newest one of a "
                    "run, give its run file: snug fit run.yaml --resume, or for an older run "
                    "--resume --run N; to look into it: snug checkpoint show");
}

// Such as the folder of a run.
void refuse_folder(const std::string& file) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(file, ignored)) return;
  const Path within = Path(file) / "run.yaml";
  throw FileError("{}: it is a folder; {}", file,
                  real_files().size(within)
                      ? fmt::format("did you mean {}?", within.string())
                      : std::string("give the path of a run file or a model"));
}

std::string text_of(const std::string& file) {
  // A run writes all columns of its table to its own: some 50 bytes each.
  constexpr int64_t kMostBytes = 16 << 20;
  refuse_folder(file);
  const std::unique_ptr<File> opened = real_files().open(file, OpenMode::read);
  const int64_t bytes = opened->size();
  if (file.ends_with(".ckpt")) refuse_checkpoint(file);
  if (bytes > kMostBytes) refuse_data(file, fmt::format("has {} bytes", bytes));
  std::string text(static_cast<size_t>(bytes), '\0');
  opened->read_exactly_at(std::as_writable_bytes(std::span(text)), 0);
  // YAML may be UTF-16, with its mark.
  const bool is_utf16 = text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff");
  const bool has_zeros = !is_utf16 && text.find('\0') != std::string::npos;
  if (has_zeros || text.starts_with("\x93NUMPY")) refuse_data(file, "is no text");
  return text;
}

// A run's name becomes a directory.
void check_name(const RunFile& run) {
  const bool plain =
      !run.name.empty() && run.name[0] != '.' && run.name.find_first_of("/\\") == std::string::npos;
  if (plain) return;
  throw PlacedError(run.file, fmt::format("\"{}\" is no name for a run; it becomes a directory, so "
                                          "give a word without slashes",
                                          run.name));
}

// A word alone is a file, which somebody who means a layer does not know.
void check_model_file(const RunFile& run) {
  if (!run.has_model_file()) return;
  const YamlValue& model = *run.section("model");
  if (is_model_file(model.text) || real_files().size(run.path(model))) return;
  model.refuse("a list of layers, such as [dense: {units: 10}], or a file of Keras's: model.keras");
}

// What runs leave is called alike: runs/mnist/3/best.keras is mnist-3-best.
std::string name_of_run(const std::string& file) {
  const std::string stem = Path(file).stem().string();
  if (!is_model_file(file)) return stem;
  const Path folder = std::filesystem::absolute(file).lexically_normal().parent_path();
  const std::string number = folder.filename().string(),
                    name = folder.parent_path().filename().string();
  const bool is_of_a_run = number.find_first_not_of("0123456789") == std::string::npos &&
                           !number.empty() && !name.empty() && name[0] != '.';
  return is_of_a_run ? fmt::format("{}-{}-{}", name, number, stem) : stem;
}

// What a run file would say that has this model and nothing else.
YamlValue tree_of_model(const std::string& file) {
  YamlValue tree{.kind = YamlValue::Kind::map, .where = file};
  tree.at("model", file).set_text(std::filesystem::absolute(file).string());
  tree.at("fit", file).kind = YamlValue::Kind::map;
  return tree;
}

// `data.x=new.npy` is about the training files, wherever the run file names them, or comes in the
// place of one file that holds all (data=rows.npz); `data.train=...` replaces them.
Override said_of_files(YamlValue& tree, Override setting) {
  constexpr std::array<std::string_view, 5> kFiles = {"x", "y", "sample_weight", "images",
                                                      "labels"};
  YamlValue* data = tree.find("data");
  if (data == nullptr || !setting.path.starts_with("data.")) return setting;
  const std::string key = setting.path.substr(5);
  const auto is_file = [&](std::string_view name) {
    return std::ranges::find(kFiles, name) != kFiles.end();
  };
  if (key == "train") std::erase_if(data->items, [&](auto& item) { return is_file(item.key); });
  const YamlValue* train = data->find("train");
  if (train == nullptr) return setting;
  if (is_file(key) && train->is_map()) setting.path = "data.train." + key;
  if ((key == "x" || key == "images") && !train->is_map())
    std::erase_if(data->items, [](const YamlItem& item) { return item.key == "train"; });
  return setting;
}

// What is null there is not given.
void drop_nulls(YamlValue* map, std::span<const std::string_view> keys) {
  if (map == nullptr) return;
  std::erase_if(map->items, [&](const YamlItem& item) {
    return item.value.is_null() && std::ranges::find(keys, item.key) != keys.end();
  });
}

// `null` stands for "none" where it could be left out for that.
void drop_nulls(YamlValue& tree) {
  constexpr std::array<std::string_view, 4> kOfData = {"validation", "sample_weight", "augment",
                                                       "timeseries"};
  constexpr std::array<std::string_view, 1> kOfFiles = {"sample_weight"}, kOfFit = {"memory"};
  drop_nulls(tree.find("fit"), kOfFit);
  YamlValue* data = tree.find("data");
  drop_nulls(data, kOfData);
  if (data == nullptr) return;
  for (const char* files : {"train", "validation"}) drop_nulls(data->find(files), kOfFiles);
}

// Of files with names inside, and of folders, only these settings are paths.
constexpr std::array<std::string_view, 7> kPaths = {"npz",          "tfrecord",    "hdf5", "file",
                                                    "image_folder", "text_folder", "text"};

void make_absolute(const RunFile& run, YamlValue& value) {
  bool has_path = false;
  for (const std::string_view key : kPaths) {
    YamlValue* path = value.is_map() ? value.find(key) : nullptr;
    if (path == nullptr) continue;
    make_absolute(run, *path);
    if (key == "text" && value.find("labels") != nullptr) make_absolute(run, *value.find("labels"));
    has_path = true;
  }
  if (has_path) return;
  if (value.is_scalar()) value.set_text(std::filesystem::absolute(run.path(value)).string());
  for (YamlItem& item : value.items) make_absolute(run, item.value);
  for (YamlValue& element : value.list) make_absolute(run, element);
}

// Those keys of data that are files; with CSV files sample_weight is a column.
bool names_files(const YamlValue& data, std::string_view key) {
  constexpr std::array<std::string_view, 6> kFiles = {"train", "validation", "x",
                                                      "y",     "images",     "labels"};
  const YamlValue* train = data.find("train");
  const bool csv = train != nullptr && is_csv(*train);
  return std::ranges::find(kFiles, key) != kFiles.end() || (key == "sample_weight" && !csv);
}

}  // namespace

bool is_model_file(const std::string& file) {
  return file.ends_with(".keras") || file.ends_with(".h5") || file.ends_with(".hdf5");
}

bool RunFile::has_model_file() const {
  const YamlValue* model = section("model");
  return model != nullptr && model->is_scalar();
}

Path RunFile::path(const YamlValue& value) const {
  const Path path = value.as_text();
  // A model in the place of a run file has no folder of data around it.
  if (is_model_file(file)) return path.lexically_normal();
  return (path.is_absolute() ? path : Path(file).parent_path() / path).lexically_normal();
}

RunFile read_run_file(const std::string& file, const std::vector<Override>& settings) {
  RunFile run{.file = file, .name = name_of_run(file), .tree = {}};
  run.tree = is_model_file(file) ? tree_of_model(file) : parse_yaml(text_of(file), file);
  if (run.tree.is_null()) run.tree.fail("it is empty; it needs the sections data, model and fit");
  if (run.tree.is_scalar()) refuse_data(file, "has no sections");
  run.tree.expect_map("a map with the sections data, model and fit");
  for (const Override& setting : settings)
    override_value(run.tree, said_of_files(run.tree, setting));
  expect_keys(run.tree, kSections, "section of a run file");
  drop_nulls(run.tree);
  if (const YamlValue* name = run.section("name")) run.name = name->as_text();
  check_name(run);
  check_model_file(run);
  return run;
}

std::string place_of(const RunFile& run, std::string_view fit_setting) {
  const YamlValue* fit = run.section("fit");
  if (fit == nullptr) return run.file;
  const YamlValue* setting = fit->find(fit_setting);
  return setting != nullptr ? setting->where : fit->where;
}

std::string resolved_text(const RunFile& run, const FitOptions& options, int64_t budget_bytes) {
  YamlValue tree = run.tree;
  tree.at("name", run.file).set_text(run.name);
  if (YamlValue* data = tree.find("data")) {
    for (YamlItem& item : data->items) {
      if (names_files(*data, item.key)) make_absolute(run, item.value);
    }
  }
  if (run.has_model_file()) make_absolute(run, *tree.find("model"));
  YamlValue& fit = tree.at("fit", run.file);
  const auto set = [&](std::string_view key, const std::string& value) {
    fit.at(key, run.file).set_text(value);
  };
  if (options.batch_size) set("batch_size", std::to_string(*options.batch_size));
  set("epochs", std::to_string(options.epochs));
  if (fit.find("shuffle") == nullptr) set("shuffle", options.shuffle ? "true" : "false");
  set("seed", std::to_string(options.seed));
  set("memory", std::to_string(budget_bytes));
  return yaml_text(tree);
}

}  // namespace snug::cli
