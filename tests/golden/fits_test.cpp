// Whole fits of a real Keras: losses step by step, final weights, the optimizer's state, History,
// evaluate, predict and summary.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "keras_model.h"
#include "snug/data/arrays.h"
#include "snug/testing/npz.h"

namespace snug::testing {
namespace {

// What these need comes with later work.
const std::set<std::string> kSkipped = {"bigru", "lstm_classifier", "transformer"};
// Snug has no Ftrl: only what does not train is compared.
const std::set<std::string> kUntrained = {"separable"};

snug::Array rows_of(const Array& array, int64_t first, int64_t count) {
  Shape shape{count};
  for (int axis = 1; axis < array.type.shape.rank(); ++axis)
    shape.push_back(array.type.shape[axis]);
  const size_t row = array.data.size() / static_cast<size_t>(array.type.shape[0]);
  const std::byte* at = array.data.data() + static_cast<size_t>(first) * row;
  if (array.type.dtype == DType::int32)
    return snug::Array(reinterpret_cast<const int32_t*>(at), shape);
  return snug::Array(reinterpret_cast<const float*>(at), shape);
}

// The largest difference, by the largest number that should be there.
double relative_error(std::span<const float> have, const std::vector<double>& want) {
  // The gradient of a bias before batch normalization is rounding alone.
  double difference = 0, largest = 1e-3;
  for (size_t i = 0; i < want.size(); ++i) {
    difference = std::max(difference, std::abs(static_cast<double>(have[i]) - want[i]));
    largest = std::max(largest, std::abs(want[i]));
  }
  return have.size() == want.size() ? difference / largest : 1e9;
}

class GoldenFit {
 public:
  explicit GoldenFit(const std::string& name)
      : meta_(Json::parse(read_text(golden_path("fits/" + name + "/meta.json")))),
        data_(golden_path("fits/" + name + "/data.npz")),
        trains_(!kUntrained.contains(name)) {
    samples_ = data_["x0"].type.shape[0];
    loss_tolerance_ = std::max(5e-6, 10 * meta_.at("keras_float32_loss_rel_err").get<double>());
    weight_tolerance_ =
        std::max(2e-5, 10 * meta_.at("keras_float32_weights_rel_err").get<double>());
    // In Adagrad, Keras on TensorFlow squares the gradient of each occurrence of a token by itself;
    // Snug, like Keras on JAX, squares their sum.
    if (name == "text_pool") loss_tolerance_ = 1e-5, weight_tolerance_ = 2e-3;
  }

  void check() {
    if (!trains_) return check_forward(model("final"));
    check_steps();
    check_fit();
  }

 private:
  Model model(const std::string& weights) {
    Model model = model_of(meta_.at("model"));
    Json compile = meta_.at("model").at("compile_config");
    // Keras leaves delta out of the config.
    if (text("name") == "two_branch") compile["loss"]["config"]["delta"] = 0.7;
    if (!trains_) compile.at("optimizer") = sgd();
    model.compile(compile_options_of(compile, model));
    std::vector<std::vector<float>> values;
    for (int i = 0; data_.contains(weights + std::to_string(i)); ++i) {
      const auto floats = data_[weights + std::to_string(i)].as<float>();
      values.emplace_back(floats.begin(), floats.end());
    }
    model.set_weights(values);
    return model;
  }

  static Json sgd() {
    return Json::parse(R"({"class_name": "SGD", "config": {"learning_rate": 0.01}})");
  }

  SourcePtr rows(int64_t first, int64_t count, const std::string& prefix = "") const {
    data::ArraysOptions arrays;
    for (int i = 0; data_.contains(prefix + "x" + std::to_string(i)); ++i)
      arrays.x.push_back(rows_of(data_[prefix + "x" + std::to_string(i)], first, count));
    for (int i = 0; data_.contains(prefix + "y" + std::to_string(i)); ++i)
      arrays.y.push_back(rows_of(data_[prefix + "y" + std::to_string(i)], first, count));
    if (prefix.empty() && data_.contains("sw0"))
      arrays.sample_weight = rows_of(data_["sw0"], first, count);
    return data::arrays(arrays);
  }
  SourcePtr validation() const { return rows(0, data_["vx0"].type.shape[0], "v"); }

  FitOptions options() const {
    FitOptions options{.batch_size = meta_.at("batch_size").get<int64_t>(),
                       .epochs = meta_.at("epochs").get<int>(),
                       .shuffle = false,
                       .verbose = 0};
    if (meta_.at("fit_kwargs").contains("class_weight")) {
      for (const auto& [label, weight] : meta_.at("fit_kwargs").at("class_weight").items())
        options.class_weight[std::stoll(label)] = weight.get<double>();
    }
    return options;
  }

