#include "snug/interop/hdf5.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "snug/base/error.h"
#include "snug/testing/memory_files.h"
#include "snug/testing/npz.h"

namespace snug::testing {
namespace {

// Writes the tree and reads it again; the file stays open as long as this lives.
struct Written {
  explicit Written(const Hdf5Tree& tree) {
    const Hdf5Image image(tree);
    const std::unique_ptr<File> out = files.open("t.h5", OpenMode::write);
    image.write_to(*out);
    EXPECT_EQ(out->size(), image.size());
    file = files.open("t.h5", OpenMode::read);
    root = read_weights(*file, "t.h5");
  }
  template <typename T>
  std::vector<T> elements(const std::string& path) const {
    const Hdf5Dataset* dataset = root.find_dataset(path);
    if (dataset == nullptr) return {};
    std::vector<T> values(static_cast<size_t>(dataset->bytes) / sizeof(T));
    file->read_exactly_at(std::as_writable_bytes(std::span(values)), dataset->offset);
    return values;
  }

  MemoryFiles files;
  std::unique_ptr<File> file;
  Hdf5Group root;
};

TEST(Hdf5, ArraysOfEveryTypeComeBack) {
  const std::vector<float> floats = {1, -2, 3.5f, 0, 1e-30f, 7};
  const std::vector<double> doubles = {1, 2};
  const std::vector<int32_t> ints = {-1, 2, 3};
  const std::vector<int64_t> longs = {-5'000'000'000};
  const std::vector<uint8_t> bytes = {1, 2, 255};
  Hdf5Tree tree;
  tree.arrays["f"] = {{DType::float32, {2, 3}}, floats.data()};
  tree.arrays["d"] = {{DType::float64, {2}}, doubles.data()};
  tree.arrays["i"] = {{DType::int32, {3, 1}}, ints.data()};
  tree.arrays["l"] = {{DType::int64, {}}, longs.data()};
  tree.arrays["b"] = {{DType::uint8, {3}}, bytes.data()};
  const Written written(tree);
  EXPECT_EQ(written.root.datasets.size(), 5);
  EXPECT_EQ(written.root.find_dataset("f")->text(), "float32[2, 3]");
  EXPECT_EQ(written.root.find_dataset("d")->text(), "float64[2]");
  EXPECT_EQ(written.root.find_dataset("i")->text(), "int32[3, 1]");
  EXPECT_EQ(written.root.find_dataset("l")->text(), "int64[]");
  EXPECT_EQ(written.root.find_dataset("b")->text(), "uint8[3]");
  EXPECT_EQ(written.elements<float>("f"), floats);
  EXPECT_EQ(written.elements<double>("d"), doubles);
  EXPECT_EQ(written.elements<int32_t>("i"), ints);
  EXPECT_EQ(written.elements<int64_t>("l"), longs);
  EXPECT_EQ(written.elements<uint8_t>("b"), bytes);
}

TEST(Hdf5, ArraysWithoutMemoryAreFilled) {
  Hdf5Tree tree;
  tree.arrays["zeros"] = {{DType::float32, {5}}};
  tree.arrays["ones"] = {{DType::float32, {5}}, nullptr, 1};
  tree.arrays["half"] = {{DType::float64, {3}}, nullptr, 0.5};
  tree.arrays["count"] = {{DType::int64, {}}, nullptr, 42};
  tree.arrays["small"] = {{DType::int32, {2}}, nullptr, -3};
  tree.arrays["none"] = {{DType::float32, {0, 4}}};
  const Written written(tree);
  EXPECT_EQ(written.elements<float>("zeros"), std::vector<float>(5, 0.0f));
  EXPECT_EQ(written.elements<float>("ones"), std::vector<float>(5, 1.0f));
  EXPECT_EQ(written.elements<double>("half"), std::vector<double>(3, 0.5));
  EXPECT_EQ(written.elements<int64_t>("count"), std::vector<int64_t>{42});
  EXPECT_EQ(written.elements<int32_t>("small"), (std::vector<int32_t>{-3, -3}));
  EXPECT_EQ(written.root.find_dataset("none")->text(), "float32[0, 4]");
  EXPECT_EQ(written.root.find_dataset("none")->bytes, 0);
}

// A leaf has 8 entries and a node above it 32 children: 256 entries need one node, 8192 two levels
// of nodes, and one more entry a third.
TEST(Hdf5, GroupsMayHaveAnyNumberOfEntries) {
  for (const int count : {0, 1, 7, 8, 9, 255, 256, 257, 1000, 8192, 8193}) {
    SCOPED_TRACE(count);
    std::vector<float> values(static_cast<size_t>(count));
    std::iota(values.begin(), values.end(), 0.0f);
    Hdf5Tree tree;
    for (int i = 0; i < count; ++i)
      tree.at("vars").arrays[std::to_string(i)] = {{DType::float32, {}}, &values[i]};
    for (int i = 0; i < count; i += 3) tree.groups["group_" + std::to_string(i)];
    tree.at("vars");
    const Written written(tree);
    const Hdf5Group* vars = written.root.find_group("vars");
    ASSERT_NE(vars, nullptr);
    ASSERT_EQ(vars->datasets.size(), static_cast<size_t>(count));
    for (int i = 0; i < count; i += 1 + count / 20) {
      EXPECT_EQ(written.elements<float>("vars/" + std::to_string(i)),
                std::vector<float>{static_cast<float>(i)});
    }
    EXPECT_EQ(written.root.groups.size(), static_cast<size_t>((count + 2) / 3 + 1));
  }
}

TEST(Hdf5, TextsOfAnyLengthComeBack) {
  Hdf5Tree tree;
  const std::string longest(300'000, 'x');
  tree.texts = {{"short", "a"}, {"umlaut", "\xc3\xa4"}, {"long", longest}, {"empty", ""}};
  tree.lists = {{"names", {"one", "two", "a third one"}}, {"nothing", {}}};
  tree.at("a/b").texts = {{"name", "inner"}};
  std::vector<std::string> many;
  for (int i = 0; i < 4000; ++i) many.push_back("layer_" + std::to_string(i));
  tree.at("a").lists = {{"layer_names", many}};
  const Written written(tree);
  EXPECT_EQ(written.root.text("short"), "a");
  EXPECT_EQ(written.root.text("umlaut"), "\xc3\xa4");
  EXPECT_EQ(written.root.text("long"), longest);
  EXPECT_EQ(written.root.text("empty"), "");
  EXPECT_EQ(written.root.text("absent"), "");
  EXPECT_EQ(written.root.attributes.at("names"),
            (std::vector<std::string>{"one", "two", "a third one"}));
  EXPECT_FALSE(written.root.attributes.contains("nothing"));
  EXPECT_EQ(written.root.find_group("a/b")->text("name"), "inner");
  EXPECT_EQ(written.root.find_group("a")->attributes.at("layer_names"), many);
}

// Whatever one byte is, the file is read or refused by an Error.
TEST(Hdf5, AnyByteMayBeWrong) {
  const std::vector<float> floats = {1, 2};
  Hdf5Tree tree;
  tree.texts = {{"backend", "tensorflow"}};
  tree.lists = {{"names", {"one", "two"}}};
  tree.at("a").texts = {{"name", "inner"}};
  tree.at("a").arrays["f"] = {{DType::float32, {2}}, floats.data()};
  Written written(tree);
  const std::string bytes = read_text(written.files, "t.h5");
  int refused = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const char value : {'\0', '\x01', '\x7f', '\xff'}) {
      std::string broken = bytes;
      broken[i] = value;
      written.files.open("broken.h5", OpenMode::write)->append(std::as_bytes(std::span(broken)));
      try {
        read_weights(*written.files.open("broken.h5", OpenMode::read), "broken.h5");
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(Hdf5, PathsAreFoundOrNot) {
  Hdf5Tree tree;
  const float one = 1;
  tree.at("a/b/c").arrays["x"] = {{DType::float32, {}}, &one};
  const Written written(tree);
  EXPECT_NE(written.root.find_group("a"), nullptr);
  EXPECT_NE(written.root.find_group("a/b/c"), nullptr);
  EXPECT_EQ(written.root.find_group("a/c"), nullptr);
  EXPECT_EQ(written.root.find_group("a/b/c/d"), nullptr);
  EXPECT_EQ(written.root.find_group(""), &written.root);
  EXPECT_NE(written.root.find_dataset("a/b/c/x"), nullptr);
  EXPECT_EQ(written.root.find_dataset("a/b/x"), nullptr);
  EXPECT_EQ(written.root.find_dataset("x"), nullptr);
  EXPECT_EQ(written.root.find_dataset("nowhere/x"), nullptr);
}

// An archive asks for the image in pieces of its own.
TEST(Hdf5, TheImageIsTheSameInAnyPieces) {
  std::vector<float> values(1001);
  std::iota(values.begin(), values.end(), 1.0f);
  Hdf5Tree tree;
  tree.texts = {{"name", "m"}};
  tree.arrays["a"] = {{DType::float32, {1001}}, values.data()};
  tree.arrays["b"] = {{DType::float32, {3}}, nullptr, 2.5};
  tree.arrays["c"] = {{DType::float32, {1}}, values.data()};
  const Hdf5Image image(tree);
  std::vector<std::byte> whole(static_cast<size_t>(image.size()));
  image.read(whole, 0);
  for (const size_t piece : {1, 3, 64, 1000, 4096}) {
    std::vector<std::byte> parts(whole.size());
    for (size_t at = 0; at < parts.size(); at += piece) {
      const size_t count = std::min(piece, parts.size() - at);
      image.read(std::span(parts).subspan(at, count), static_cast<int64_t>(at));
    }
    EXPECT_EQ(parts, whole) << piece;
  }
}

// The bytes that h5py writes for a file begin the same.
TEST(Hdf5, TheSuperblockIsKerass) {
  const Hdf5Image image(Hdf5Tree{});
  std::vector<std::byte> ours(24);
  image.read(ours, 0);
  const std::string keras = read_text(golden_path("fits/seed_dense/model.weights.h5"));
  EXPECT_EQ(std::memcmp(ours.data(), keras.data(), ours.size()), 0);
}

TEST(Hdf5, OlderNamesBecomeNewerOnes) {
  Hdf5Group old;
  old.groups["_layer_checkpoint_dependencies"].groups["dense"].groups["vars"].datasets["0"];
  old.groups["dec\\_layer_checkpoint_dependencies\\conv2d"].groups["vars"].datasets["0"];
  old.groups["dec\\_layer_checkpoint_dependencies\\dense"].groups["vars"].datasets["0"];
  const Hdf5Group modern = with_modern_names(old, "t.h5");
  EXPECT_NE(modern.find_dataset("layers/dense/vars/0"), nullptr);
  EXPECT_NE(modern.find_dataset("dec/layers/conv2d/vars/0"), nullptr);
  EXPECT_NE(modern.find_dataset("dec/layers/dense/vars/0"), nullptr);
  EXPECT_EQ(modern.find_group("_layer_checkpoint_dependencies"), nullptr);
}

// Each backslash is a group more: a name of 64 KB must not go as deep as that.
TEST(Hdf5, NamesGoOnlySoDeep) {
  const auto deep = [](int groups, size_t slashes) {
    Hdf5Group group;
    for (int i = 0; i < groups; ++i) {
      Hdf5Group outer;
      outer.groups[std::string(slashes, '\\') + "a"] = std::move(group);
      group = std::move(outer);
    }
    return with_modern_names(std::move(group), "t.h5");
  };
  EXPECT_EQ(deep(1, 63).groups.size(), 1);
  EXPECT_EQ(deep(32, 1).groups.size(), 1);
  EXPECT_THROW(deep(1, 64), CorruptFile);
  EXPECT_THROW(deep(33, 1), CorruptFile);
  EXPECT_THROW(deep(62, 1023), CorruptFile);
}

TEST(Hdf5, ShardsAreMergedUnlessTheyOverlap) {
  Hdf5Group one, two, same;
  one.groups["a"].datasets["0"];
  two.groups["a"].datasets["1"];
  two.groups["b"].datasets["0"];
  same.groups["b"].datasets["0"];
  merge_groups(one, two, "test");
  EXPECT_NE(one.find_dataset("a/0"), nullptr);
  EXPECT_NE(one.find_dataset("a/1"), nullptr);
  EXPECT_NE(one.find_dataset("b/0"), nullptr);
  EXPECT_THROW(merge_groups(one, same, "test"), CorruptFile);
}

}  // namespace
}  // namespace snug::testing
