#include "snug/cli/yaml_value.h"

#include <gtest/gtest.h>

#include <array>

#include "snug/cli/message_testing.h"

namespace snug::cli {
namespace {

YamlValue parse(const std::string& text) { return parse_yaml(text, "run.yaml"); }

TEST(YamlValue, KnowsWhereEveryValueStands) {
  const YamlValue root = parse("fit:\n  epochs: 3\n  metrics: [a,\n    b]\n");
  const YamlValue* fit = root.find("fit");
  ASSERT_NE(fit, nullptr);
  EXPECT_EQ(fit->find("epochs")->where, "run.yaml:2");
  EXPECT_EQ(fit->find("epochs")->path, "fit.epochs");
  EXPECT_EQ(fit->find("metrics")->list[1].where, "run.yaml:4");
  EXPECT_EQ(fit->find("metrics")->list[1].path, "fit.metrics.1");
  EXPECT_EQ(fit->find("loss"), nullptr);
}

TEST(YamlValue, ReadsNumbers) {
  const YamlValue root = parse("{i: 32, e: 1e6, d: 1e-3, f: 1/255, b: true, m: 1.5GiB, l: [1, 2]}");
  EXPECT_EQ(root.find("i")->as_int(), 32);
  EXPECT_EQ(root.find("e")->as_int(), 1'000'000);
  EXPECT_EQ(root.find("d")->as_double(), 1e-3);
  EXPECT_EQ(root.find("f")->as_double(), 1.0 / 255);
  EXPECT_TRUE(root.find("b")->as_bool());
  EXPECT_EQ(root.find("m")->as_bytes(), 1536 << 20);
  EXPECT_EQ(root.find("l")->as_ints(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(root.find("i")->as_ints(), (std::vector<int64_t>{32}));
}

TEST(YamlValue, RefusesTheWrongKind) {
  const YamlValue root = parse("a: x\nb: 1.5\nc: [1]\nd: 1/0\ne: '3'\nf: nan\n");
  const auto message = [&](const char* key, auto read) {
    return message_of([&] { read(*root.find(key)); });
  };
  const auto as_int = [](const YamlValue& v) { v.as_int(); };
  const auto as_double = [](const YamlValue& v) { v.as_double(); };
  EXPECT_EQ(message("a", as_int), "run.yaml:1: a is \"x\"; it must be a whole number");
  EXPECT_EQ(message("b", as_int), "run.yaml:2: b is \"1.5\"; it must be a whole number");
  EXPECT_EQ(message("c", as_double), "run.yaml:3: c is a list; it must be a number");
  EXPECT_EQ(message("d", as_double), "run.yaml:4: d is \"1/0\"; it must be a number");
  EXPECT_EQ(message("e", as_int),
            "run.yaml:5: e is \"3\" in quotes, which make it a word; it must be a whole number: "
            "write it without them");
  EXPECT_EQ(message("f", as_double), "run.yaml:6: f is \"nan\"; it must be a number");
  EXPECT_EQ(message("a", [](const YamlValue& v) { v.as_bool(); }),
            "run.yaml:1: a is \"x\"; it must be true or false");
  EXPECT_EQ(message("c", [](const YamlValue& v) { v.as_text(); }),
            "run.yaml:3: c is a list; it must be a word");
}

TEST(YamlValue, NamesTheNearestWord) {
  const YamlValue root = parse("epochs: 1\nbach_size: 3\n");
  constexpr std::array<std::string_view, 3> words = {"epochs", "batch_size", "seed"};
  EXPECT_EQ(message_of([&] { expect_keys(root, words, "setting of fit"); }),
            "run.yaml:2: \"bach_size\" is no setting of fit; did you mean batch_size?");
}

TEST(ParseYaml, RefusesWhatIsNoRunFile) {
  EXPECT_EQ(message_of([] { parse("a: 1\nb: 2\na: 3\n"); }),
            "run.yaml:3: \"a\" is given twice (first at run.yaml:1); remove one of them");
  EXPECT_NE(message_of([] { parse("a: [1, 2\nb: 3\n"); }).find("this is no YAML"),
            std::string::npos);
  EXPECT_EQ(message_of([] { parse("a: b: c\n"); }).find("run.yaml:1: "), 0u);
  for (const char* text : {"a: 1\n---\nb: 2\n", ",a: 1\n"}) {
    EXPECT_NE(message_of([&] { parse(text); }).find("several documents"), std::string::npos);
  }
  EXPECT_EQ(message_of([] { parse("]\n"); }).find("run.yaml:1: this is no YAML"), 0u);
  EXPECT_NE(message_of([] { parse(std::string(20'000, '[')); }), "nothing");
}

TEST(ParseYaml, StopsAliasesThatGrow) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 8; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int j = 0; j < 9; ++j) text += ", " + last;
    text += "]\n";
  }
  EXPECT_NE(message_of([&] { parse(text); }).find("too large"), std::string::npos);
}

// As the run file of a table with many columns has them.
TEST(ParseYaml, TakesAsManyValuesAsAreWrittenDown) {
  std::string text = "columns:\n";
  for (int i = 0; i < 34'000; ++i)
    text += fmt::format("  c{}:\n    use: standardise\n    missing: mean\n", i);
  const YamlValue value = parse(text);
  EXPECT_EQ(value.find("columns")->items.size(), 34'000u);
  EXPECT_NE(message_of([&] { parse(text + "  c7: drop\n"); }).find("\"c7\" is given twice"),
            std::string::npos);
}

TEST(ParseYaml, RoundTrip) {
  const std::string text =
      "data:\n  x: a.npy\nmodel:\n  - dense: 3\n  - flatten\nfit:\n  n: [1, 2]\n";
  EXPECT_EQ(yaml_text(parse(text)), text);
  EXPECT_EQ(yaml_text(parse(yaml_text(parse("{a: '1', b: ~}")))), "a: \"1\"\nb: ~\n");
}

TEST(Override, ReplacesAndMakes) {
  YamlValue root = parse("model: [{dropout: 0.5}]\nfit: {optimizer: adam}\n");
  override_value(root, {.path = "fit.epochs", .value = "3", .place = "--epochs 3"});
  override_value(root, {.path = "fit.optimizer.adam.beta_1", .value = "0.8", .place = "o"});
  override_value(root, {.path = "model.0.dropout", .value = "0.25", .place = "m"});
  EXPECT_EQ(root.find("fit")->find("epochs")->where, "--epochs 3");
  EXPECT_EQ(root.find("fit")->find("epochs")->as_int(), 3);
  EXPECT_EQ(root.find("fit")->find("optimizer")->find("adam")->find("beta_1")->as_double(), 0.8);
  EXPECT_EQ(root.find("model")->list[0].find("dropout")->as_double(), 0.25);
}

TEST(Override, NamesItsOwnPlace) {
  YamlValue root = parse("model: [{dropout: 0.5}]\n");
  EXPECT_EQ(message_of([&] {
              override_value(root, {"model.1.dropout", "1", "model.1.dropout=1"});
            }),
            "model.1.dropout=1: model is a list of 1; name one by its number, 0 to 0");
  EXPECT_EQ(message_of([&] {
              override_value(root, {"fit.a", "[", "fit.a=["});
            }).find("fit.a=[: "),
            0u);
}

TEST(Placed, GivesAPlaceOnce) {
  EXPECT_EQ(message_of([] { placed("here", [] { throw Error("wrong"); }); }), "here: wrong");
  EXPECT_EQ(message_of([] { placed("a", [] { placed("b", [] { throw Error("wrong"); }); }); }),
            "b: wrong");
  EXPECT_THROW(placed("here", [] { throw BudgetError("no"); }), BudgetError);
}

}  // namespace
}  // namespace snug::cli
