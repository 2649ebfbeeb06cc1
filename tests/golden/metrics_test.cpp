// Every metric against a real Keras: the result after each of three batches of different size,
// weighted and not (README.md).

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <regex>

#include "keras_config.h"
#include "snug/exec/program.h"
#include "snug/nn/loss_list.h"
#include "snug/tensor/arena.h"
#include "snug/testing/npz.h"

namespace snug::testing {
namespace {

// Keras's results are float32, and what it adds up is too.
constexpr double kTolerance = 2e-6;

class MetricCase {
 public:
  MetricCase(const Json& described, const Npz& npz, bool weighted)
      : described_(described),
        npz_(npz),
        name_(described.at("name").get<std::string>()),
        weighted_(weighted),
        tracer_(graph_, /*training=*/true) {
    metric_ = default_metric(described.at("class_name").get<std::string>());
    read_settings(*metric_, described.at("kwargs"));
    add_nodes();
    allocate(metric_->state(), 1);
    metric_->reset();
  }

  void check() {
    check_name();
    const Json& expected = described_.at(weighted_ ? "weighted" : "unweighted");
    for (int batch = 0; batch < 3; ++batch) {
      run(batch);
      const auto wanted = expected[batch].is_array()
                              ? expected[batch].get<std::vector<double>>()
                              : std::vector<double>{expected[batch].get<double>()};
      const std::vector<double> found = metric_->results();
      ASSERT_EQ(found.size(), wanted.size());
      for (size_t i = 0; i < wanted.size(); ++i)
        EXPECT_NEAR(found[i], wanted[i], kTolerance * std::max(1.0, std::abs(wanted[i])))
            << "batch " << batch << (weighted_ ? ", weighted" : "");
    }
    metric_->reset();
    EXPECT_EQ(metric_->result(), metric_->fresh()->result());
  }

 private:
  // Keras numbers the names of classes that it counts.
  void check_name() const {
    const auto wanted = described_.at("default_name").get<std::string>();
    EXPECT_EQ(metric_->name, std::regex_replace(wanted, std::regex("_[0-9]+$"), ""));
  }

  const Array& array(const std::string& part, int batch) const {
    return npz_[name_ + "/" + part + std::to_string(batch)];
  }
  bool has_predictions() const { return npz_.contains(name_ + "/y_pred0"); }

  Value input(const std::string& part) {
    Type type = array(part, 0).type;
    type.shape.set(0, kRows);
    return graph_.input(part, type);
  }

  void add_nodes() {
    const Value targets = input("y_true");
    const Value predictions = has_predictions() ? input("y_pred") : Value();
    const Value weights = weighted_ ? input("sample_weight") : Value();
    if (!predictions) return metric_->update(tracer_, {}, targets, weights);
    const Shape row = targets.shape().part(1, targets.shape().rank());
    EXPECT_EQ(metric_->target_type(predictions.type(), row), targets.type()) << name_;
    metric_->update(tracer_, targets, predictions, weights);
  }

  void run(int batch) {
    const int64_t rows = array("y_true", batch).type.shape[0];
    Program program = make_program(graph_, {}, rows, {.threads = 1});
    const Arena arena(std::max<size_t>(program.arena_bytes(), 64));
    std::vector<void*> outside(graph_.value_count());
    for (const auto& [variable, value] : tracer_.variables())
      outside[value.id()] = variable->tensor().data;
    program.bind(arena.data(), outside);
    for (const int id : graph_.of_source(Graph::Source::input)) {
      const Array& values = array(graph_.name(id), batch);
      std::memcpy(program.tensor(graph_.value(id)).data, values.data.data(), values.data.size());
    }
    program.run({}, Program::Mode::checked);
  }

  const Json& described_;
  const Npz& npz_;
  std::string name_;
  bool weighted_;
  Graph graph_;
  Tracer tracer_;
  MetricPtr metric_;
};

TEST(GoldenMetrics, ResultsAfterEachBatch) {
  const Json index = Json::parse(read_text(golden_path("metrics.json")));
  const Npz npz(golden_path("metrics.npz"));
  size_t done = 0;
  std::string skipped;
  for (const Json& described : index) {
    const auto name = described.at("name").get<std::string>();
    SCOPED_TRACE(name);
    if (!default_metric(described.at("class_name").get<std::string>())) {
      skipped += " " + name;
      continue;
    }
    for (const bool weighted : {false, true}) MetricCase(described, npz, weighted).check();
    ++done;
  }
  std::printf("%zu of %zu cases (skipped:%s)\n", done, index.size(),
              skipped.empty() ? " none" : skipped.c_str());
  EXPECT_EQ(done, index.size());
}

}  // namespace
}  // namespace snug::testing
