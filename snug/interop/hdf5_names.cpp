#include "snug/base/error.h"
#include "snug/interop/hdf5.h"

namespace snug {
namespace {

void expect_plain(const Hdf5Group& group, const std::string& path, const std::string& where) {
  for (const auto& [name, dataset] : group.datasets) {
    const std::string inner = path.empty() ? name : path + "/" + name;
    const auto refuse = [&](std::string_view what) {
      throw Error("{}: \"{}\" {}; Snug reads what Keras writes only", where, inner, what);
    };
    if (!dataset.not_read.empty()) refuse(dataset.not_read);
    if (!dataset.chunks.filters.empty()) refuse("is compressed");
    if (dataset.is_chunked() || dataset.is_held()) refuse("is chunked or compact");
    if (dataset.swapped) refuse("has an unknown type: it is big-endian");
  }
  for (const auto& [name, inner] : group.groups)
    expect_plain(inner, path.empty() ? name : path + "/" + name, where);
}

}  // namespace

Hdf5Group read_weights(File& file, const std::string& where) {
  Hdf5Group root = read_hdf5(file, where);
  expect_plain(root, "", where);
  return root;
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
