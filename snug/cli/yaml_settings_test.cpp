#include "snug/cli/yaml_settings.h"

#include <gtest/gtest.h>

#include "snug/cli/message_testing.h"
#include "snug/nn/initializer.h"
#include "snug/nn/visit_settings.h"

namespace snug::cli {
namespace {

// One setting of each kind.
struct Everything final : Configurable {
  std::string_view class_name() const override { return "Everything"; }
  void settings(SettingVisitor& visitor) override {
    visitor.visit("name", name);
    visitor.visit("units", units);
    visitor.visit("rate", rate);
    visitor.visit("on", on);
    visitor.visit("size", size);
    visitor.visit("weights", weights);
    visitor.visit("borders", borders);
    visitor.visit("seed", seed);
    visit_initializer(visitor, "initializer", initializer);
    visit_regularizer(visitor, "regularizer", regularizer);
    visit_constraint(visitor, "constraint");
    if (units < 0) throw Error("units is {}", units);
  }

  std::string name;
  int64_t units = 1;
  double rate = 0;
  bool on = false;
  std::vector<int64_t> size;
  std::vector<double> weights;
  std::vector<std::vector<int64_t>> borders;
  std::optional<int64_t> seed = 7;
  InitializerPtr initializer;
  RegularizerPtr regularizer = l2();
};

void read(const std::string& text, Everything& object, const ReadOptions& options = {}) {
  const YamlValue value = parse_yaml(text, "f");
  read_settings(named_settings(value, "a thing"), object, options);
}

std::string message(const std::string& text) {
  return message_of([&] {
    Everything object;
    read(text, object);
  });
}

// Shows what an initializer was told.
struct Shown final : SettingVisitor {
  std::string text;
  void visit(std::string_view, bool&) override {}
  void visit(std::string_view, int64_t&) override {}
  void visit(std::string_view name, double& value) override {
    text += fmt::format("{}={} ", name, value);
  }
  void visit(std::string_view, std::string&) override {}
  void visit(std::string_view, std::vector<int64_t>&) override {}
  void visit(std::string_view, std::vector<double>&) override {}
  void visit(std::string_view, std::optional<bool>&) override {}
  void visit(std::string_view, std::optional<int64_t>&) override {}
  void visit(std::string_view, std::optional<double>&) override {}
  void visit(std::string_view, std::optional<std::vector<int64_t>>&) override {}
  void visit(std::string_view, std::vector<std::vector<int64_t>>&) override {}
  void visit(std::string_view, Family, ConfigurablePtr&) override {}
};

TEST(YamlSettings, ReadsEveryKind) {
  Everything object;
  read(R"(thing:
  {name: a, units: 3, rate: 1/4, on: true, size: [2, 3], weights: [0.5, 1],
   borders: [[1, 2], [3, 4]], seed: ~, initializer: {random_normal: {stddev: 0.5}},
   regularizer: null, constraint: null})",
       object);
  EXPECT_EQ(object.name, "a");
  EXPECT_EQ(object.units, 3);
  EXPECT_EQ(object.rate, 0.25);
  EXPECT_TRUE(object.on);
  EXPECT_EQ(object.size, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(object.weights, (std::vector<double>{0.5, 1}));
  EXPECT_EQ(object.borders, (std::vector<std::vector<int64_t>>{{1, 2}, {3, 4}}));
  EXPECT_EQ(object.seed, std::nullopt);
  ASSERT_NE(object.initializer, nullptr);
  EXPECT_EQ(object.initializer->class_name(), "RandomNormal");
  Shown shown;
  object.initializer->settings(shown);
  EXPECT_EQ(shown.text, "mean=0 stddev=0.5 ");
  EXPECT_EQ(object.regularizer, nullptr);
}

TEST(YamlSettings, ReadsTheMainSetting) {
  Everything object;
  read("thing: 5", object);
  EXPECT_EQ(object.units, 5);
  read("thing: 0.5", object, {.main_setting = "rate"});
  EXPECT_EQ(object.rate, 0.5);
  read("thing: {regularizer: {l2: 0.125}, borders: 2}", object);
  EXPECT_EQ(object.borders, (std::vector<std::vector<int64_t>>{{2}}));
  Shown shown;
  object.regularizer->settings(shown);
  EXPECT_EQ(shown.text, "l2=0.125 ");
  read("thing", object);
  EXPECT_EQ(object.units, 5);
}

TEST(YamlSettings, NamesWhatIsWrong) {
  EXPECT_EQ(message("thing:\n  unit: 3"),
            "f:2: \"unit\" is no setting of thing; did you mean units?");
  EXPECT_EQ(message("thing:\n  units: a"), "f:2: thing.units is \"a\"; it must be a whole number");
  EXPECT_EQ(message("thing:\n  on: 1\n  units: -3"),
            "f:2: thing.on is \"1\"; it must be true or false");
  EXPECT_EQ(message("thing:\n\n  units: -3"), "f:3: units is -3");
  EXPECT_EQ(message("thing:\n  initializer: {zeros: {a: 1}}"),
            "f:2: \"a\" is no setting of zeros, which has none");
  EXPECT_EQ(message("thing:\n  initializer: he_norml").find("f:2: "), 0u);
  EXPECT_EQ(message("thing:\n  constraint: unit_norm").find("f:2: thing.constraint is"), 0u);
  EXPECT_EQ(message("[a, b]"), "f:1: the run file is a list; it must be a thing");
  EXPECT_EQ(message("{a: 1, b: 2}"), "f:1: the run file is a map of settings; it must be a thing");
}

}  // namespace
}  // namespace snug::cli
