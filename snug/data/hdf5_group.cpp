#include <algorithm>

#include "snug/base/error.h"
#include "snug/data/hdf5_tree.h"

namespace snug {

const Hdf5Group* Hdf5Group::find_group(std::string_view path) const {
  const Hdf5Group* group = this;
  while (group != nullptr && !path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    if (slash > 0) {
      const auto found = group->groups.find(std::string(path.substr(0, slash)));
      group = found == group->groups.end() ? nullptr : &found->second;
    }
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

}  // namespace snug
