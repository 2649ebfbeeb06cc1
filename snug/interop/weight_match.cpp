#include "snug/interop/weight_match.h"

#include <algorithm>
#include <cstring>

#include "snug/base/error.h"
#include "snug/base/log.h"
#include "snug/interop/weight_groups.h"

namespace snug {
namespace {

// Keras numbers the arrays of a group; HDF5 sorts their names as texts.
void add_numbered(const Hdf5Group& group, const std::string& path, WeightMatch& match) {
  for (size_t i = 0; i < group.datasets.size(); ++i) {
    const auto found = group.datasets.find(std::to_string(i));
    if (found == group.datasets.end()) break;
    match.paths.push_back(fmt::format("{}/{}", path, i));
    match.datasets.push_back(&found->second);
  }
}

// Every group with variables by the name of its layer; names that two layers have are left out.
void find_named(const Hdf5Group& group, const std::string& path,
                std::map<std::string, std::string>& places) {
  if (const std::string name = group.text("name"); !name.empty()) {
    const auto [place, is_new] = places.try_emplace(name, path);
    if (!is_new) place->second.clear();
  }
  for (const auto& [name, inner] : group.groups)
    find_named(inner, path.empty() ? name : path + "/" + name, places);
}

// A list that is too long for one attribute is cut in pieces: layer_names0, layer_names1, ...
std::vector<std::string> names_of(const Hdf5Group& group, const std::string& attribute) {
  const auto found = group.attributes.find(attribute);
  if (found != group.attributes.end()) return found->second;
  std::vector<std::string> names;
  for (int i = 0;; ++i) {
    const auto piece = group.attributes.find(attribute + std::to_string(i));
    if (piece == group.attributes.end()) return names;
    names.insert(names.end(), piece->second.begin(), piece->second.end());
  }
}

template <typename From, typename To>
void convert(std::span<const std::byte> bytes, std::span<To> into) {
  for (size_t i = 0; i < into.size(); ++i) {
    From value;
    std::memcpy(&value, bytes.data() + i * sizeof(From), sizeof(From));
    into[i] = static_cast<To>(value);
  }
}

bool is_integer(const std::string& dtype) { return dtype == "int32" || dtype == "int64"; }

std::string mismatch(const WeightMatch& match) {
  if (match.variables.size() != match.datasets.size()) {
    return fmt::format("layer \"{}\" has {} weights, but the file has {} for it", match.layer,
                       match.variables.size(), match.datasets.size());
  }
  for (size_t i = 0; i < match.variables.size(); ++i) {
    const Type& type = match.variables[i]->type();
    if (fits(*match.datasets[i], type)) continue;
    return fmt::format("layer \"{}\": its weight {} is {}, but the file's {} is {}", match.layer,
                       match.variables[i]->name(), type.text(), match.paths[i],
                       match.datasets[i]->text());
  }
  return {};
}

}  // namespace

std::vector<WeightMatch> match_weights(const Hdf5Group& root, const Network& network,
                                       bool by_name) {
  std::map<std::string, std::string> places;
  if (by_name) find_named(root, "", places);
  std::vector<WeightMatch> matches;
  for (const WeightGroup& group : weight_groups(network)) {
    if (group.variables.empty()) continue;
    WeightMatch match{group.name, group.variables, {}, {}};
    const auto named = places.find(group.name);
    if (by_name && (named == places.end() || named->second.empty())) continue;
    const std::string path = by_name ? named->second : group.path;
    if (const Hdf5Group* found = root.find_group(path)) add_numbered(*found, path, match);
    matches.push_back(std::move(match));
  }
  return matches;
}

std::vector<WeightMatch> match_legacy_weights(const Hdf5Group& weights, const Network& network,
                                              bool by_name, const std::string& where) {
  std::vector<WeightMatch> in_file;
  for (const std::string& name : names_of(weights, "layer_names")) {
    WeightMatch match{name, {}, {}, {}};
    const Hdf5Group* layer = weights.find_group(name);
    if (layer == nullptr)
      throw CorruptFile("{}: the layer \"{}\" is in its list and not in the file", where, name);
    for (const std::string& path : names_of(*layer, "weight_names")) {
      const Hdf5Dataset* dataset = layer->find_dataset(path);
      if (dataset == nullptr)
        throw CorruptFile("{}: the weight \"{}\" is in its list and not in the file", where, path);
      match.paths.push_back(name + "/" + path);
      match.datasets.push_back(dataset);
    }
    if (!match.datasets.empty()) in_file.push_back(std::move(match));
  }
  std::vector<WeightMatch> matches;
  size_t next = 0;
  for (const LayerPtr& definition : network.layers()) {
    const Layer layer(definition);
    Variables variables = layer.trainable_weights();
    for (const VariablePtr& variable : layer.non_trainable_weights()) variables.push_back(variable);
    if (variables.empty()) continue;
    auto found = by_name ? std::ranges::find(in_file, definition->name, &WeightMatch::layer)
                         : in_file.begin() + static_cast<int64_t>(std::min(next++, in_file.size()));
    if (by_name && found == in_file.end()) continue;
    WeightMatch match = found == in_file.end() ? WeightMatch{} : *found;
    match.layer = definition->name;
    match.variables = std::move(variables);
    matches.push_back(std::move(match));
  }
  if (!by_name && next != in_file.size())
    throw Error("{}: it has weights of {} layers, but the model has {} layers with weights", where,
                in_file.size(), next);
  return matches;
}

OptimizerArrays optimizer_arrays(const Hdf5Group& root) {
  WeightMatch match;
  if (const Hdf5Group* group = root.find_group("optimizer/vars")) add_numbered(*group, "", match);
  return {std::move(match.datasets)};
}

OptimizerArrays legacy_optimizer_arrays(const Hdf5Group& root) {
  OptimizerArrays arrays;
  const Hdf5Group* group = root.find_group("optimizer_weights");
  if (group == nullptr) return arrays;
  for (const std::string& path : names_of(*group, "weight_names")) {
    const Hdf5Dataset* dataset = group->find_dataset(path);
    if (dataset == nullptr) return {};
    arrays.datasets.push_back(dataset);
  }
  return arrays;
}

bool fits(const Hdf5Dataset& dataset, const Type& type) {
  const Shape& shape = type.shape;
  if (std::ssize(dataset.shape) != shape.rank()) return false;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (dataset.shape[axis] != shape[axis]) return false;
  }
  if (type.dtype == DType::int32 || type.dtype == DType::int64) return is_integer(dataset.dtype);
  return dataset.dtype == name_of(type.dtype);
}

