// Sources on a disk that fails: each call in turn fails once; the error names a file, and nothing
// else happens.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "snug/data/hdf5.h"
#include "snug/data/image_folder.h"
#include "snug/data/image_testing.h"
#include "snug/data/source_testing.h"
#include "snug/data/text.h"
#include "snug/testing/forwarding_files.h"
#include "snug/testing/memory_files.h"

namespace snug::testing {
namespace {

// A file whose reads fail from the n-th of all on.
struct Countdown {
  int left = 1 << 30;
  void spend(const Path& path) {
    if (left-- <= 0) throw file_error(path, "read it", EIO);
  }
};

class FailingFile final : public ForwardingFile {
 public:
  FailingFile(std::unique_ptr<File> file, Countdown& countdown)
      : ForwardingFile(std::move(file)), countdown_(countdown) {}

 protected:
  size_t read_some(std::span<std::byte> into, int64_t offset) override {
    countdown_.spend(path());
    return ForwardingFile::read_some(into, offset);
  }

 private:
  Countdown& countdown_;
};

class FailingFiles final : public ForwardingFiles {
 public:
  using ForwardingFiles::ForwardingFiles;
  std::unique_ptr<File> open(const Path& path, OpenMode mode) override {
    return std::make_unique<FailingFile>(inner().open(path, mode), countdown);
  }
  Countdown countdown;
};

// Opens and reads again and again, with one more read allowed each time, until all is read.
template <typename Open>
void expect_named_failures(MemoryFiles& files, const std::string& name, const Open& open) {
  int failures = 0;
  for (int allowed = 0; allowed < 10'000; ++allowed) {
    FailingFiles failing(files);
    failing.countdown.left = allowed;
    try {
      const SourcePtr source = open(failing);
      std::vector<int64_t> rows;
      for (int64_t row = 0; row < *source->rows(); ++row) rows.push_back(row);
      for (int field = 0; field < std::ssize(source->fields()); ++field)
        read_rows(*source, field, rows);
      EXPECT_GT(failures, 0);
      return;
    } catch (const FileError& error) {
      expect_within(error.what(), name);
      ++failures;
    }
  }
  FAIL() << "it never came to an end";
}

TEST(Faults, OfAnHdf5File) {
  MemoryFiles files;
  std::ifstream file(Path(HDF5_FOLDER) / "small.h5", std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  write_text(files, "small.h5", bytes.str());
  for (const char* name : {"x", "plain"}) {
    expect_named_failures(files, "small.h5", [&](FileSystem& on) {
      return data::hdf5({.file = "small.h5", .x = {name}, .files = &on});
    });
  }
}

TEST(Faults, OfPictures) {
  MemoryFiles files;
  files.create_directories("f/a");
  write_text(files, "f/a/1.png", png_bytes(smooth_picture(9, 9, 3)));
  write_text(files, "f/a/2.jpg", jpeg_bytes(smooth_picture(9, 9, 3)));
  for (const int threads : {1, 2}) {
    expect_named_failures(files, "f/a/", [&](FileSystem& on) {
      data::ImageFolderOptions options{.folder = "f"};
      options.height = options.width = 4;
      options.threads = threads;
      options.files = &on;
      return data::image_folder(options).source;
    });
  }
}

TEST(Faults, OfTexts) {
  MemoryFiles files;
  write_text(files, "t.txt", "one two\nthree\n");
  write_text(files, "l.txt", "0\n1\n");
  expect_named_failures(files, ".txt", [&](FileSystem& on) {
    data::TextOptions options{.files = {"t.txt"}, .labels = "l.txt"};
    options.sequence_length = 3;
    options.file_system = &on;
    return data::text(options).source;
  });
}

}  // namespace
}  // namespace snug::testing
