// Files that a real Keras wrote, and what Snug writes for the same models.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "keras_config.h"
#include "snug/data/arrays.h"
#include "snug/interop/hdf5.h"
#include "snug/interop/zip_archive.h"
#include "snug/nn/dense.h"
#include "snug/nn/embedding.h"
#include "snug/nn/shape_layers.h"
#include "snug/testing/faulty_file.h"
#include "snug/testing/memory_files.h"
#include "snug/testing/npz.h"
#include "snug/testing/temp_dir.h"
#include "snug/train/callbacks.h"
#include "snug/train/model.h"

namespace snug::testing {
namespace {

const std::vector<std::string> kModels = {"cnn_bn", "seed_conv", "seed_dense", "two_branch"};

std::string fit_file(const std::string& name, const std::string& file) {
  return golden_path("fits/" + name + "/" + file);
}

bool same_bits(const Tensor& have, const Array& want) {
  return have.bytes() == want.data.size() &&
         std::memcmp(have.data, want.data.data(), have.bytes()) == 0;
}

void expect_golden_state(const Model& model, const std::string& name) {
  const Npz data(fit_file(name, "data.npz"));
  const Variables weights = model.weights();
  for (size_t i = 0; i < weights.size(); ++i)
    EXPECT_TRUE(same_bits(weights[i]->tensor(), data["final" + std::to_string(i)]))
        << weights[i]->path();
  EXPECT_FALSE(data.contains("final" + std::to_string(weights.size())));
  size_t next = 0;
  for (const VariablePtr& slot : model.compiled().slots()) {
    const Array& want = data["opt" + std::to_string(next)];
    EXPECT_TRUE(same_bits(slot->tensor(), want)) << slot->name();
    // Behind the count stands the rate, which is no slot.
    next += next == 0 && data["opt1"].data.size() == sizeof(float) ? 2 : 1;
  }
  EXPECT_FALSE(data.contains("opt" + std::to_string(next)));
}

void expect_golden_predictions(Model& model, const std::string& name) {
  const Npz data(fit_file(name, "data.npz"));
  data::ArraysOptions arrays;
  for (int i = 0; data.contains("vx" + std::to_string(i)); ++i) {
    const Array& x = data["vx" + std::to_string(i)];
    arrays.x.emplace_back(reinterpret_cast<const float*>(x.data.data()), x.type.shape);
  }
  const auto predictions = model.predict(data::arrays(arrays));
  for (size_t i = 0; i < predictions.size(); ++i) {
    const std::vector<double> want = data["pred" + std::to_string(i)].doubles();
    ASSERT_EQ(predictions[i].size(), want.size());
    for (size_t k = 0; k < want.size(); ++k)
      EXPECT_NEAR(predictions[i][k], want[k], 2e-5 * std::max(1.0, std::abs(want[k])));
  }
}

// Every group, array and text of a tree; not the places of elements.
void describe(const Hdf5Group& group, const std::string& path, std::vector<std::string>& lines) {
  for (const auto& [name, texts] : group.attributes) {
    if (name.ends_with("_config") || name == "keras_version") continue;
    lines.push_back(fmt::format("{} @{}={}", path, name, fmt::join(texts, ",")));
  }
  for (const auto& [name, dataset] : group.datasets)
    lines.push_back(path + "/" + name + " " + dataset.text());
  for (const auto& [name, inner] : group.groups) {
    lines.push_back(path + "/" + name);
    describe(inner, path + "/" + name, lines);
  }
}

std::vector<std::string> tree_of(const Path& path) {
  const std::unique_ptr<File> file = real_files().open(path, OpenMode::read);
  std::vector<std::string> lines;
  if (path.extension() == ".keras") {
    ZipReader archive(*file);
    const std::unique_ptr<File> weights = archive.open("model.weights.h5");
    describe(read_weights(*weights, "test"), "", lines);
  } else {
    describe(read_weights(*file, "test"), "", lines);
  }
  return lines;
}

snug::Json config_of(const Path& path) {
  const std::unique_ptr<File> file = real_files().open(path, OpenMode::read);
  return snug::Json::parse(ZipReader(*file).text("config.json", 1 << 20));
}

// What Snug writes stands in Keras's own config with the same value; what it leaves out are keys
// that newer versions of Keras added and build_configs of layers without weights.
void expect_part_of(const snug::Json& have, const snug::Json& keras, const std::string& path) {
  static const std::set<std::string> left_out = {
      "build_config", "input_axes", "optional",        "output_axes",     "quantization_config",
      "ragged",       "renorm",     "renorm_clipping", "renorm_momentum", "shared_object_id"};
  static const std::set<std::string> added = {"/compile_config/loss/config/delta"};
  if (have.is_object() && keras.is_object()) {
    for (const auto& [key, value] : have.items()) {
      if (added.contains(path + "/" + key)) continue;
      ASSERT_TRUE(keras.contains(key)) << path << "/" << key;
      expect_part_of(value, keras.at(key), path + "/" + key);
    }
    for (const auto& [key, value] : keras.items())
      EXPECT_TRUE(have.contains(key) || left_out.contains(key)) << path << "/" << key;
  } else if (have.is_array() && keras.is_array()) {
    ASSERT_EQ(have.size(), keras.size()) << path;
    for (size_t i = 0; i < have.size(); ++i)
      expect_part_of(have[i], keras[i], path + "/" + std::to_string(i));
  } else {
    EXPECT_EQ(have, keras) << path;
  }
}

TEST(KerasFiles, LoadBitForBit) {
  for (const std::string& name : kModels) {
    for (const char* file : {"model.keras", "model.h5"}) {
      SCOPED_TRACE(name + "/" + file);
      Model model = load_model(fit_file(name, file));
      expect_golden_state(model, name);
      expect_golden_predictions(model, name);
    }
  }
}

TEST(KerasFiles, AreWrittenAsKerasWritesThem) {
  const TempDir folder;
  for (const std::string& name : kModels) {
    SCOPED_TRACE(name);
    Model model = load_model(fit_file(name, "model.keras"));
    for (const std::string file : {"model.keras", "model.weights.h5", "model.h5"}) {
      SCOPED_TRACE(file);
      model.save(folder / file);
      EXPECT_EQ(tree_of(folder / file), tree_of(fit_file(name, file)));
    }
    expect_part_of(config_of(folder / "model.keras"), config_of(fit_file(name, "model.keras")), "");
    for (const char* file : {"model.keras", "model.h5"}) {
      Model again = load_model(folder / file);
      expect_golden_state(again, name);
    }
  }
}

TEST(KerasFiles, GoOnTrainingAsIfNothingHappened) {
  const TempDir folder;
  const std::string name = "seed_dense";
  const Npz data(fit_file(name, "data.npz"));
  const auto array = [&](const char* key) {
    const Array& a = data[key];
    return snug::Array(reinterpret_cast<const float*>(a.data.data()), a.type.shape);
  };
  const auto labels = [&]() -> snug::Array {
    const Array& y = data["y0"];
    if (y.type.dtype == DType::int32)
      return {reinterpret_cast<const int32_t*>(y.data.data()), y.type.shape};
    return array("y0");
  };
  const FitOptions options{.batch_size = 8, .epochs = 1, .shuffle = false, .verbose = 0};
  Model one = load_model(fit_file(name, "model.keras"));
  one.fit(data::arrays({.x = {array("x0")}, .y = {labels()}}), options);
  Model two = load_model(fit_file(name, "model.keras"));
  two.save(folder / "copy.keras");
  Model three = load_model(folder / "copy.keras");
  three.fit(data::arrays({.x = {array("x0")}, .y = {labels()}}), options);
  EXPECT_EQ(one.get_weights(), three.get_weights());
  EXPECT_EQ(one.compiled().iterations(), three.compiled().iterations());
  EXPECT_GT(one.compiled().iterations(), two.compiled().iterations());
}

TEST(KerasFiles, AreRefusedByTheLayersThatSnugLacks) {
  for (const auto& [name, layer] :
       {std::pair("lstm_classifier", "LSTM"), std::pair("transformer", "MultiHeadAttention")}) {
    try {
      load_model(fit_file(name, "model.keras"));
      FAIL() << name;
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("model.keras: layer \""), std::string::npos) << message;
      EXPECT_NE(message.find(layer), std::string::npos) << message;
    }
  }
}

Sequential small_model() {
  Sequential model({Input({4}), Dense(3, {.activation = "relu", .name = "first"}),
                    Dense(2, {.name = "second"})});
  model.compile({.optimizer = Adam({.amsgrad = true}), .loss = "mse"});
  return model;
}

TEST(KerasFiles, WeightsComeByOrderOrByName) {
  MemoryFiles files;
  Sequential saved = small_model();
  saved.save("m.keras", files);
  saved.save("m.h5", files);
  saved.save_weights("m.weights.h5", files);
  Sequential wider({Input({4}), Dense(3, {.name = "other"}), Dense(5, {.name = "first"}),
                    Dense(2, {.name = "second"})});
  for (const char* path : {"m.keras", "m.h5", "m.weights.h5"}) {
    SCOPED_TRACE(path);
    Sequential same = small_model();
    same.ensure_weights(7);
    ASSERT_NE(same.get_weights(), saved.get_weights());
    same.load_weights(path, {}, files);
    EXPECT_EQ(same.get_weights(), saved.get_weights());

    const auto before = wider.get_weights();
    EXPECT_THROW(wider.load_weights(path, {}, files), Error);
    EXPECT_THROW(wider.load_weights(path, {.by_name = true}, files), Error);
    EXPECT_EQ(wider.get_weights(), before);
    wider.load_weights(path, {.by_name = true, .skip_mismatch = true}, files);
    EXPECT_EQ(wider.get_weights(), before);  // None of the names has its shape here.
  }
  Sequential named(
      {Input({4}), Dense(3, {.name = "x"}), Dense(3, {.name = "y"}), Dense(2, {.name = "second"})});
  named.load_weights("m.weights.h5", {.by_name = true}, files);
  EXPECT_EQ(named.get_weights()[4], saved.get_weights()[2]);
}

TEST(KerasFiles, AModelThatWasNeverTrainedHasAFreshState) {
  MemoryFiles files;
  Sequential saved = small_model();
  saved.save("m.keras", files);
  Model loaded = load_model("m.keras", {}, files);
  ASSERT_EQ(loaded.compiled().slots().size(), 1 + 3 * 4);
  EXPECT_EQ(loaded.compiled().iterations(), 0);
  for (const VariablePtr& slot : loaded.compiled().slots()) {
    const std::span bytes(static_cast<const char*>(slot->tensor().data), slot->tensor().bytes());
    EXPECT_TRUE(std::ranges::all_of(bytes, [](char byte) { return byte == 0; })) << slot->name();
  }
  EXPECT_FALSE(load_model("m.keras", {.compile = false}, files).is_compiled());
}

// The old file or the new one, whatever fails, and nothing else beside it.
TEST(KerasFiles, AreWrittenWholeOrNotAtAll) {
  for (const char* path : {"m.keras", "m.h5", "m.weights.h5"}) {
    SCOPED_TRACE(path);
    Sequential old_model = small_model(), new_model = small_model();
    old_model.ensure_weights(1);
    new_model.ensure_weights(2);
    MemoryFiles counted;
    FaultyFiles counter(counted);
    new_model.save(path, counter);
    ASSERT_GT(counter.calls(), 4);
    for (const Fault fault : {Fault::no_space, Fault::input_output, Fault::crash}) {
      for (int64_t call = 1; call <= counter.calls(); ++call) {
        MemoryFiles disk;
        old_model.save(path, disk);
        FaultyFiles faulty(disk);
        faulty.fail_call(call, fault);
        bool failed = false;
        try {
          new_model.save(path, faulty);
        } catch (const FileError&) {
          failed = true;
        } catch (const Crash&) {
          failed = true;
        }
        for (const uint64_t seed : {0, 1, 2}) {
          const auto after = disk.after_crash(seed);
          MemoryFiles& read = fault == Fault::crash ? *after : disk;
          Sequential found = small_model();
          found.load_weights(path, {}, read);
          const bool is_old = found.get_weights() == old_model.get_weights();
          const bool is_new = found.get_weights() == new_model.get_weights();
          EXPECT_TRUE(is_old || is_new) << "call " << call << " of " << counter.calls();
          EXPECT_TRUE(is_new || failed || fault == Fault::crash);
        }
      }
    }
  }
}

TEST(KerasFiles, ShortWritesAreGoneOnWith) {
  Sequential model = small_model();
  MemoryFiles disk;
  FaultyFiles faulty(disk);
  faulty.fail_call(3, Fault::short_write);
  model.save("m.keras", faulty);
  EXPECT_EQ(load_model("m.keras", {}, disk).get_weights(), model.get_weights());
}

// Of an embedding, whose state files do not tell all about.
TEST(KerasFiles, ATableGoesOnWithItsState) {
  MemoryFiles files;
  const std::vector<int32_t> ids = {0, 1, 2, 3, 1, 1, 4, 5};
  const std::vector<float> y = {1, 0, 1, 1};
  const auto data = [&] {
    return data::arrays(
        {.x = {snug::Array(ids.data(), Shape{4, 2})}, .y = {snug::Array(y.data(), Shape{4, 1})}});
  };
  const auto make = [] {
    Sequential model({Input({2}, {.dtype = DType::int32}), Embedding(6, 3), Flatten(), Dense(1)});
    model.compile({.optimizer = Adam(), .loss = "mse"});
    return model;
  };
  const FitOptions options{.batch_size = 2, .epochs = 2, .shuffle = false, .verbose = 0};
  Sequential one = make();
  one.fit(data(), options);
  one.save("m.keras", files);
  one.fit(data(), options);
  Model two = load_model("m.keras", {}, files);
  two.fit(data(), options);
  EXPECT_EQ(one.get_weights(), two.get_weights());
}

TEST(ModelCheckpoint, SavesByEpochAndByTheBest) {
  const TempDir folder;
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8}, y = {1, 2, 3, 4};
  const auto data = data::arrays(
      {.x = {snug::Array(x.data(), Shape{2, 4})}, .y = {snug::Array(y.data(), Shape{2, 2})}});
  Sequential model = small_model();
  model.fit(
      data,
      {.epochs = 3,
       .callbacks = {ModelCheckpoint(folder / "at_{epoch:02d}_{loss:.1f}.keras"),
                     ModelCheckpoint(
                         folder / "best.weights.h5",
                         {.monitor = "loss", .save_best_only = true, .save_weights_only = true})},
       .verbose = 0});
  const std::vector<std::string> files = real_files().list(folder.path());
  ASSERT_EQ(files.size(), 4);
  EXPECT_TRUE(files[0].starts_with("at_01_"));
  EXPECT_TRUE(files[2].starts_with("at_03_"));
  EXPECT_EQ(files[3], "best.weights.h5");
  EXPECT_EQ(load_model(folder / files[2]).get_weights(), model.get_weights());
  EXPECT_THROW(ModelCheckpoint("m.keras", {.save_weights_only = true}), Error);
  EXPECT_THROW(ModelCheckpoint("m.txt"), Error);
  EXPECT_THROW(model.fit(data, {.callbacks = {ModelCheckpoint("{nothing}.keras")}, .verbose = 0}),
               Error);
}

}  // namespace
}  // namespace snug::testing