void check_matches(std::vector<WeightMatch>& matches, bool skip_mismatch,
                   const std::string& where) {
  std::erase_if(matches, [&](const WeightMatch& match) {
    const std::string problem = mismatch(match);
    if (problem.empty()) return false;
    if (!skip_mismatch) throw Error("{}: {}; nothing was loaded", where, problem);
    log_message(LogLevel::warning, "{}: {}; the layer keeps its weights", where, problem);
    return true;
  });
}

void read_array(const Hdf5Dataset& dataset, const Tensor& into) {
  SNUG_CHECK(fits(dataset, into.type), "{} into {}", dataset.text(), into.type.text());
  if (dataset.dtype == name_of(into.dtype())) {
    dataset.file->read_exactly_at({static_cast<std::byte*>(into.data), into.bytes()},
                                  dataset.offset);
    return;
  }
  std::vector<std::byte> bytes(static_cast<size_t>(dataset.bytes));
  dataset.file->read_exactly_at(bytes, dataset.offset);
  if (into.dtype() == DType::int64)
    convert<int32_t>(bytes, into.as<int64_t>());
  else
    convert<int64_t>(bytes, into.as<int32_t>());
}

void read_matches(const std::vector<WeightMatch>& matches) {
  for (const WeightMatch& match : matches) {
    for (size_t i = 0; i < match.variables.size(); ++i)
      read_array(*match.datasets[i], match.variables[i]->tensor());
  }
}

}  // namespace snug
