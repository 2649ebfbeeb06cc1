// Trajectories and schedules of a real Keras (tests/golden).

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "snug/testing/npz.h"
#include "snug/testing/optimizer_run.h"

namespace snug::testing {
namespace {

using Json = nlohmann::ordered_json;

// Fills settings from a Keras config, and writes down which names were asked for.
class ConfigReader final : public SettingVisitor {
 public:
  explicit ConfigReader(const Json& config) : config_(config) {}

  void visit(std::string_view name, bool& value) override { read(name, value); }
  void visit_own(std::string_view, bool&) override {}  // Keras has none.
  void visit(std::string_view name, int64_t& value) override { read(name, value); }
  void visit(std::string_view name, double& value) override { read(name, value); }
  void visit(std::string_view name, std::string& value) override { read(name, value); }
  void visit(std::string_view name, std::vector<int64_t>& value) override { read(name, value); }
  void visit(std::string_view name, std::vector<double>& value) override { read(name, value); }
  void visit(std::string_view name, std::optional<bool>& value) override { read(name, value); }
  void visit(std::string_view name, std::optional<int64_t>& value) override { read(name, value); }
  void visit(std::string_view name, std::optional<double>& value) override { read(name, value); }
  void visit(std::string_view name, std::optional<std::vector<int64_t>>& value) override {
    read(name, value);
  }
  void visit(std::string_view name, std::vector<std::vector<int64_t>>& value) override {
    read(name, value);
  }
  void visit(std::string_view name, Family family, ConfigurablePtr& value) override {
    names.emplace_back(name);
    EXPECT_EQ(family, Family::schedule);
    ConfigReader reader(config_.at(std::string(name)).at("config"));
    value->settings(reader);
    EXPECT_EQ(reader.names, reader.keys());
  }

  std::vector<std::string> keys() const {
    std::vector<std::string> keys;
    for (const auto& [key, value] : config_.items()) keys.push_back(key);
    return keys;
  }

  std::vector<std::string> names;

 private:
  template <typename T>
  void read(std::string_view name, T& value) {
    names.emplace_back(name);
    value = config_.at(std::string(name)).get<T>();
  }
  template <typename T>
  void read(std::string_view name, std::optional<T>& value) {
    names.emplace_back(name);
    const Json& given = config_.at(std::string(name));
    value = given.is_null() ? std::nullopt : std::optional<T>(given.get<T>());
  }

