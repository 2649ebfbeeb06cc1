// Texts as rows of word numbers: a text a line, or a text a file in folders that are classes.
#pragma once

#include <string>
#include <vector>

#include "snug/data/folder_index.h"
#include "snug/data/source.h"
#include "snug/data/words.h"

namespace snug::data {

struct TextOptions {
  // One row a file (.txt), sub-folders being classes, as Keras's text_dataset_from_directory; or
  std::vector<Path> files;  // one row a line, .gz too,
  Path labels;              // with a label a line: whole numbers, or words, which are sorted.
  Path folder;
  bool labelled = true;  // Of a folder.
  std::vector<std::string> class_names;
  std::vector<std::string> known_classes;  // Of the training data: a class keeps its number.
  double validation_split = 0;
  FolderSubset subset = FolderSubset::all;
  uint32_t seed = 0;

  WordOptions words;
  int64_t sequence_length = 0;  // Longer texts are cut off, shorter ones end with zeros.
  int64_t max_tokens = 20'000;  // With the two that stand for no word and for an unknown one.
  int64_t hash_buckets = 0;     // Hashes in the place of a vocabulary.
  // As another text was read: its vocabulary, without the first two. Null: it is learned here.
  const std::vector<std::string>* vocabulary = nullptr;

  // A folder for rows that are too many for memory.
  Path cache;
  int64_t most_in_memory = int64_t{16} << 20;
  FileSystem* file_system = nullptr;
};

struct TextData {
  SourcePtr source;                     // x: int32 [sequence_length]; y: int32, if labelled.
  std::vector<std::string> vocabulary;  // Words 2, 3, ...; empty with hashes.
  std::vector<std::string> class_names;
  int64_t tokens = 0;  // Above all numbers of words: what an Embedding needs.
};

// Goes over the texts once to learn the words and once to number them, in fixed memory. Throws
// DataError that names file and line or byte; Error for settings that do not fit; FileError.
TextData text(const TextOptions& options);

}  // namespace snug::data
