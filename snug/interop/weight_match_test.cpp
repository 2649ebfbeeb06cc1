#include "snug/interop/weight_match.h"

#include <gtest/gtest.h>

#include "snug/base/error.h"
#include "snug/interop/json.h"
#include "snug/interop/keras_file.h"
#include "snug/nn/dense.h"
#include "snug/testing/memory_files.h"

namespace snug::testing {
namespace {

std::shared_ptr<Network> network() {
  auto network = Network::sequential(
      {Input({4}), Dense(3, {.name = "first"}), Dense(2, {.name = "second"})}, "net");
  network->set_paths();
  return network;
}

Hdf5Dataset array(std::vector<int64_t> shape, const char* dtype = "float32") {
  return {.dtype = dtype, .shape = std::move(shape)};
}

// What a legacy file has for the network above.
Hdf5Group legacy() {
  Hdf5Group weights;
  weights.attributes["layer_names"] = {"in", "first", "second"};
  weights.groups["in"];
  weights.groups["first"].attributes["weight_names"] = {"first/kernel:0", "first/bias:0"};
  weights.groups["first"].groups["first"].datasets["kernel:0"] = array({4, 3});
  weights.groups["first"].groups["first"].datasets["bias:0"] = array({3});
  weights.groups["second"].attributes["weight_names"] = {"second/kernel:0", "second/bias:0"};
  weights.groups["second"].groups["second"].datasets["kernel:0"] = array({3, 2});
  weights.groups["second"].groups["second"].datasets["bias:0"] = array({2});
  return weights;
}

TEST(WeightMatch, FindsLegacyWeightsByOrderAndByName) {
  const auto net = network();
  for (const bool by_name : {false, true}) {
    const Hdf5Group weights = legacy();
    std::vector<WeightMatch> matches = match_legacy_weights(weights, *net, by_name, "f");
    ASSERT_EQ(matches.size(), 2);
    EXPECT_EQ(matches[0].paths[0], "first/first/kernel:0");
    EXPECT_EQ(matches[1].paths[1], "second/second/bias:0");
    EXPECT_NO_THROW(check_matches(matches, false, "f"));
  }
}

TEST(WeightMatch, ReadsListsThatWereCutInPieces) {
  const auto net = network();
  Hdf5Group weights = legacy();
  weights.attributes.erase("layer_names");
  weights.attributes["layer_names0"] = {"in", "first"};
  weights.attributes["layer_names1"] = {"second"};
  EXPECT_EQ(match_legacy_weights(weights, *net, false, "f").size(), 2);
}

TEST(WeightMatch, SaysWhatALegacyFileLacks) {
  const auto net = network();
  Hdf5Group no_layer = legacy(), no_weight = legacy(), fewer = legacy();
  no_layer.groups.erase("second");
  EXPECT_THROW(match_legacy_weights(no_layer, *net, false, "f"), CorruptFile);
  no_weight.groups["first"].groups["first"].datasets.erase("bias:0");
  EXPECT_THROW(match_legacy_weights(no_weight, *net, false, "f"), CorruptFile);
  fewer.attributes["layer_names"] = {"first"};
  EXPECT_THROW(match_legacy_weights(fewer, *net, false, "f"), Error);
  EXPECT_EQ(match_legacy_weights(fewer, *net, true, "f").size(), 1);
}

// As h5py takes them: groups in groups.
TEST(WeightMatch, LegacyNamesMayHaveSlashes) {
  const auto net =
      Network::sequential({Input({4}), Dense(3, {.name = "a/b"}), Dense(2, {.name = "a"})}, "net");
  net->set_paths();
  MemoryFiles files;
  allocate(Layer(net).weights(), 3);
  write_legacy_h5("t.h5", {.network = *net}, files);
  const KerasFile file("t.h5", files);
  std::vector<WeightMatch> matches = file.match(*net, false);
  ASSERT_EQ(matches.size(), 2);
  EXPECT_EQ(matches[0].layer, "a/b");
  EXPECT_EQ(matches[1].layer, "a");
  EXPECT_NO_THROW(check_matches(matches, false, "t.h5"));
}

TEST(WeightMatch, FitsByShapeAndType) {
  EXPECT_TRUE(fits(array({4, 3}), {DType::float32, {4, 3}}));
  EXPECT_FALSE(fits(array({3, 4}), {DType::float32, {4, 3}}));
  EXPECT_FALSE(fits(array({12}), {DType::float32, {4, 3}}));
  EXPECT_FALSE(fits(array({4, 3}, "float16"), {DType::float32, {4, 3}}));
  EXPECT_FALSE(fits(array({4, 3}, "float64"), {DType::float32, {4, 3}}));
  EXPECT_FALSE(fits(array({4, 3}, "unknown"), {DType::float32, {4, 3}}));
  EXPECT_TRUE(fits(array({}, "int32"), {DType::int64, {}}));
  EXPECT_TRUE(fits(array({}, "int64"), {DType::int32, {}}));
  EXPECT_FALSE(fits(array({}, "float32"), {DType::int64, {}}));
}

TEST(WeightMatch, ReadsIntegersOfAnotherWidth) {
  MemoryFiles files;
  const std::unique_ptr<File> file = files.open("numbers", OpenMode::write);
  const std::vector<int32_t> narrow = {-7, 8};
  const std::vector<int64_t> wide = {9, -10};
  file->write_at(std::as_bytes(std::span(narrow)), 0);
  file->write_at(std::as_bytes(std::span(wide)), 8);
  std::vector<int64_t> into_wide(2);
  read_array({.dtype = "int32", .shape = {2}, .offset = 0, .bytes = 8, .file = file.get()},
             {{DType::int64, {2}}, into_wide.data()});
  EXPECT_EQ(into_wide, (std::vector<int64_t>{-7, 8}));
  std::vector<int32_t> into_narrow(2);
  read_array({.dtype = "int64", .shape = {2}, .offset = 8, .bytes = 16, .file = file.get()},
             {{DType::int32, {2}}, into_narrow.data()});
  EXPECT_EQ(into_narrow, (std::vector<int32_t>{9, -10}));
}

TEST(WeightMatch, NamesBothShapesWhereTheyDiffer) {
  const auto net = network();
  Hdf5Group weights = legacy();
  weights.groups["second"].groups["second"].datasets["kernel:0"] = array({3, 5});
  std::vector<WeightMatch> matches = match_legacy_weights(weights, *net, false, "f");
  try {
    check_matches(matches, false, "f");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "f: layer \"second\": its weight kernel is float32[3, 2], but the file's "
              "second/second/kernel:0 is float32[3, 5]; nothing was loaded");
  }
  check_matches(matches, /*skip_mismatch=*/true, "f");
  ASSERT_EQ(matches.size(), 1);
  EXPECT_EQ(matches[0].layer, "first");
}

TEST(KerasFile, ReadsShards) {
  MemoryFiles files;
  const auto net = network();
  allocate(Layer(net).weights(), 3);
  write_weights("all.weights.h5", {.network = *net}, files);
  // The one file stands for two shards.
  write_text(files, "all.weights.json",
             R"({"weight_map": {"/layers/dense/vars": ["all.weights.h5"],
                                "/layers/dense_1/vars": "all.weights.h5"}})");
  const KerasFile file("all.weights.json", files);
  EXPECT_FALSE(file.has_model());
  std::vector<WeightMatch> matches = file.match(*net);
  check_matches(matches, false, file.where());
  EXPECT_EQ(matches.size(), 2);
  EXPECT_THROW(file.network(), Error);
}

TEST(KerasFile, RefusesShardsElsewhere) {
  MemoryFiles files;
  for (const char* name : {"../x.weights.h5", "/etc/x.weights.h5", "a\\b.weights.h5"}) {
    const Json index = {{"weight_map", {{"/layers/dense/vars", Json::array({name})}}}};
    write_text(files, "all.weights.json", index.dump());
    EXPECT_THROW(KerasFile("all.weights.json", files), Error) << name;
  }
  write_text(files, "all.weights.json", "{}");
  EXPECT_THROW(KerasFile("all.weights.json", files), Error);
  write_text(files, "all.weights.json", R"({"weight_map": {"/a": [3]}})");
  EXPECT_THROW(KerasFile("all.weights.json", files), Error);
}

TEST(KerasFile, SaysWhatIsNotThere) {
  MemoryFiles files;
  EXPECT_THROW(KerasFile("nothing.keras", files), FileError);
  write_text(files, "text.keras", "hello");
  EXPECT_THROW(KerasFile("text.keras", files), CorruptFile);
}

}  // namespace
}  // namespace snug::testing
