#include "snug/interop/keras_file.h"

#include <cstring>

#include "snug/base/error.h"
#include "snug/base/log.h"
#include "snug/interop/compile_config.h"
#include "snug/interop/json.h"
#include "snug/interop/network_config.h"
#include "snug/interop/zip_archive.h"

namespace snug {
namespace {

constexpr int64_t kMostConfig = int64_t{32} << 20;
constexpr const char* kWeights = "model.weights.h5";

// What was said about a layer gets the path in front; what has it keeps it.
template <typename Body>
auto at(const std::string& where, const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (const InternalError&) {
    throw;
  } catch (const FileError& error) {
    if (std::string_view(error.what()).starts_with(where)) throw;
    throw CorruptFile("{}: {}", where, error.what());
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with(where)) throw;
    throw Error("{}: {}", where, error.what());
  }
}

std::string whole_text(File& file) {
  const int64_t bytes = file.size();
  if (bytes > kMostConfig)
    throw Error("{}: it has {} bytes; Snug reads up to {}", file.path().string(), bytes,
                kMostConfig);
  std::string text(static_cast<size_t>(bytes), '\0');
  file.read_exactly_at(std::as_writable_bytes(std::span(text)), 0);
  return text;
}

bool is_before_3(const std::string& version) {
  return version.starts_with("1.") || version.starts_with("2.");
}

}  // namespace

struct KerasFile::Inside {
  Inside(const Path& path, FileSystem& file_system)
      : where(path.string()), files(file_system), file(files.open(path, OpenMode::read)) {
    std::array<char, 8> magic{};
    file->read_at(std::as_writable_bytes(std::span(magic)), 0);
    const std::string_view begin(magic.data(), magic.size());
    if (begin.starts_with("PK"))
      open_archive();
    else if (begin.starts_with("\x89HDF"))
      open_h5();
    else if (where.ends_with(".weights.json"))
      open_shards();
    else
      throw CorruptFile(
          "{}: it is neither a .keras archive nor an HDF5 file; give a model that Keras or "
          "snug has saved",
          where);
  }

  void open_archive() {
    archive = std::make_unique<ZipReader>(*file);
    config = parse_json(archive->text("config.json", kMostConfig), where + ": config.json");
    const Json metadata =
        archive->has("metadata.json")
            ? parse_json(archive->text("metadata.json", kMostConfig), where + ": metadata.json")
            : Json();
    version = text_at(metadata, "keras_version");
    if (metadata.is_object() && metadata.contains(kColumnsKey))
      columns = metadata[kColumnsKey].dump();
    if (!archive->has(kWeights))
      throw Error("{}: it has no {}; Snug reads weights in HDF5 only", where, kWeights);
    weights.push_back(archive->open(kWeights));
    root = with_modern_names(read_weights(*weights[0], where), where);
    if (config.is_object()) compile_config = config.value("compile_config", Json());
  }

  void open_h5() {
    root = read_weights(*file, where);
    is_legacy = root.attributes.contains("layer_names") ||
                root.attributes.contains("layer_names0") || root.groups.contains("model_weights");
    version = root.text("keras_version");
    const std::string model = root.text("model_config");
    if (!model.empty()) config = parse_json(model, where + ": model_config");
    const std::string fitted = root.text(kColumnsKey);
    if (!fitted.empty()) columns = parse_json(fitted, where + ": " + kColumnsKey).dump();
    const std::string training = root.text("training_config");
    if (!training.empty()) compile_config = parse_json(training, where + ": training_config");
    if (compile_config.is_object() && compile_config.contains("optimizer_config"))
      compile_config["optimizer"] = compile_config["optimizer_config"];
    if (!is_legacy) root = with_modern_names(std::move(root), where);
  }

  void open_shards() {
    const Json index = parse_json(whole_text(*file), where);
    const Json map = index.is_object() ? index.value("weight_map", Json()) : Json();
    if (!map.is_object() || map.empty()) throw CorruptFile("{}: it has no weight_map", where);
    std::map<std::string, bool> shards;
    for (const auto& [path, names] : map.items()) {
      const Json list = names.is_array() ? names : Json::array({names});
      for (const Json& name : list) {
        if (!name.is_string() || name.get<std::string>().find_first_of("/\\") != std::string::npos)
          throw Error("{}: {} is no name of a file beside it", where, shown(name));
        shards[name.get<std::string>()] = true;
      }
    }
    for (const auto& [name, used] : shards) {
      weights.push_back(files.open(Path(where).parent_path() / name, OpenMode::read));
      merge_groups(root, read_weights(*weights.back(), name), where);
    }
  }

  std::string where;
  FileSystem& files;
  std::unique_ptr<File> file;
  std::unique_ptr<ZipReader> archive;
  std::vector<std::unique_ptr<File>> weights;
  Hdf5Group root;
  Json config, compile_config;
  std::string version, columns;
  bool is_legacy = false;
};

KerasFile::KerasFile(const Path& path, FileSystem& files)
    : inside_(at(path.string(), [&] { return std::make_unique<Inside>(path, files); })) {}
KerasFile::~KerasFile() = default;

std::string KerasFile::where() const { return inside_->where; }
std::string KerasFile::columns() const { return inside_->columns; }
bool KerasFile::has_model() const { return !inside_->config.is_null(); }
bool KerasFile::is_legacy() const { return inside_->is_legacy; }

void KerasFile::expect_model() const {
  if (has_model()) return;
  throw Error(
      "{}: it holds weights alone; give the .keras or .h5 file of the model, or build it in C++ "
      "and "
      "use load_weights",
      where());
}

std::shared_ptr<Network> KerasFile::network() const {
  expect_model();
  return at(where(), [&] {
    std::shared_ptr<Network> network = read_network(inside_->config);
    network->set_paths();
    return network;
  });
}

std::optional<CompileOptions> KerasFile::compile_options(const Network& network) const {
  return at(where(), [&] {
    return read_compile(inside_->compile_config, network, is_before_3(inside_->version));
  });
}

std::vector<WeightMatch> KerasFile::match(const Network& network, bool by_name) const {
  if (!inside_->is_legacy) return match_weights(inside_->root, network, by_name);
  const Hdf5Group* weights = inside_->root.find_group("model_weights");
  return match_legacy_weights(weights != nullptr ? *weights : inside_->root, network, by_name,
                              where());
}

OptimizerArrays KerasFile::optimizer() const {
  if (is_before_3(inside_->version)) return {};
  return inside_->is_legacy ? legacy_optimizer_arrays(inside_->root)
                            : optimizer_arrays(inside_->root);
}

}  // namespace snug
