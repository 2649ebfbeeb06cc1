#include <algorithm>

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

// Walks over groups go down one call for each.
constexpr int kDeepest = 64;

Hdf5Group renamed(Hdf5Group group, const std::string& where, int depth) {
  Hdf5Group modern;
  modern.attributes = std::move(group.attributes);
  modern.datasets = std::move(group.datasets);
  for (auto& [name, inner] : group.groups) {
    Hdf5Group* place = &modern;
    int deeper = depth;
    for (size_t from = 0; from <= name.size(); ++deeper) {
      if (deeper == kDeepest)
        throw CorruptFile("{}: its groups go more than {} deep", where, kDeepest);
      const size_t slash = std::min(name.find('\\', from), name.size());
      const std::string part = name.substr(from, slash - from);
      place = &place->groups[part == "_layer_checkpoint_dependencies" ? "layers" : part];
      from = slash + 1;
    }
    merge_groups(*place, renamed(std::move(inner), where, deeper), where);
  }
  return modern;
}

}  // namespace

Hdf5Group read_weights(File& file, const std::string& where) {
  Hdf5Group root = read_hdf5(file, where);
  expect_plain(root, "", where);
  return root;
}

Hdf5Group with_modern_names(Hdf5Group group, const std::string& where) {
  return renamed(std::move(group), where, 0);
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
