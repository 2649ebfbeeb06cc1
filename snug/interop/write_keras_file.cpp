#include <algorithm>
#include <ctime>

#include "snug/interop/compile_config.h"
#include "snug/interop/keras_file.h"
#include "snug/interop/network_config.h"
#include "snug/interop/network_text.h"
#include "snug/interop/weight_groups.h"
#include "snug/interop/zip_archive.h"
#include "snug/nn/loss_list.h"

namespace snug {
namespace {

// The oldest version that knows every key that is written.
constexpr const char* kKerasVersion = "3.4.0";
constexpr size_t kMostOfAList = 4000;  // An attribute has at most 64 KB.

Hdf5Array array_of(const VariablePtr& variable) {
  return {.type = variable->type(), .data = variable->tensor().data};
}

Hdf5Tree weights_tree(const SavedModel& model) {
  Hdf5Tree tree;
  for (const WeightGroup& group : weight_groups(model.network)) {
    Hdf5Tree& place = tree.at(group.path);
    place.texts.emplace_back("name", group.name);
    for (size_t i = 0; i < group.variables.size(); ++i)
      place.arrays[std::to_string(i)] = array_of(group.variables[i]);
  }
  if (model.compile == nullptr) return tree;
  Hdf5Tree& optimizer = tree.at("optimizer/vars");
  optimizer.texts.emplace_back("name", model.compile->optimizer->common().name);
  for (size_t i = 0; i < model.optimizer.size(); ++i)
    optimizer.arrays[std::to_string(i)] = model.optimizer[i].second;
  return tree;
}

std::string now() {
  const std::time_t seconds = std::time(nullptr);
  std::tm time{};
  ::gmtime_r(&seconds, &time);
  std::array<char, 32> text{};
  const size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%d@%H:%M:%S", &time);
  return {text.data(), length};
}

std::string model_config(const SavedModel& model) {
  OrderedJson frame = write_frame(model.network);
  frame["compile_config"] = model.compile != nullptr ? write_compile(*model.compile, model.network)
                                                     : OrderedJson::object();
  return network_text(model.network, std::move(frame));
}

void write_image(const Path& path, const Hdf5Tree& tree, FileSystem& files) {
  const Hdf5Image image(tree);
  write_atomically(files, path, [&](File& file) { image.write_to(file); });
}

void add_list(Hdf5Tree& tree, const std::string& name, const std::vector<std::string>& list) {
  if (list.size() <= kMostOfAList) {
    tree.lists.emplace_back(name, list);
    return;
  }
  for (size_t first = 0, piece = 0; first < list.size(); first += kMostOfAList, ++piece) {
    const auto begin = list.begin() + static_cast<int64_t>(first);
    const auto count = static_cast<int64_t>(std::min(kMostOfAList, list.size() - first));
    tree.lists.emplace_back(name + std::to_string(piece),
                            std::vector<std::string>(begin, begin + count));
  }
}

void add_versions(Hdf5Tree& tree) {
  tree.texts.emplace_back("keras_version", kKerasVersion);
  tree.texts.emplace_back("backend", "tensorflow");
}

// Keras 3 cannot read the short forms of a loss back from such files (keras.md 3.6).
Loss lengthened(const Loss& loss) {
  return loss.word().empty() ? loss : Loss(loss_by_word(loss.word())->name);
}

OrderedJson training_config(const SavedModel& model) {
  CompileOptions options = *model.compile;
  std::vector<Loss> losses = options.loss.losses();
  std::ranges::transform(losses, losses.begin(), lengthened);
  options.loss = std::move(losses);
  OrderedJson config = write_compile(options, model.network);
  OrderedJson optimizer = config["optimizer"];
  config.erase("optimizer");
  config["optimizer_config"] = {{"class_name", optimizer["class_name"]},
                                {"config", optimizer["config"]}};
  return config;
}

void put_array(Hdf5Tree& group, const std::string& path, const Hdf5Array& array) {
  const size_t slash = path.rfind('/');
  group.at(std::string_view(path).substr(0, slash)).arrays[path.substr(slash + 1)] = array;
}

void add_layer_weights(Hdf5Tree& weights, const LayerPtr& definition, const std::string& prefix) {
  const Layer layer(definition);
  Hdf5Tree& group = weights.at(definition->name);  // A slash in it is a group more, as in h5py.
  std::vector<std::string> names;
  for (const Variables& variables : {layer.trainable_weights(), layer.non_trainable_weights()}) {
    for (const VariablePtr& variable : variables) {
      names.push_back(prefix + variable->path());
      put_array(group, names.back(), array_of(variable));
    }
  }
  add_list(group, "weight_names", names);
}

void add_optimizer(Hdf5Tree& root, const SavedModel& model) {
  Hdf5Tree& group = root.groups["optimizer_weights"];
  const std::string name = model.compile->optimizer->common().name;
  std::vector<std::string> names;
  // Slots are called after the paths of their weights, which begin with a Sequential's name.
  const std::string prefix = model.network.is_sequential() ? model.network.name + "_" : "";
  for (const auto& [slot, array] : model.optimizer) {
    const bool is_of_weight = array.type.shape.rank() > 0;
    const std::string full = is_of_weight ? prefix + slot : slot;
    names.push_back(name + "/" + full);
    put_array(group, names.back(), array);
  }
  add_list(group, "weight_names", names);
}

}  // namespace

std::string model_json(Network& network) { return network_text(network, write_frame(network)); }

void write_weights(const Path& path, const SavedModel& model, FileSystem& files) {
  write_image(path, weights_tree(model), files);
}

void write_keras(const Path& path, const SavedModel& model, FileSystem& files) {
  OrderedJson metadata = {
      {"keras_version", kKerasVersion}, {"date_saved", now()}, {"producer", "snug"}};
  if (!model.columns.empty()) metadata[kColumnsKey] = OrderedJson::parse(model.columns);
  // A member holds its text: it is moved, not copied.
  std::vector<ZipMember> members;
  members.push_back(text_member("metadata.json", dumped(metadata)));
  members.push_back(text_member("config.json", model_config(model)));
  const Hdf5Image image(weights_tree(model));
  members.push_back({"model.weights.h5", image.size(),
                     [&](std::span<std::byte> into, int64_t offset) { image.read(into, offset); }});
  write_atomically(files, path, [&](File& file) { write_zip(file, members); });
}

void write_legacy_h5(const Path& path, const SavedModel& model, FileSystem& files) {
  Hdf5Tree root;
  add_versions(root);
  root.texts.emplace_back("model_config", model_json(model.network));
  if (!model.columns.empty())
    root.texts.emplace_back(kColumnsKey, dumped(OrderedJson::parse(model.columns)));
  Hdf5Tree& weights = root.groups["model_weights"];
  add_versions(weights);
  std::vector<std::string> names;
  const std::string prefix = model.network.is_sequential() ? model.network.name + "/" : "";
  for (const LayerPtr& layer : model.network.layers()) {
    names.push_back(layer->name);
    add_layer_weights(weights, layer, prefix);
  }
  add_list(weights, "layer_names", names);
  add_list(weights.groups["top_level_model_weights"], "weight_names", {});
  if (model.compile != nullptr) {
    root.texts.emplace_back("training_config", dumped(training_config(model)));
    add_optimizer(root, model);
  }
  write_image(path, root, files);
}

}  // namespace snug
