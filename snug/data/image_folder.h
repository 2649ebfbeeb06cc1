// Pictures in a folder whose sub-folders are classes: as Keras's image_dataset_from_directory.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "snug/data/folder_index.h"
#include "snug/data/image_header.h"
#include "snug/data/source.h"

namespace snug::data {

// Names of pictures end so; other files of a folder are passed over.
constexpr std::array<std::string_view, 5> kPictureEndings = {".jpg", ".jpeg", ".png", ".bmp",
                                                             ".gif"};

enum class LabelMode {
  index,        // "int": the class's number.
  categorical,  // One number a class: 1 for its own.
  binary,       // 0 or 1, for two classes.
  none,
};

struct ImageFolderOptions {
  Path folder;
  LabelMode label_mode = LabelMode::index;
  int channels = 3;  // "grayscale": 1, "rgb": 3, "rgba": 4.
  int64_t height = 256, width = 256;
  bool bilinear = true;  // Interpolation; else nearest.
  bool crop_to_aspect_ratio = false;
  std::vector<std::string> class_names, known_classes;  // See FolderOptions.
  double validation_split = 0;
  FolderSubset subset = FolderSubset::all;
  uint32_t seed = 0;
  ImageLimits limits;
  // A file that is no picture is refused at once; else when its row is read, so that it can be left
  // out (checked.h).
  bool refuse_bad = true;
  int threads = 0;  // That decode a batch; 0: one a core.
  FileSystem* files = nullptr;
};

struct ImageFolder {
  SourcePtr source;
  std::vector<std::string> class_names;
};

// Reads the header of every picture, so that what decoding takes is known (buffer_bytes) and a file
// that is no picture is refused now. Rows are decoded when they are read, whole batches on
// `threads` threads, each with one decoder. Throws DataError that names the file; Error for
// settings that do not fit; FileError.
ImageFolder image_folder(const ImageFolderOptions& options);

}  // namespace snug::data
