// The rows of a source in two: to train on, and to validate with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "snug/data/source.h"

namespace snug {

enum class SplitKind {
  tail,        // The last rows, as Keras's validation_split.
  random,      // Any rows; which ones depends on the seed only.
  stratified,  // Any rows, of each class the same share.
};
// Throws Error, which names the nearest right word.
SplitKind split_kind(std::string_view word);

namespace data {

struct SplitOptions {
  double share = 0.2;  // Of the rows, for validation: more than 0, less than 1.
  SplitKind kind = SplitKind::tail;
  uint64_t seed = 0;
  std::vector<std::string> class_names;  // For messages; empty: classes are numbers.
  bool warns = true;                     // If not, classes are not looked at for it.
};

struct SplitData {
  SourcePtr train, validation;
};

// Needs random access. The two sides may be read by two threads. A random split holds one bit a row
// at most; a stratified one reads all labels, which must be whole numbers. Throws Error where it
// cannot be made or a side would be empty. Where labels are classes, a warning in the log names
// those that only one side has.
SplitData split(const SourcePtr& source, const SplitOptions& options);

// The warning alone, for the tail: rows from `first` on are validated with.
void warn_of_missing_classes(Source& source, int64_t first,
                             const std::vector<std::string>& class_names = {});

}  // namespace data
}  // namespace snug
