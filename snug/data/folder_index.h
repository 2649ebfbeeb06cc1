// The files of a folder whose sub-folders are classes, as Keras's *_dataset_from_directory sees
// them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/file.h"

namespace snug {

enum class FolderSubset { all, training, validation };

struct FolderOptions {
  Path folder;
  // Endings of names, in small letters: ".png". Other files are passed over.
  std::vector<std::string_view> endings;
  bool labelled = true;                  // Else all files of the folder and what is in it.
  std::vector<std::string> class_names;  // Sub-folders in this order; empty: all, sorted.
  // Of the training data: a class keeps its number where others have no folder here.
  std::vector<std::string> known_classes;
  // Files are shuffled by the seed, exactly as Keras does with the same seed, and the last
  // `validation_split` of them are for validation.
  double validation_split = 0;
  FolderSubset subset = FolderSubset::all;
  uint32_t seed = 0;
};

// Names are kept in one piece, about as many bytes as they have letters.
class FolderIndex {
 public:
  // Throws FileError for a folder that cannot be listed; Error that names what there is, for one
  // without files, without sub-folders, without one of the class names or with a class that is not
  // known, and for a split that leaves nothing.
  FolderIndex(FileSystem& files, const FolderOptions& options);

  int64_t size() const { return static_cast<int64_t>(order_.size()); }
  const std::vector<std::string>& class_names() const { return class_names_; }
  int32_t label(int64_t file) const { return entries_[order_[static_cast<size_t>(file)]].label; }
  Path path(int64_t file) const;
  size_t bytes() const;

 private:
  struct Entry {
    uint32_t name = 0;  // Where its name begins.
    int32_t label = 0;
  };
  void name_classes(const FolderOptions& options, const std::vector<std::string>& folders);
  void add_folder(FileSystem& files, const FolderOptions& options, const std::string& inner,
                  int32_t label, int depth);
  void take_subset(const FolderOptions& options);

  Path folder_;
  std::vector<std::string> class_names_;
  std::string names_;  // Relative to the folder, each with a zero behind it.
  std::vector<Entry> entries_;
  std::vector<uint32_t> order_;
};

}  // namespace snug
