#include "snug/data/folder_index.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <numeric>
#include <random>

#include "snug/base/error.h"

namespace snug {
namespace {

constexpr int kDeepest = 32;

std::string in_small_letters(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// The names in a folder; nullopt where it is none.
std::optional<std::vector<std::string>> names_in(FileSystem& files, const Path& path) {
  try {
    return files.list(path);
  } catch (const FileError&) {
    return std::nullopt;
  }
}

bool is_link(const Path& path) {
  std::error_code ignored;
  return std::filesystem::is_symlink(path, ignored);
}

// What numpy.random.RandomState(seed).shuffle does to a list: MT19937 and masked rejection.
void shuffle_like_numpy(std::vector<uint32_t>& list, uint32_t seed) {
  std::mt19937 generator(seed);
  for (size_t i = list.size() - 1; i > 0; --i) {
    uint32_t mask = static_cast<uint32_t>(i);
    for (const int bits : {1, 2, 4, 8, 16}) mask |= mask >> bits;
    uint32_t draw = generator() & mask;
    while (draw > i) draw = generator() & mask;
    std::swap(list[i], list[draw]);
  }
}

}  // namespace

FolderIndex::FolderIndex(FileSystem& files, const FolderOptions& options)
    : folder_(options.folder) {
  const std::vector<std::string> names = files.list(folder_);
  if (options.labelled) {
    std::vector<std::string> folders;
    for (const std::string& name : names) {
      if (!name.starts_with(".") && names_in(files, folder_ / name)) folders.push_back(name);
    }
    if (folders.empty()) {
      throw Error(
          "{}: it has no sub-folders, but each class is one; move the files into folders, or say "
          "that there are no labels",
          folder_.string());
    }
    name_classes(options, folders);
    for (size_t i = 0; i < class_names_.size(); ++i) {
      if (std::ranges::count(folders, class_names_[i]) == 0) continue;
      add_folder(files, options, class_names_[i], static_cast<int32_t>(i), 0);
    }
  } else {
    add_folder(files, options, "", 0, 0);
  }
  if (entries_.empty()) {
    throw Error("{}: there is no file whose name ends in {}; check the path", folder_.string(),
                fmt::join(options.endings, ", "));
  }
  order_.resize(entries_.size());
  std::iota(order_.begin(), order_.end(), 0u);
  take_subset(options);
  names_.shrink_to_fit();
  entries_.shrink_to_fit();
}

void FolderIndex::name_classes(const FolderOptions& options,
                               const std::vector<std::string>& folders) {
  for (const std::string& name : options.class_names) {
    if (std::ranges::count(folders, name) > 0) continue;
    throw Error("{}: class_names has \"{}\", but there is no such folder; there are {}",
                folder_.string(), name, fmt::join(folders, ", "));
  }
  class_names_ = options.class_names.empty() ? folders : options.class_names;
  if (options.known_classes.empty() || !options.class_names.empty()) return;
  class_names_ = options.known_classes;
  for (const std::string& folder : folders) {
    if (std::ranges::count(class_names_, folder) > 0) continue;
    throw Error("{}: \"{}\" is no class of the training data, which has {}; move the folder away",
                folder_.string(), folder, fmt::join(class_names_, ", "));
  }
}

// Keras goes through the folders sorted by their whole paths, and through the files of each.
void FolderIndex::add_folder(FileSystem& files, const FolderOptions& options,
                             const std::string& inner, int32_t label, int depth) {
  std::vector<std::string> folders;
  for (const std::string& name : files.list(folder_ / inner)) {
    const std::string small = in_small_letters(name);
    const bool wanted = std::ranges::any_of(
        options.endings, [&](std::string_view ending) { return small.ends_with(ending); });
    if (!wanted) {
      folders.push_back(name);
      continue;
    }
    if (names_.size() > 0xffff0000u) {
      throw Error("{}: it has more files than can be held; split the folder", folder_.string());
    }
    entries_.push_back({static_cast<uint32_t>(names_.size()), label});
    names_ += inner.empty() ? name : inner + "/" + name;
    names_ += '\0';
  }
  for (const std::string& name : folders) {
    const std::string deeper = inner.empty() ? name : inner + "/" + name;
    // As Keras does, which follows no links there: one that leads up would have no end.
    if (is_link(folder_ / deeper)) continue;
    if (depth < kDeepest && names_in(files, folder_ / deeper)) {
      add_folder(files, options, deeper, label, depth + 1);
    }
  }
}

void FolderIndex::take_subset(const FolderOptions& options) {
  const bool has_split = options.validation_split != 0;
  if (has_split != (options.subset != FolderSubset::all)) {
    throw Error("{}: validation_split and subset go together; give both or neither",
                folder_.string());
  }
  if (!has_split) return;
  if (!(options.validation_split > 0 && options.validation_split < 1)) {
    throw Error("{}: validation_split is {}; it must be between 0 and 1", folder_.string(),
                options.validation_split);
  }
  const auto tail = static_cast<int64_t>(options.validation_split * static_cast<double>(size()));
  if (tail == 0 || tail == size()) {
    throw Error("{}: a validation_split of {} leaves no files on one side of {}", folder_.string(),
                options.validation_split, size());
  }
  shuffle_like_numpy(order_, options.seed);
  if (options.subset == FolderSubset::training) {
    order_.resize(order_.size() - static_cast<size_t>(tail));
  } else {
    order_.erase(order_.begin(), order_.end() - tail);
  }
  order_.shrink_to_fit();
}

Path FolderIndex::path(int64_t file) const {
  return folder_ / (names_.data() + entries_[order_[static_cast<size_t>(file)]].name);
}

size_t FolderIndex::bytes() const {
  return names_.capacity() + entries_.capacity() * sizeof(Entry) +
         order_.capacity() * sizeof(uint32_t);
}

}  // namespace snug
