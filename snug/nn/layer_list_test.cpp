#include "snug/nn/layer_list.h"

#include <map>
#include <set>

#include "snug/testing/layer_call.h"

namespace snug::testing {
namespace {

// Writes every setting down as text; with `changed`, gives it another value first.
class SettingChanger final : public SettingVisitor {
 public:
  explicit SettingChanger(bool change) : change_(change) {}

  void visit(std::string_view name, bool& value) override {
    if (change_ && name != "rms_scaling") value = !value;
    note(name, value ? "true" : "false");
  }
  void visit(std::string_view name, int64_t& value) override {
    if (change_) value += 1;
    note(name, std::to_string(value));
  }
  void visit(std::string_view name, double& value) override {
    if (change_) value = value / 2 + 0.125;
    note(name, std::to_string(value));
  }
  void visit(std::string_view name, std::string& value) override {
    if (change_) value = other_words.count(value) ? other_words.at(value) : value;
    note(name, value);
  }
  void visit(std::string_view name, std::vector<int64_t>& value) override {
    if (change_ && value.empty()) value = {1};
    if (change_) value[0] += 1;
    note(name, fmt::format("{}", fmt::join(value, ",")));
  }
  void visit(std::string_view name, std::vector<double>& value) override {
    for (double& number : value) number = change_ ? number / 2 + 0.125 : number;
    note(name, fmt::format("{}", fmt::join(value, ",")));
  }
  void visit(std::string_view name, std::optional<bool>& value) override {
    note(name, value ? "set" : "none");
  }
  void visit(std::string_view name, std::optional<int64_t>& value) override {
    if (change_) value = value.value_or(0) + 1;
    note(name, value ? std::to_string(*value) : "none");
  }
  void visit(std::string_view name, std::optional<double>& value) override {
    if (change_) value = value.value_or(0) + 1;
    note(name, value ? std::to_string(*value) : "none");
  }
  void visit(std::string_view name, std::optional<std::vector<int64_t>>& value) override {
    if (change_) value = std::vector<int64_t>{1, 1};
    note(name, value ? fmt::format("{}", fmt::join(*value, ",")) : "none");
  }
  void visit(std::string_view name, std::optional<std::vector<double>>& value) override {
    if (change_) value = std::vector<double>{0.25, 0.5};
    note(name, value ? fmt::format("{}", fmt::join(*value, ",")) : "none");
  }
  void visit(std::string_view name, std::vector<std::vector<int64_t>>& value) override {
    if (change_) value[0][0] += 1;
    note(name, fmt::format("{},{}", value[0][0], value[1][1]));
  }
  void visit(std::string_view name, Family family, ConfigurablePtr& value) override {
    if (change_ && family == Family::initializer) value = make_initializer("he_normal");
    if (change_ && family == Family::regularizer) value = make_regularizer("l2");
    note(name, value ? std::string(value->class_name()) : "none");
  }

  std::vector<std::string> names;
  std::map<std::string, std::string> texts;

 private:
  void note(std::string_view name, const std::string& text) {
    names.emplace_back(name);
    texts[names.back()] = text;
  }

  const std::map<std::string, std::string> other_words = {{"valid", "same"},
                                                          {"linear", "relu"},
                                                          {"nearest", "bilinear"},
                                                          {"bilinear", "nearest"},
                                                          {"reflect", "constant"},
                                                          {"constant", "reflect"},
                                                          {"horizontal_and_vertical", "vertical"}};
  bool change_;
};

// Settings that have one right value.
const std::set<std::string> kFixed = {"data_format", "rms_scaling"};

TEST(LayerList, EverySettingIsWrittenAndReadBack) {
  for (const LayerEntry& entry : layer_list()) {
    SCOPED_TRACE(entry.class_name);
    const Layer layer = entry.make();
    SettingChanger before(false), change(true), after(false);
    layer->settings(before);
    layer->settings(change);
    layer->settings(after);
    EXPECT_EQ(before.names, after.names);
    EXPECT_EQ(change.texts, after.texts);
    EXPECT_EQ(std::set(before.names.begin(), before.names.end()).size(), before.names.size());
    for (const auto& [name, text] : before.texts) {
      if (kFixed.contains(name) || name.ends_with("_constraint")) continue;
      EXPECT_NE(text, after.texts[name]) << name;
    }
  }
}

TEST(LayerList, NamesAndMainSettings) {
  for (const LayerEntry& entry : layer_list()) {
    SCOPED_TRACE(entry.class_name);
    const Layer layer = entry.make();
    EXPECT_EQ(layer->class_name(), entry.class_name);
    EXPECT_EQ(&find_layer(entry.class_name), &entry);
    EXPECT_EQ(&find_layer(snake_case(entry.class_name)), &entry);
    EXPECT_FALSE(layer->is_operation());
    SettingChanger seen(false);
    layer->settings(seen);
    if (!entry.main_setting.empty()) {
      EXPECT_TRUE(seen.texts.contains(std::string(entry.main_setting)));
    }
  }
  EXPECT_EQ(find_layer("dropout").main_setting, "rate");
}

TEST(LayerList, UnknownNames) {
  EXPECT_EQ(error_of([] { find_layer("desne"); }),
            "there is no layer \"desne\"; did you mean \"dense\"?");
  EXPECT_EQ(error_of([] { find_layer("max_poling2d"); }),
            "there is no layer \"max_poling2d\"; did you mean \"max_pooling2d\"?");
  EXPECT_EQ(error_of([] { find_layer("MaxPoling2D"); }),
            "there is no layer \"MaxPoling2D\"; did you mean \"MaxPooling2D\"?");
}

// Gives one setting another value, of the kind that it is visited as.
class OneReader final : public SettingVisitor {
 public:
  struct Given {
    std::string text = "channels_first";
    std::vector<int64_t> list = {1, 2, 3};
    std::vector<std::vector<int64_t>> rows = {{1}, {2}, {3}};
    ConfigurablePtr object = make_regularizer("l2");
  };
  explicit OneReader(std::string_view setting) : setting_(setting) {}
  OneReader(std::string_view setting, const Given& given) : setting_(setting), given_(given) {}

