#include <algorithm>

#include "snug/base/error.h"
#include "snug/interop/hdf5.h"

namespace snug {

const Hdf5Group* Hdf5Group::find_group(std::string_view path) const {
  const Hdf5Group* group = this;
  while (group != nullptr && !path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    const auto found = group->groups.find(std::string(path.substr(0, slash)));
    group = found == group->groups.end() ? nullptr : &found->second;
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return group;
}

const Hdf5Dataset* Hdf5Group::find_dataset(std::string_view path) const {
  const size_t slash = path.rfind('/');
  const bool at_root = slash == std::string_view::npos;
  const Hdf5Group* group = at_root ? this : find_group(path.substr(0, slash));
  if (group == nullptr) return nullptr;
  const auto found = group->datasets.find(std::string(at_root ? path : path.substr(slash + 1)));
  return found == group->datasets.end() ? nullptr : &found->second;
}

std::string Hdf5Group::text(const std::string& attribute) const {
  const auto found = attributes.find(attribute);
  return found == attributes.end() || found->second.empty() ? std::string() : found->second[0];
}

std::string Hdf5Dataset::text() const {
  return fmt::format("{}[{}]", dtype, fmt::join(shape, ", "));
}

Hdf5Group with_modern_names(Hdf5Group group) {
  Hdf5Group modern;
  modern.attributes = std::move(group.attributes);
  modern.datasets = std::move(group.datasets);
  for (auto& [name, inner] : group.groups) {
    std::string path = name == "_layer_checkpoint_dependencies" ? "layers" : name;
    const size_t slash = path.find('\\');
    Hdf5Group put = std::move(inner);
    if (slash != std::string::npos) {
      Hdf5Group rest;
      rest.groups.emplace(path.substr(slash + 1), std::move(put));
      put = std::move(rest);
      path = path.substr(0, slash);
      if (path == "_layer_checkpoint_dependencies") path = "layers";
    }
    merge_groups(modern.groups[path], with_modern_names(std::move(put)), path);
  }
  return modern;
}

void merge_groups(Hdf5Group& into, Hdf5Group from, const std::string& where) {
  into.attributes.merge(from.attributes);
  for (auto& [name, dataset] : from.datasets) {
    if (!into.datasets.emplace(name, std::move(dataset)).second)
      throw CorruptFile("{}: \"{}\" is there twice", where, name);
  }
  for (auto& [name, group] : from.groups) merge_groups(into.groups[name], std::move(group), where);
}

}  // namespace snug
