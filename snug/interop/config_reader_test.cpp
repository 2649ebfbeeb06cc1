#include "snug/interop/config_reader.h"

#include <gtest/gtest.h>

#include "snug/base/error.h"
#include "snug/interop/config_writer.h"
#include "snug/nn/initializer.h"

namespace snug {
namespace {

// One setting of each kind.
struct Everything final : Configurable {
  std::string_view class_name() const override { return "Everything"; }
  void settings(SettingVisitor& visitor) override {
    visitor.visit("flag", flag);
    visitor.visit("count", count);
    visitor.visit("rate", rate);
    visitor.visit("word", word);
    visitor.visit("activation", activation);
    visitor.visit("sizes", sizes);
    visitor.visit("rates", rates);
    visitor.visit("maybe_flag", maybe_flag);
    visitor.visit("maybe_count", maybe_count);
    visitor.visit("maybe_rate", maybe_rate);
    visitor.visit("maybe_sizes", maybe_sizes);
    visitor.visit("maybe_rates", maybe_rates);
    visitor.visit("rows", rows);
    visitor.visit("initializer", Family::initializer, initializer);
    visitor.visit("constraint", Family::constraint, constraint);
  }

  bool flag = false;
  int64_t count = 1;
  double rate = 0.5;
  std::string word = "word", activation = "relu";
  std::vector<int64_t> sizes = {1};
  std::vector<double> rates = {1};
  std::optional<bool> maybe_flag;
  std::optional<int64_t> maybe_count = 3;
  std::optional<double> maybe_rate;
  std::optional<std::vector<int64_t>> maybe_sizes;
  std::optional<std::vector<double>> maybe_rates;
  std::vector<std::vector<int64_t>> rows;
  ConfigurablePtr initializer, constraint;
};

Everything read(const char* text) {
  Everything object;
  const Json config = Json::parse(text);
  read_config(object, config, "thing");
  return object;
}

std::string refusal(const char* text) {
  try {
    read(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "it was read";
}

TEST(ConfigReader, LeavesWhatIsNotGiven) {
  const Everything object = read("{}");
  EXPECT_FALSE(object.flag);
  EXPECT_EQ(object.count, 1);
  EXPECT_EQ(object.word, "word");
  EXPECT_EQ(object.maybe_count, 3);
}

TEST(ConfigReader, ReadsEveryKind) {
  const Everything object = read(R"({"flag": true, "count": 7, "rate": 2, "word": "other",
      "activation": "tanh", "sizes": [2, 3], "rates": [0.5, 1], "maybe_flag": true,
      "maybe_count": 9, "maybe_rate": 0.25, "maybe_sizes": [4], "maybe_rates": [1.5],
      "rows": [[0, 1], [2, 3]], "initializer": {"class_name": "HeNormal", "config": {"seed": 3}},
      "constraint": null})");
  EXPECT_TRUE(object.flag);
  EXPECT_EQ(object.count, 7);
  EXPECT_EQ(object.rate, 2);
  EXPECT_EQ(object.word, "other");
  EXPECT_EQ(object.activation, "tanh");
  EXPECT_EQ(object.sizes, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(object.rates, (std::vector<double>{0.5, 1}));
  EXPECT_EQ(object.maybe_flag, true);
  EXPECT_EQ(object.maybe_count, 9);
  EXPECT_EQ(object.maybe_rate, 0.25);
  EXPECT_EQ(object.maybe_sizes, std::vector<int64_t>{4});
  EXPECT_EQ(object.maybe_rates, std::vector<double>{1.5});
  EXPECT_EQ(object.rows, (std::vector<std::vector<int64_t>>{{0, 1}, {2, 3}}));
  EXPECT_EQ(object.initializer->class_name(), "HeNormal");
}

TEST(ConfigReader, ReadsTheFormsThatKerasHas) {
  EXPECT_EQ(read(R"({"count": 25.0})").count, 25);
  EXPECT_EQ(read(R"({"sizes": 3})").sizes, std::vector<int64_t>{3});
  EXPECT_EQ(read(R"({"sizes": null})").sizes, std::vector<int64_t>{});
  EXPECT_EQ(read(R"({"rates": 0.5})").rates, std::vector<double>{0.5});
  EXPECT_EQ(read(R"({"maybe_count": null})").maybe_count, std::nullopt);
  EXPECT_EQ(read(R"({"activation": null})").activation, "linear");
  EXPECT_EQ(read(R"({"word": null})").word, "");
  EXPECT_EQ(read(R"({"activation": {"class_name": "function", "config": "gelu"}})").activation,
            "gelu");
  EXPECT_EQ(read(R"({"initializer": "zeros"})").initializer->class_name(), "Zeros");
  EXPECT_EQ(read(R"({"initializer": null})").initializer, nullptr);
}

TEST(ConfigReader, RefusesValuesOfTheWrongKind) {
  EXPECT_EQ(refusal(R"({"flag": 1})"), "thing: flag is 1; Snug expects true or false");
  EXPECT_EQ(refusal(R"({"count": "7"})"), "thing: count is \"7\"; Snug expects a whole number");
  EXPECT_EQ(refusal(R"({"count": 1.5})"), "thing: count is 1.5; Snug expects a whole number");
  EXPECT_EQ(refusal(R"({"count": 1e300})"), "thing: count is 1e+300; Snug expects a whole number");
  EXPECT_EQ(refusal(R"({"count": 18446744073709551615})"),
            "thing: count is 18446744073709551615; Snug expects a whole number");
  EXPECT_EQ(refusal(R"({"count": 99999999999})"),
            "thing: count is 99999999999; Snug expects a smaller number");
  EXPECT_EQ(refusal(R"({"rate": null})"), "thing: rate is null; Snug expects a number");
  EXPECT_EQ(refusal(R"({"word": [1]})"), "thing: word is [1]; Snug expects a name");
  EXPECT_EQ(refusal(R"({"sizes": [1, "x"]})"),
            "thing: sizes is [1,\"x\"]; Snug expects whole numbers");
  EXPECT_EQ(refusal(R"({"sizes": [2000000000, 2000000000, 2000000000]})"),
            "thing: sizes is [2000000000,2000000000,2000000000]; Snug expects smaller numbers");
  EXPECT_EQ(refusal(R"({"sizes": [1, 1, 1, 1, 1, 1, 1, 1, 1]})"),
            "thing: sizes is [1,1,1,1,1,1,1,1,1]; Snug expects smaller numbers");
  EXPECT_EQ(refusal(R"({"rates": ["x"]})"), "thing: rates is [\"x\"]; Snug expects numbers");
  EXPECT_EQ(refusal(R"({"rows": 3})"), "thing: rows is 3; Snug expects rows of whole numbers");
  EXPECT_EQ(refusal(R"({"rows": [["x"]]})"),
            "thing: rows is [[\"x\"]]; Snug expects rows of whole numbers");
  EXPECT_EQ(refusal("[]"), "thing: its config is [], not a map; the file is damaged");
}

TEST(ConfigReader, RefusesWhatSnugLacksByName) {
  EXPECT_NE(refusal(R"({"constraint": {"class_name": "MaxNorm"}})").find("no constraints"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"initializer": {"class_name": "Mine"}})").find("thing: initializer: "),
            std::string::npos);
  EXPECT_NE(refusal(R"({"initializer": {"class_name": "Mine", "registered_name": "A>Mine"}})")
                .find("custom class (A>Mine)"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"initializer": 3})").find("no Keras object"), std::string::npos);
  EXPECT_NE(refusal(R"({"activation": {"class_name": "LeakyReLU", "config": {}}})")
                .find("put that layer behind this one"),
            std::string::npos);
  EXPECT_EQ(refusal(R"({"lora_rank": 4})"),
            "thing: it has the setting lora_rank = 4, which Snug lacks; save the model without it");
}

TEST(ConfigReader, LetsNewcomersPassThatSayNothing) {
  for (const char* text :
       {R"({"quantization_config": null})", R"({"renorm": false})", R"({"lists": []})",
        R"({"maps": {}})", R"({"decay": 0.0})", R"({"renorm_momentum": 0.99})",
        R"({"is_legacy_optimizer": false})", R"({"data_format": "channels_last"})"})
    EXPECT_EQ(refusal(text), "it was read") << text;
  EXPECT_NE(refusal(R"({"data_format": "channels_first"})"), "it was read");
}

TEST(ConfigReader, CutsLongValuesInMessages) {
  const std::string text = "{\"more\": \"" + std::string(1000, 'x') + "\"}";
  EXPECT_LT(refusal(text.c_str()).size(), 200);
}

TEST(ConfigWriter, WritesWhatTheReaderReads) {
  Everything object;
  object.flag = true;
  object.maybe_rate = 0.125;
  object.rows = {{1, 2}, {3}};
  object.initializer = make_initializer("glorot_uniform");
  const OrderedJson written = config_of(object);
  EXPECT_EQ(written["flag"], true);
  EXPECT_EQ(written["maybe_flag"], nullptr);
  EXPECT_EQ(written["maybe_rate"], 0.125);
  EXPECT_EQ(written["constraint"], nullptr);
  EXPECT_EQ(written["initializer"]["module"], "keras.initializers");
  EXPECT_EQ(written["initializer"]["class_name"], "GlorotUniform");
  EXPECT_EQ(written["initializer"]["registered_name"], nullptr);
  Everything again = read(written.dump().c_str());
  EXPECT_EQ(config_of(again), written);
}

TEST(ConfigWriter, WritesAnEmptyWordAsNull) {
  Everything object;
  object.word = "";
  EXPECT_EQ(config_of(object)["word"], nullptr);
}

TEST(Json, IsRefusedWhereItIsNone) {
  for (const char* text : {"", "{", "[1,]", "nul", "\"\\x\"", "{\"a\": NaN}", "01"})
    EXPECT_THROW(parse_json(text, "test"), Error) << text;
  EXPECT_EQ(parse_json("{\"a\": [1, 2.5, null]}", "test")["a"].size(), 3);
}

TEST(Json, IsRefusedWhereItIsTooMuch) {
  const std::string deep = std::string(110, '[') + std::string(110, ']');
  EXPECT_THROW(parse_json(deep, "test"), Error);
  EXPECT_NO_THROW(parse_json(deep.substr(15, 190), "test"));
}

TEST(Json, TextsAreEmptyWhereTheyAreNotTexts) {
  const Json object = {{"a", "text"}, {"b", 1}};
  EXPECT_EQ(text_at(object, "a"), "text");
  EXPECT_EQ(text_at(object, "b"), "");
  EXPECT_EQ(text_at(object, "c"), "");
  EXPECT_EQ(text_at(Json(3), "a"), "");
}

}  // namespace
}  // namespace snug