  void visit(std::string_view, bool&) override {}
  void visit(std::string_view, int64_t&) override {}
  void visit(std::string_view, double&) override {}
  void visit(std::string_view name, std::string& value) override {
    if (name == setting_) value = given_.text;
  }
  void visit(std::string_view name, std::vector<int64_t>& value) override {
    if (name == setting_) value = given_.list;
  }
  void visit(std::string_view, std::vector<double>&) override {}
  void visit(std::string_view, std::optional<bool>&) override {}
  void visit(std::string_view, std::optional<int64_t>&) override {}
  void visit(std::string_view, std::optional<double>&) override {}
  void visit(std::string_view, std::optional<std::vector<int64_t>>&) override {}
  void visit(std::string_view, std::optional<std::vector<double>>&) override {}
  void visit(std::string_view name, std::vector<std::vector<int64_t>>& value) override {
    if (name == setting_) value = given_.rows;
  }
  void visit(std::string_view name, Family, ConfigurablePtr& value) override {
    if (name == setting_) value = given_.object;
  }

 private:
  std::string_view setting_;
  Given given_;
};

Shape with_setting(std::string_view layer, std::string_view setting, const OneReader::Given& given,
                   const Shape& row) {
  const Layer made = find_layer(layer).make();
  OneReader reader(setting, given);
  made->settings(reader);
  return result_of(made, row);
}

// A run file may give one number where Keras writes two or four.
TEST(LayerList, ShortForms) {
  EXPECT_EQ(with_setting("MaxPooling2D", "pool_size", {.list = {3}}, {9, 6, 1}),
            (Shape{kRows, 3, 2, 1}));
  EXPECT_EQ(with_setting("ZeroPadding1D", "padding", {.list = {3}}, {4, 1}), (Shape{kRows, 10, 1}));
  EXPECT_EQ(with_setting("ZeroPadding2D", "padding", {.rows = {{3}}}, {4, 4, 1}),
            (Shape{kRows, 10, 10, 1}));
  EXPECT_EQ(with_setting("ZeroPadding2D", "padding", {.rows = {{3, 1}}}, {4, 4, 1}),
            (Shape{kRows, 10, 6, 1}));
  EXPECT_EQ(with_setting("ZeroPadding2D", "padding", {.rows = {{3}, {1, 0}}}, {4, 4, 1}),
            (Shape{kRows, 10, 5, 1}));
}

std::string error_reading(std::string_view layer, std::string_view setting) {
  return error_of([&] {
    OneReader reader(setting);
    find_layer(layer).make()->settings(reader);
  });
}

TEST(LayerList, SettingsThatDoNotFit) {
  EXPECT_EQ(error_reading("Conv2D", "strides"), "strides: expected one number or two, got 3");
  EXPECT_EQ(error_reading("Conv1D", "strides"), "strides: expected one number, got 3");
  EXPECT_EQ(error_reading("ZeroPadding1D", "padding"),
            "padding: expected one number or two, got 3");
  EXPECT_EQ(error_reading("ZeroPadding2D", "padding"),
            "padding: expected {{top, bottom}, {left, right}}, got 3 lists");
  EXPECT_EQ(error_reading("Dot", "axes"), "axes: expected one number or two, got 3");
  EXPECT_EQ(error_reading("Dense", "kernel_initializer"), "kernel_initializer: it cannot be a L2");
  EXPECT_EQ(error_reading("Dense", "kernel_constraint"),
            "kernel_constraint: Snug has no constraints on weights; leave it out");
  expect_contains(error_reading("Conv2D", "data_format"), "\"channels_first\" is not supported");
}

}  // namespace
}  // namespace snug::testing
