#include "snug/nn/loss_list.h"

#include <gtest/gtest.h>

#include <variant>

#include "snug/nn/metrics.h"

namespace snug {
namespace {

using Setting = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>,
                             std::vector<double>, std::optional<bool>, std::optional<int64_t>,
                             std::optional<double>, std::optional<std::vector<int64_t>>,
                             std::optional<std::vector<double>>, std::vector<std::vector<int64_t>>>;
using Settings = std::vector<std::pair<std::string, Setting>>;

// Writes down what it sees, or puts what was written in its place.
class SettingsCopier final : public SettingVisitor {
 public:
  explicit SettingsCopier(const Settings* from = nullptr) : from_(from) {}

  void visit(std::string_view name, bool& value) override { copy(name, value); }
  void visit(std::string_view name, int64_t& value) override { copy(name, value); }
  void visit(std::string_view name, double& value) override { copy(name, value); }
  void visit(std::string_view name, std::string& value) override { copy(name, value); }
  void visit(std::string_view name, std::vector<int64_t>& value) override { copy(name, value); }
  void visit(std::string_view name, std::vector<double>& value) override { copy(name, value); }
  void visit(std::string_view name, std::optional<bool>& value) override { copy(name, value); }
  void visit(std::string_view name, std::optional<int64_t>& value) override { copy(name, value); }
  void visit(std::string_view name, std::optional<double>& value) override { copy(name, value); }
  void visit(std::string_view name, std::optional<std::vector<int64_t>>& value) override {
    copy(name, value);
  }
  void visit(std::string_view name, std::optional<std::vector<double>>& value) override {
    copy(name, value);
  }
  void visit(std::string_view name, std::vector<std::vector<int64_t>>& value) override {
    copy(name, value);
  }
  void visit(std::string_view, Family, ConfigurablePtr&) override {
    FAIL() << "no loss or metric holds an object";
  }

  const Settings& seen() const { return seen_; }

 private:
  template <typename T>
  void copy(std::string_view name, T& value) {
    if (from_ != nullptr) value = std::get<T>((*from_)[seen_.size()].second);
    seen_.emplace_back(name, value);
  }

  const Settings* from_;
  Settings seen_;
};

Settings settings_of(Configurable& object) {
  SettingsCopier writer;
  object.settings(writer);
  return writer.seen();
}

// Into a default-made object of the class, and out of it again.
template <typename Make>
void expect_round_trip(Configurable& object, const Make& make) {
  SCOPED_TRACE(object.class_name());
  const auto copy = make(object.class_name());
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->class_name(), object.class_name());
  const Settings settings = settings_of(object);
  SettingsCopier reader(&settings);
  copy->settings(reader);
  EXPECT_EQ(settings_of(*copy), settings);
}

std::vector<std::string> names_of(Configurable& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : settings_of(object)) names.push_back(name);
  return names;
}

TEST(LossList, EveryClassIsMadeByItsName) {
  for (const std::string_view name : loss_classes()) {
    const LossPtr loss = default_loss(name);
    ASSERT_TRUE(loss) << name;
    EXPECT_EQ(loss->class_name(), name);
    expect_round_trip(*loss, default_loss);
  }
  for (const std::string_view name : metric_classes()) {
    const MetricPtr metric = default_metric(name);
    ASSERT_TRUE(metric) << name;
    EXPECT_EQ(metric->class_name(), name);
    EXPECT_EQ(metric->fresh()->class_name(), name);
    expect_round_trip(*metric, default_metric);
  }
  EXPECT_FALSE(default_loss("mse"));
  EXPECT_FALSE(default_metric("accuracy"));
}

TEST(LossList, SettingsSurvive) {
  const Loss losses[] = {
      Huber(0.4, "sum"),
      BinaryCrossentropy({.from_logits = true, .label_smoothing = 0.1, .reduction = "mean"}),
      CategoricalCrossentropy({.label_smoothing = 0.2}),
      SparseCategoricalCrossentropy({.from_logits = true, .ignore_class = -1}),
      BinaryFocalCrossentropy({.alpha = 0.3, .gamma = 3, .apply_class_balancing = true}),
      CategoricalFocalCrossentropy({.alpha = 0.3, .from_logits = true}),
  };
  for (const Loss& loss : losses) {
    expect_round_trip(*loss.definition(), default_loss);
    EXPECT_NE(settings_of(*loss.definition()), settings_of(*default_loss(loss->class_name())));
  }
  const Metric all[] = {
      metrics::BinaryAccuracy(0.7),
      metrics::TopKCategoricalAccuracy(3),
      metrics::SparseTopKCategoricalAccuracy(2, "top2"),
      metrics::CategoricalCrossentropy({.from_logits = true, .label_smoothing = 0.1}),
      metrics::TruePositives({.thresholds = {{0.2, 0.8}}}),
      metrics::Recall({.top_k = 2, .class_id = 1}),
      metrics::AUC({.num_thresholds = 50, .curve = "PR", .summation_method = "majoring"}),
      metrics::AUC({.thresholds = {{0.2, 0.3, 0.9}}, .from_logits = true}),
      metrics::F1Score({.average = "macro", .threshold = 0.5}),
      metrics::MeanIoU(7),
  };
  for (const Metric& metric : all) {
    expect_round_trip(*metric.definition(), default_metric);
    EXPECT_EQ(settings_of(*metric->fresh()), settings_of(*metric.definition()));
    EXPECT_NE(settings_of(*metric.definition()),
              settings_of(*default_metric(metric->class_name())));
  }
}

TEST(LossList, SettingsAreKerasS) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(names_of(*default_loss("MeanSquaredError")), (Names{"name", "reduction"}));
  EXPECT_EQ(names_of(*default_loss("BinaryCrossentropy")),
            (Names{"name", "reduction", "from_logits", "label_smoothing", "axis"}));
  EXPECT_EQ(names_of(*default_loss("SparseCategoricalCrossentropy")),
            (Names{"name", "reduction", "from_logits", "ignore_class"}));
  EXPECT_EQ(names_of(*default_metric("BinaryAccuracy")), (Names{"name", "dtype", "threshold"}));
  EXPECT_EQ(names_of(*default_metric("Precision")),
            (Names{"name", "dtype", "thresholds", "top_k", "class_id"}));
}

}  // namespace
}  // namespace snug
