// Files that mean harm, or are damaged: each is refused with its reason, as the user's kind of
// error, and nothing is written or allocated for it.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "keras_config.h"
#include "raw_zip.h"
#include "snug/base/heap.h"
#include "snug/base/memory.h"
#include "snug/interop/hdf5.h"
#include "snug/interop/zip_archive.h"
#include "snug/nn/dense.h"
#include "snug/testing/memory_files.h"
#include "snug/train/model.h"

namespace snug::testing {
namespace {

// The parts of a sound model.
struct Sound {
  Sound() {
    Sequential model({Input({4}), Dense(3, {.activation = "relu"}), Dense(2)}, "sound");
    model.compile({.optimizer = Adam(), .loss = "mse", .metrics = {"accuracy"}});
    MemoryFiles files;
    model.save("m.keras", files);
    model.save_weights("m.weights.h5", files);
    model.save("m.h5", files);
    keras = read_text(files, "m.keras");
    weights = read_text(files, "m.weights.h5");
    legacy = read_text(files, "m.h5");
    const std::unique_ptr<File> file = files.open("m.keras", OpenMode::read);
    config = snug::Json::parse(ZipReader(*file).text("config.json", 1 << 20));
  }
  std::string keras, weights, legacy;
  snug::Json config;
};

const Sound& sound() {
  static const Sound sound;
  return sound;
}

std::string archive(const std::string& config, const std::string& weights) {
  return raw_zip({{"metadata.json", R"({"keras_version": "3.15.1"})"},
                  {"config.json", config},
                  {"model.weights.h5", weights}});
}

// The reason; empty where it was loaded.
std::string refusal(const std::string& bytes, const std::string& path = "m.keras") {
  MemoryFiles files;
  write_text(files, path, bytes);
  try {
    load_model(path, {}, files);
    return {};
  } catch (const InternalError& error) {
    ADD_FAILURE() << "an error of ours: " << error.what();
  } catch (const Error& error) {
    EXPECT_EQ(files.list("").size(), 1) << "something was written";
    return error.what();
  }
  return {};
}

struct Case {
  std::string name, bytes, reason;
  std::string path = "m.keras";
};

Case with_config(const std::string& name, const std::function<void(snug::Json&)>& change,
                 const std::string& reason) {
  snug::Json config = sound().config;
  change(config);
  return {name, archive(config.dump(), sound().weights), reason};
}

snug::Json& layer(snug::Json& config, size_t i) { return config["config"]["layers"][i]; }

auto set(size_t i, const char* key, const snug::Json& value) {
  return [=](snug::Json& config) { layer(config, i)["config"][key] = value; };
}

// Code and classes that are not Keras's own.
std::vector<Case> class_cases() {
  return {
      with_config(
          "lambda",
          [](auto& c) {
            layer(c, 1) = {
                {"module", "keras.layers"},
                {"class_name", "Lambda"},
                {"config",
                 {{"name", "evil"},
                  {"function", {{"class_name", "__lambda__"}, {"config", {{"code", "4wEAAAA"}}}}}}},
                {"registered_name", nullptr}};
          },
          "Lambda, which holds Python code"),
      with_config(
          "lambda activation",
          set(1, "activation", {{"class_name", "__lambda__"}, {"config", {{"code", "4w"}}}}),
          "activation"),
      with_config(
          "module path",
          [](auto& c) {
            layer(c, 1)["module"] = "os";
            layer(c, 1)["class_name"] = "system";
          },
          "a class of os"),
      with_config(
          "registered custom",
          [](auto& c) {
            layer(c, 1)["class_name"] = "Mine";
            layer(c, 1)["registered_name"] = "Pack>Mine";
          },
          "custom class (Pack>Mine)"),
      with_config(
          "unknown layer", [](auto& c) { layer(c, 1)["class_name"] = "Conv4D"; }, "no such layer"),
      with_config(
          "subclassed model",
          [](auto& c) {
            c["class_name"] = "MyModel";
            c["module"] = "app";
          },
          "Python classes"),
      with_config(
          "custom loss",
          [](auto& c) {
            c["compile_config"]["loss"] = {{"class_name", "function"}, {"config", "Pack>mine"}};
          },
          "no loss"),
      with_config(
          "unknown optimizer",
          [](auto& c) { c["compile_config"]["optimizer"]["class_name"] = "Ftrl"; },
          "optimizer (Ftrl)"),
  };
}

// Settings that Snug lacks or that no machine holds.
std::vector<Case> setting_cases() {
  return {
      with_config(
          "half precision",
          set(1, "dtype", {{"class_name", "DTypePolicy"}, {"config", {{"name", "mixed_float16"}}}}),
          "mixed_float16"),
      with_config("string input", set(0, "dtype", "string"), "float32 and int32"),
      with_config("constraint",
                  set(1, "kernel_constraint",
                      {{"class_name", "MaxNorm"}, {"config", snug::Json::object()}}),
                  "no constraints"),
      with_config("unknown setting", set(1, "lora_rank", 4), "lora_rank = 4"),
      with_config("huge units", set(1, "units", 4611686018427387904), "smaller number"),
      with_config("least units", set(1, "units", std::numeric_limits<int64_t>::min()),
                  "smaller number"),
      with_config("many units", set(1, "units", 2147483648), "the file's layers/dense/vars/0"),
      with_config("huge input",
                  set(0, "batch_shape", {nullptr, 2147483647, 2147483647, 2147483647}),
                  "more than any machine"),
      with_config("negative input", set(0, "batch_shape", {nullptr, -4}),
                  "only the first may be open"),
      with_config("NaN shape", set(0, "batch_shape", {nullptr, "NaN"}),
                  "only the first may be open"),
      with_config("open axis", set(0, "batch_shape", {nullptr, nullptr}),
                  "only the first may be open"),
      with_config("ten axes", set(0, "batch_shape", {nullptr, 1, 1, 1, 1, 1, 1, 1, 1, 1}),
                  "up to 8"),
  };
}

// Configs that make no sense.
std::vector<Case> form_cases() {
  return {
      with_config("text for a number", set(1, "units", "64"), "a whole number"),
      with_config("fraction", set(1, "units", 2.5), "a whole number"),
      with_config(
          "no layers", [](auto& c) { c["config"]["layers"] = snug::Json::array(); }, "no layers"),
      with_config(
          "no input", [](auto& c) { c["config"]["layers"].erase(0); }, "no input"),
      with_config(
          "config is a list", [](auto& c) { c["config"] = snug::Json::array(); }, "no config"),
      with_config(
          "null", [](auto& c) { c = nullptr; }, "weights alone"),
      with_config(
          "same name",
          [](auto& c) { layer(c, 2)["config"]["name"] = layer(c, 1)["config"]["name"]; }, "twice"),
      with_config(
          "metric",
          [](auto& c) {
            c["compile_config"]["metrics"] =
                snug::Json::array({snug::Json{{"class_name", "Mine"}}});
          },
          "no such metric"),
      with_config(
          "layers of numbers",
          [](auto& c) {
            c["config"]["layers"] = {1, 2, 3};
          },
          "makes no sense"),
  };
}

// What is no JSON, or too much of it.
std::vector<Case> json_cases() {
  return {
      {"deep", archive(std::string(100'000, '[') + std::string(100'000, ']'), sound().weights),
       "deeper than"},
      {"deep objects",
       archive(
           [] {
             std::string s;
             for (int i = 0; i < 50'000; ++i) s += R"({"config":)";
             return s;
           }(),
           sound().weights),
       "deeper than"},
      {"many values",
       archive(
           "[" +
               [] {
                 std::string s;
                 for (int i = 0; i < 1'000'001; ++i) s += "0,";
                 return s;
               }() +
               "0]",
           sound().weights),
       "more than"},
      {"no JSON", archive("{\"class_name\": ", sound().weights), "not JSON"},
      {"no UTF-8", archive("\"\xff\xfe\"", sound().weights), "not JSON"},
  };
}

std::vector<Case> functional_cases() {
  const auto functional = [](const std::string& calls, const std::string& ends) {
    return archive(fmt::format(R"({{"class_name": "Functional", "config": {{"name": "f", "layers": [
      {{"class_name": "InputLayer", "name": "i", "inbound_nodes": [],
        "config": {{"batch_shape": [null, 4], "dtype": "float32", "name": "i"}}}},
      {{"class_name": "Dense", "name": "d", "config": {{"name": "d", "units": 4}},
        "inbound_nodes": {}}}],
      "input_layers": ["i", 0, 0], "output_layers": {}}}}})",
                               calls, ends),
                   sound().weights);
  };
  const auto from = [](const char* layer, int call, int output) {
    return fmt::format(
        R"([{{"args": [{{"class_name": "__keras_tensor__",
              "config": {{"keras_history": ["{}", {}, {}]}}}}], "kwargs": {{}}}}])",
        layer, call, output);
  };
  return {
      {"itself", functional(from("d", 0, 0), R"(["d", 0, 0])"), "from nowhere or from itself"},
      {"nobody", functional(from("x", 0, 0), R"(["d", 0, 0])"), "from nowhere or from itself"},
      {"no output", functional(from("i", 0, 3), R"(["d", 0, 0])"), "from nowhere or from itself"},
      {"bad end", functional(from("i", 0, 0), R"(["d", 9, 0])"), "names no tensor"},
      {"negative end", functional(from("i", 0, 0), R"(["d", -1, 0])"), "names no tensor"},
      {"no end", functional(from("i", 0, 0), "{}"), "output_layers are missing"},
      {"no calls", functional("[]", R"(["d", 0, 0])"), "nothing calls it"},
      {"slice",
       functional(R"([{"args": [{"class_name": "__slice__"}], "kwargs": {}}])", R"(["d", 0, 0])"),
       "do not take"},
      {"keyword",
       functional(R"([{"args": [["i", 0, 0]], "kwargs": {"causal": true}}])", R"(["d", 0, 0])"),
       "causal = true"},
      {"nothing", functional(R"([{"args": [], "kwargs": {}}])", R"(["d", 0, 0])"),
       "called on nothing"},
  };
}