  const Json& config_;
};

Optimizer from_config(const Json& described) {
  Optimizer optimizer = make_optimizer(described.at("class_name").get<std::string>());
  const Json& config = described.at("config");
  const Json& rate = config.at("learning_rate");
  if (rate.is_object()) {
    optimizer->set_learning_rate(make_schedule(rate.at("class_name").get<std::string>()));
  }
  ConfigReader reader(config);
  optimizer->settings(reader);
  EXPECT_EQ(reader.names, reader.keys());
  return optimizer;
}

const char* why_skipped(const std::string& name) {
  if (name.starts_with("ftrl")) return "no Ftrl";
  if (name.starts_with("lamb")) return "no Lamb";
  if (name.starts_with("adafactor")) return "no Adafactor";
  if (name.starts_with("loss_scale")) return "no LossScaleOptimizer";
  if (name.find("accumulate") != std::string::npos) return "a larger batch_size takes its place";
  return nullptr;
}

double relative_error(const Floats& actual, std::span<const float> expected) {
  double error = 0, largest = 0;
  EXPECT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const double distance = std::abs(static_cast<double>(actual[i]) - expected[i]);
    error = std::isnan(distance) ? distance : std::max(error, distance);
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
  }
  return largest == 0 ? error : error / largest;
}

Floats part(std::span<const float> all, size_t index, size_t size) {
  return {all.begin() + index * size, all.begin() + (index + 1) * size};
}

Floats floats(const Array& array) {
  const auto elements = array.as<float>();
  return {elements.begin(), elements.end()};
}

// The slots stand in the order of Keras's variables, but for the learning rate.
double slot_error(const OptimizerRun& run, const Json& variables, const Npz& file) {
  double error = 0;
  size_t slot = 1;
  EXPECT_EQ(file["var0"].as<int64_t>()[0], run.iterations());
  for (size_t i = 1; i < variables.size(); ++i) {
    const std::string name = variables[i].at("name");
    if (name == "learning_rate") continue;
    const Slot& described = run.nodes().slots.at(slot);
    if (described.role != Slot::Role::product) {
      EXPECT_EQ(described.name, name);
    }
    error = std::max(error, relative_error(run.values(run.nodes().variables[slot]),
                                           file["var" + std::to_string(i)].as<float>()));
    ++slot;
  }
  EXPECT_EQ(slot, run.nodes().slots.size());
  return error;
}

// The error of weights and slots over the 20 steps.
double run_case(const Json& described) {
  const Npz input(golden_path("optimizers/input.npz"));
  const Npz file(golden_path(described.at("file").get<std::string>()));
  OptimizerRun run(from_config(described.at("config")),
                   {{"a", input["w0"].type.shape, floats(input["w0"])},
                    {"b", input["w1"].type.shape, floats(input["w1"])}});
  double error = 0;
  for (size_t t = 0; t < 20; ++t) {
    run.step(
        {{part(input["g0"].as<float>(), t, 20), {}}, {part(input["g1"].as<float>(), t, 7), {}}});
    error =
        std::max(error, relative_error(run.weight_values(0), part(file["w0"].as<float>(), t, 20)));
    error =
        std::max(error, relative_error(run.weight_values(1), part(file["w1"].as<float>(), t, 7)));
  }
  error = std::max(error, slot_error(run, described.at("variables"), file));
  if (!file.contains("w0_ema_final")) return error;
  OptimizerDefinition::finalize(run.slots(Slot::Role::average),
                                std::vector<Tensor>{run.weight(0), run.weight(1)});
  error = std::max(error, relative_error(run.weight_values(0), file["w0_ema_final"].as<float>()));
  return std::max(error, relative_error(run.weight_values(1), file["w1_ema_final"].as<float>()));
}

TEST(Golden, OptimizersFollowKeras) {
  const Json index = Json::parse(read_text(golden_path("optimizers/index.json")));
  int covered = 0, exact = 0;
  for (const Json& described : index) {
    const std::string name = described.at("name");
    SCOPED_TRACE(name);
    if (const char* reason = why_skipped(name)) {
      std::printf("  %s is left out: %s\n", name.c_str(), reason);
      continue;
    }
    const double error = run_case(described);
    // Closer than keras.md 4.7 asks for: what a float32 rounding here or there can do.
    EXPECT_LE(error, name == "adam" || name == "adam_default" ? 0 : 2e-6);
    covered += 1;
    exact += error == 0;
    std::printf("  %-28s %.2g\n", name.c_str(), error);
  }
  std::printf("  %d of %zu cases, %d bit for bit\n", covered, index.size(), exact);
}

TEST(Golden, SchedulesFollowKeras) {
  const Json index = Json::parse(read_text(golden_path("schedules.json")));
  for (const Json& described : index) {
    SCOPED_TRACE(described.at("name").get<std::string>());
    const SchedulePtr schedule = make_schedule(described.at("class_name").get<std::string>());
    ConfigReader reader(described.at("config"));
    schedule->settings(reader);
    schedule->check();
    EXPECT_EQ(reader.names, reader.keys());
    const auto steps = described.at("steps").get<std::vector<int64_t>>();
    const auto values = described.at("values_float32").get<Floats>();
    const float largest = *std::ranges::max_element(values);
    for (size_t i = 0; i < steps.size(); ++i) {
      EXPECT_NEAR(schedule->at(steps[i]), values[i], 1e-6 * largest) << "step " << steps[i];
    }
  }
  std::printf("  %zu schedules\n", index.size());
}

}  // namespace
}  // namespace snug::testing
