// Every broken file of the corpus is refused with its own message, in little memory; none crashes.
// tests/data/make_broken.py writes the corpus.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "snug/base/memory.h"
#include "snug/data/csv.h"
#include "snug/data/hdf5.h"
#include "snug/data/idx.h"
#include "snug/data/image_scaler.h"
#include "snug/data/npy.h"
#include "snug/data/npz.h"
#include "snug/data/source_testing.h"
#include "snug/data/tfrecord.h"
#include "snug/testing/sanitized.h"

namespace snug::testing {
namespace {

struct Case {
  std::string file;
  std::vector<std::string> reader;  // "csv", label, settings.
  std::vector<std::string> parts;   // Of the message.
};

std::vector<std::string> split(const std::string& line, char delimiter) {
  std::vector<std::string> words;
  std::istringstream stream(line);
  for (std::string word; std::getline(stream, word, delimiter);) words.push_back(word);
  return words;
}

std::vector<Case> corpus() {
  std::ifstream index(Path(BROKEN_FOLDER) / "index.tsv");
  std::vector<Case> cases;
  for (std::string line; std::getline(index, line);) {
    const std::vector<std::string> words = split(line, '\t');
    cases.push_back({words[0], split(words[1], ' '), {words.begin() + 2, words.end()}});
  }
  return cases;
}

void read_all(Source& source, DType dtype) {
  for (int field = 0; field < std::ssize(source.fields()); ++field) {
    for (int64_t row = 0; row < *source.rows(); ++row) {
      std::vector<int32_t> slot(static_cast<size_t>(source.fields()[field].row.size()));
      source.read(field, std::vector{row}, {{dtype, Shape{std::ssize(slot)}}, slot.data()});
    }
  }
}

SourcePtr open_csv(const Path& path, const std::vector<std::string>& reader) {
  data::CsvOptions options{.files = {path}};
  for (size_t i = 1; i < reader.size(); ++i) {
    if (reader[i] == "header") {
      options.header = true;
    } else if (reader[i] == "as_is") {
      options.wishes.settings["a"].use = ColumnUse::as_is;
    } else if (reader[i].starts_with("weight=")) {
      options.wishes.weight = reader[i].substr(7);
    } else {
      options.wishes.labels = {reader[i]};
    }
  }
  return data::csv(options).source;
}

void read_image(const Path& path) {
  const std::unique_ptr<File> file = real_files().open(path, OpenMode::read);
  const ImageHeader header = read_image_header(*file, path.string(), {});
  std::vector<float> pixels(4 * 4 * 3);
  ImageScaler(ScaledSize{4, 4, 3})
      .scale(*decode_image(*file, header, 3, path.string()), header, pixels.data());
}

void read_file(const Case& broken) {
  const Path path = Path(BROKEN_FOLDER) / broken.file;
  const std::string& reader = broken.reader[0];
  if (reader == "csv") {
    read_all(*open_csv(path, broken.reader), DType::float32);
  } else if (reader == "npy") {
    const DType dtype = broken.reader.size() > 1 ? DType::int32 : DType::float32;
    read_all(*data::npy(path), dtype);
  } else if (reader == "hdf5") {
    data::Hdf5Options options{.file = path, .x = {broken.reader[1]}};
    if (broken.reader.size() > 2) options.y = {broken.reader[2]};
    read_all(*data::hdf5(options), DType::float32);
  } else if (reader == "npz") {
    read_all(*data::npz({.file = path, .most_in_memory = 1 << 20}), DType::float32);
  } else if (reader == "tfrecord") {
    data::TfRecordOptions options{.files = {path}};
    options.x = {{.key = "x", .row = {2}}};
    read_all(*data::tfrecord(options), DType::float32);
  } else if (reader == "image") {
    read_image(path);
  } else {
    read_all(*data::idx({.x = {path}, .y = {}, .most_in_memory = 1 << 20}), DType::float32);
  }
}

TEST(BrokenData, IsRefusedByItsOwnMessage) {
  const std::vector<Case> cases = corpus();
  ASSERT_GE(cases.size(), 60u);
  for (const Case& broken : cases) {
    SCOPED_TRACE(broken.file);
    std::string message;
    try {
      read_file(broken);
    } catch (const InternalError& error) {
      ADD_FAILURE() << "a fault of ours: " << error.what();
      continue;
    } catch (const Error& error) {
      message = error.what();
    }
    expect_within(message, broken.file.substr(0, broken.file.find('.')));
    for (const std::string& part : broken.parts) expect_within(message, part);
  }
}

TEST(BrokenData, TakesLittleMemory) {
  if (testing::kSanitized) GTEST_SKIP() << "the sanitizer's own memory counts";
  const int64_t before = peak_resident_bytes();
  for (const Case& broken : corpus()) EXPECT_THROW(read_file(broken), Error) << broken.file;
  EXPECT_LT(peak_resident_bytes() - before, int64_t{16} << 20);
}

}  // namespace
}  // namespace snug::testing