  // A batch at a time: what each gives alone, before its update.
  void check_steps() {
    Model trained = model("init");
    const Json& steps = meta_.at("per_step");
    const Json& steps_f64 = meta_.at("per_step_f64");
    const int64_t batch = meta_.at("batch_size").get<int64_t>();
    int64_t first = 0;
    double worst = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
      const int64_t count = std::min(batch, samples_ - first);
      const Logs logs = trained.train_on_batch(rows(first, count), options());
      first = first + count == samples_ ? 0 : first + count;
      EXPECT_EQ(logs.size(), steps[i].size());
      for (const auto& [name, value] : steps[i].items()) {
        const bool is_loss = name == "loss" || name.ends_with("_loss");
        const double want = (is_loss ? steps_f64 : steps)[i].at(name).get<double>();
        const double error = std::abs(logs.at(name) - want) / std::max(1e-3, std::abs(want));
        if (is_loss) worst = std::max(worst, error);
        EXPECT_LE(error, is_loss ? loss_tolerance_ : 1e-5) << "step " << i << ", " << name;
      }
    }
    if (!meta_.at("model").at("compile_config").at("optimizer").at("config").at("use_ema"))
      check_weights(trained);
    ::testing::Test::RecordProperty(text("name") + "_loss_error", fmt::format("{:.2g}", worst));
    fmt::print("  {}: losses within {:.2g} of float64 (Keras {:.2g})", text("name"), worst,
               meta_.at("keras_float32_loss_rel_err").get<double>());
  }

  void check_fit() {
    Model fitted = model("init");
    FitOptions with_validation = options();
    with_validation.validation_data = validation();
    const snug::History history = fitted.fit(rows(0, samples_), with_validation);
    std::vector<std::string> keys;
    for (const auto& [name, values] : history.history) {
      keys.push_back(name);
      if (name.starts_with("val_") && is_mean_of_batches(name)) continue;
      const Json& want = meta_.at("history").at(name);
      ASSERT_EQ(values.size(), want.size());
      for (size_t i = 0; i < values.size(); ++i)
        EXPECT_NEAR(values[i], want[i].get<double>(),
                    2e-5 * std::max(1.0, std::abs(want[i].get<double>())))
            << name << i;
    }
    EXPECT_EQ(keys, meta_.at("history_keys").get<std::vector<std::string>>());
    fmt::print(", weights within {:.2g} (Keras {:.2g})\n", check_weights(fitted),
               meta_.at("keras_float32_weights_rel_err").get<double>());
    check_optimizer(fitted);
    EXPECT_EQ(fitted.summary(), text("summary"));
    check_forward(std::move(fitted));
  }

  double check_weights(const Model& model) {
    const Variables weights = model.weights();
    EXPECT_EQ(weights.size(), meta_.at("weights").size());
    double worst = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      const double error = relative_error(weights[i]->tensor().as<float>(),
                                          data_["final" + std::to_string(i) + "_f64"].doubles());
      worst = std::max(worst, error);
      EXPECT_LE(error, weight_tolerance_) << weights[i]->path();
    }
    return worst;
  }

  // In Keras's order; the learning rate is not a slot of ours, and `touched` none of Keras's.
  void check_optimizer(const Model& model) {
    Variables slots = model.compiled().slots();
    std::erase_if(slots, [](const VariablePtr& slot) { return slot->name().ends_with("touched"); });
    size_t next = 0;
    const Json& variables = meta_.at("optimizer_variables");
    for (size_t i = 0; i < variables.size(); ++i) {
      if (text(variables[i], "name") == "learning_rate") continue;
      ASSERT_LT(next, slots.size());
      const Tensor slot = slots[next++]->tensor();
      const Array& want = data_["opt" + std::to_string(i)];
      if (slot.dtype() == DType::int64) {
        EXPECT_EQ(slot.as<int64_t>()[0], want.doubles()[0]);
      } else {
        EXPECT_LE(relative_error(slot.as<float>(), want.doubles()), 20 * weight_tolerance_)
            << text(variables[i], "name");
      }
    }
    EXPECT_EQ(next, slots.size());
  }

  void check_forward(Model model) {
    for (const auto& [name, value] : model.evaluate(validation())) {
      if (is_mean_of_batches(name)) continue;
      const double want = meta_.at("evaluate").at(name).get<double>();
      EXPECT_NEAR(value, want, 2e-5 * std::max(1.0, std::abs(want))) << "evaluate " << name;
    }
    const auto predictions = model.predict(validation());
    for (size_t i = 0; i < predictions.size(); ++i) {
      EXPECT_LE(relative_error(predictions[i], data_["pred" + std::to_string(i)].doubles()),
                10 * weight_tolerance_);
    }
  }

  // Keras on TensorFlow counts a batch of 2 rows like one of 8 in the losses of single outputs;
  // Snug counts rows, as both do in the loss.
  bool is_mean_of_batches(const std::string& name) const {
    return text("name") == "multi_output" && name.ends_with("_loss") && name != "val_loss";
  }

  static std::string text(const Json& json, const char* key) {
    return json.at(key).get<std::string>();
  }
  std::string text(const char* key) const { return text(meta_, key); }

  Json meta_;
  Npz data_;
  bool trains_;
  int64_t samples_ = 0;
  double loss_tolerance_ = 0, weight_tolerance_ = 0;
};

TEST(Golden, Fits) {
  const Json index = Json::parse(read_text(golden_path("fits/index.json")));
  std::vector<std::string> skipped;
  for (const Json& fit : index) {
    const auto name = fit.at("name").get<std::string>();
    SCOPED_TRACE(name);
    if (kSkipped.contains(name)) {
      skipped.push_back(name);
      continue;
    }
    GoldenFit(name).check();
  }
  fmt::print("{} of {} fits (skipped: {}), {} of them without training, for it needs Ftrl: {}\n",
             index.size() - skipped.size(), index.size(), fmt::join(skipped, ", "),
             kUntrained.size(), fmt::join(kUntrained, ", "));
}

}  // namespace
}  // namespace snug::testing