std::vector<Case> zip_cases() {
  const std::string config = sound().config.dump(), weights = sound().weights;
  const RawMember good_config{"config.json", config}, good_weights{"model.weights.h5", weights};
  const auto with = [&](const RawMember& more) {
    return raw_zip({good_config, good_weights, more});
  };
  return {
      {"climbs out", with({"../../etc/passwd", "x"}), "leads out"},
      {"climbs out inside", with({"a/../../b", "x"}), "leads out"},
      {"absolute", with({"/etc/passwd", "x"}), "leads out"},
      {"drive", with({"C:evil", "x"}), "leads out"},
      {"backslashes", with({"..\\evil", "x"}), "leads out"},
      {"link", with({"assets", "/etc", 0, 0, 0120777u << 16}), "a link"},
      {"encrypted", with({"secret", "x", 0, 1}), "encrypted"},
      {"twice", with({"config.json", "{}"}), "twice"},
      {"wrong checksum",
       raw_zip(
           {good_config, {.name = "model.weights.h5", .data = weights, .wrong_checksum = true}}),
       "model.weights.h5"},
      {"longer than it is",
       raw_zip({good_config, {.name = "model.weights.h5", .data = weights, .size = 1'000'000'000}}),
       "sizes differ"},
      {"expands",
       raw_zip({good_config,
                {.name = "model.weights.h5", .data = weights, .method = 8, .size = 500'000'000}}),
       "more than a hundredfold"},
      {"huge config", raw_zip({{"config.json", std::string(33 << 20, ' ')}, good_weights}),
       "reads up to"},
      {"unknown compression", raw_zip({{"config.json", config, 77}, good_weights}), "m.keras"},
      {"bad compression", raw_zip({{"config.json", config, 8}, good_weights}), "config.json"},
      {"no config", raw_zip({good_weights}), "config.json"},
      {"no weights", raw_zip({good_config}), "no model.weights.h5"},
      {"no HDF5", archive(config, "hello"), "m.keras"},
      {"empty file", "", "neither"},
      {"text", "hello, world", "neither"},
      {"only the end", sound().keras.substr(sound().keras.size() - 22), "damaged"},
      {"pickle", std::string("\x80\x04\x95", 3) + "cos\nsystem\n", "neither"},
  };
}

std::string patched(std::string bytes, size_t at, const std::string& by) {
  bytes.replace(at, by.size(), by);
  return bytes;
}

std::string number(uint64_t value, size_t bytes = 8) {
  return {reinterpret_cast<const char*>(&value), bytes};
}

std::vector<Case> hdf5_cases() {
  const std::string& h5 = sound().weights;
  const auto at = [&](const std::string& text, size_t from = 0) { return h5.find(text, from); };
  const auto file = [](const std::string& name, const std::string& bytes, const std::string& why) {
    return Case{name, archive(sound().config.dump(), bytes), why};
  };
  const std::string float32("\x11\x20\x1f\x00\x04\x00\x00\x00", 8);
  const std::string layout("\x03\x01", 2);
  const size_t type = at(float32), tree = at("TREE"), leaf = at("SNOD"), heap = at("HEAP");
  const size_t place = h5.find(layout, type), texts = at("GCOL");
  // The first dimension of the first array stands behind its rank.
  const size_t space = h5.rfind(std::string("\x01\x02\x00\x00\x00\x00\x00\x00", 8), type);
  const uint64_t root = *reinterpret_cast<const uint64_t*>(h5.data() + 64);
  return {
      file("newer", patched(h5, 8, "\x02"), "8-byte addresses"),
      file("cut off", h5.substr(0, h5.size() - 8), "cut off"),
      file("recursive", patched(h5, leaf + 16, number(root)), "inside itself"),
      file("soft link", patched(h5, leaf + 24, number(2, 4)), "a link to elsewhere"),
      file("tree in itself", patched(patched(h5, tree + 32, number(tree)), tree + 6, number(1, 2)),
           "without end"),
      file("tree of many", patched(h5, tree + 6, number(65535, 2)), ""),
      file("leaf outside", patched(h5, tree + 32, number(uint64_t{1} << 60)), "outside the file"),
      file("leaf of many", patched(h5, leaf + 6, number(65535, 2)), ""),
      file("name outside", patched(h5, leaf + 8, number(1 << 30)), "out of its place"),
      file("heap outside", patched(h5, heap + 8, number(uint64_t{1} << 40)), "outside the file"),
      file("negative heap", patched(h5, heap + 8, number(~uint64_t{0} - 100)), "outside the file"),
      file("header outside", patched(h5, leaf + 16, number(h5.size() - 4)), ""),
      file("huge shape", patched(h5, space + 8, number(uint64_t{1} << 62)), "no file holds"),
      file("negative shape", patched(h5, space + 8, number(~uint64_t{0})), "no file holds"),
      file("other shape", patched(h5, space + 8, number(7)), "bytes where"),
      file("double", patched(h5, type, std::string("\x11\x20\x3f\x00\x08", 5)), "bytes where"),
      file("integer", patched(h5, type, std::string("\x10\x08\x00\x00", 4)), "int32"),
      file("big-endian", patched(h5, type + 1, "\x21"), "unknown"),
      file("virtual", patched(h5, place, "\x04\x03"), "virtual"),
      file("chunked", patched(h5, place, std::string("\x03\x02", 2)), "too short"),
      file("elements outside", patched(h5, place + 2, number(h5.size() - 4)), "beyond the end"),
      file("many elements", patched(h5, place + 10, number(uint64_t{1} << 62)), "beyond the end"),
      file("external",
           patched(h5, h5.rfind(std::string("\x05\x00\x08\x00", 4), place),
                   std::string("\x07\x00", 2)),
           "another file"),
      file("filtered",
           patched(h5, h5.rfind(std::string("\x05\x00\x08\x00", 4), place),
                   std::string("\x0b\x00", 2)),
           "too short"),
      file("text outside", patched(h5, texts + 16 + 8, number(uint64_t{1} << 50)), "cut off"),
      file("no texts", patched(h5, texts, "XXXX"), "GCOL"),
      {"legacy cut off", sound().legacy.substr(0, 500), "cut off", "m.h5"},
      {"legacy lambda",
       [] {
         std::string h = sound().legacy;
         for (size_t i = h.find("\"Dense\""); i != std::string::npos; i = h.find("\"Dense\""))
           h.replace(i, 7, "\"LSTM\" ");
         return h;
       }(),
       "LSTM", "m.h5"},
  };
}

void check(const std::vector<Case>& cases) {
  for (const Case& hostile : cases) {
    SCOPED_TRACE(hostile.name);
    release_free_heap();  // A sanitizer keeps what was freed: it is not the next one's.
    const std::string reason = refusal(hostile.bytes, hostile.path);
    EXPECT_FALSE(reason.empty()) << "it was loaded";
    EXPECT_TRUE(reason.starts_with(hostile.path + ": ")) << reason;
    EXPECT_NE(reason.find(hostile.reason), std::string::npos) << reason;
  }
}

TEST(HostileFiles, TheSoundOneLoads) {
  EXPECT_EQ(refusal(archive(sound().config.dump(), sound().weights)), "");
  EXPECT_EQ(refusal(sound().legacy, "m.h5"), "");
}

TEST(HostileFiles, AreRefusedWithTheirReason) {
  sound();
  const int64_t before = peak_resident_bytes();
  size_t count = 0;
  for (const auto make_cases : {class_cases, setting_cases, form_cases, json_cases,
                                functional_cases, zip_cases, hdf5_cases}) {
    const std::vector<Case> cases = make_cases();
    check(cases);
    count += cases.size();
  }
  EXPECT_GE(count, 80);
  // The largest of them are 33 MiB and a million values, here in memory twice.
  EXPECT_LT(peak_resident_bytes() - before, int64_t{256} << 20);
}

// Wherever a file ends: refused, or, where only what nobody reads is missing, loaded.
TEST(HostileFiles, AreRefusedWhereverTheyEnd) {
  for (size_t size = 0; size < sound().keras.size(); size += 311)
    EXPECT_NE(refusal(sound().keras.substr(0, size)), "") << size;
  for (size_t size = 0; size < sound().legacy.size(); size += 311)
    EXPECT_NE(refusal(sound().legacy.substr(0, size), "m.h5"), "") << size;
}

// Any byte may be any other: it loads or is refused, and never is it our error.
TEST(HostileFiles, WithAnyByteChangedLoadOrAreRefused) {
  const std::string& h5 = sound().weights;
  for (size_t i = 0; i < h5.size(); i += 61) {
    std::string changed = h5;
    changed[i] = static_cast<char>(changed[i] ^ (1 << (i % 8)));
    refusal(archive(sound().config.dump(), changed));
  }
  std::string config = sound().config.dump();
  for (size_t i = 0; i < config.size(); i += 31) {
    std::string changed = config;
    changed[i] = static_cast<char>(' ' + (i * 7) % 90);
    refusal(archive(changed, h5));
  }
}

}  // namespace
}  // namespace snug::testing
