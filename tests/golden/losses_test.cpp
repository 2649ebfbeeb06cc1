// Every loss against a real Keras: values and gradients by each reduction, weighted and not
// (README.md).

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "keras_config.h"
#include "snug/autodiff/gradients.h"
#include "snug/nn/loss_list.h"
#include "snug/ops/ops.h"
#include "snug/testing/check_op.h"
#include "snug/testing/npz.h"

namespace snug::testing {
namespace {

void expect_near(const Doubles& actual, const Doubles& expected, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double largest = 0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], tolerance * largest) << what << ", element " << i;
}

Type with_rows(Type type) {
  type.shape.set(0, kRows);
  return type;
}

// One case, under one reduction.
class LossCase {
 public:
  LossCase(const Json& described, const Npz& npz, const std::string& reduction, bool weighted)
      : described_(described),
        npz_(npz),
        name_(described.at("name").get<std::string>()),
        reduction_(reduction),
        tag_(reduction + (weighted ? "/weighted" : "")),
        tracer_(graph_, /*training=*/true) {
    loss_ = default_loss(described.at("class_name").get<std::string>());
    read_settings(*loss_, described.at("kwargs"));
    targets_ = input("y_true");
    predictions_ = input("y_pred");
    if (weighted) weights_ = input("sample_weight");
  }

  void check() {
    const Value result = reduction_ == "none" ? unreduced() : reduced();
    const Value gradient = gradients(result, {predictions_})[0];
    const std::vector<Bytes> out =
        run_graph(graph_, {result, gradient}, inputs(), {.rows = array("y_pred").type.shape[0]});
    const double error = described_.at("keras_float32_rel_err").get<double>();
    const double tolerance = std::max(1e-6, 4 * error);
    expect_near(to_doubles(out[0], DType::float32), expected_value(), tolerance, tag_);
    expect_near(to_doubles(out[1], DType::float32), array("dpred/" + tag_).doubles(), tolerance,
                tag_ + " gradient");
  }

 private:
  const Array& array(const std::string& part) const { return npz_[name_ + "/" + part]; }

  Value input(const std::string& part) { return graph_.input(part, with_rows(array(part).type)); }

  Value unreduced() {
    const Value values = loss_->values(tracer_, targets_, predictions_);
    return weights_ ? ops::multiply(values, weights_) : values;
  }
  Value reduced() {
    loss_->reduction = reduction_;
    return loss_->reduced(tracer_, targets_, predictions_, weights_);
  }

  // In the graph's order; the one that is not an array is the number of rows.
  std::vector<Bytes> inputs() {
    std::vector<Bytes> all;
    for (const int id : graph_.of_source(Graph::Source::input)) {
      const std::string& part = graph_.name(id);
      if (part == "rows")
        all.push_back(
            to_bytes({static_cast<double>(array("y_pred").type.shape[0])}, DType::float32));
      else
        all.push_back(array(part).data);
    }
    return all;
  }

  Doubles expected_value() const {
    if (reduction_ == "none") return array("value/" + tag_).doubles();
    return {described_.at("values").at(tag_).get<double>()};
  }

  const Json& described_;
  const Npz& npz_;
  std::string name_, reduction_, tag_;
  Graph graph_;
  Tracer tracer_;
  LossPtr loss_;
  Value targets_, predictions_, weights_;
};

TEST(GoldenLosses, ValuesAndGradients) {
  const Json index = Json::parse(read_text(golden_path("losses.json")));
  const Npz npz(golden_path("losses.npz"));
  size_t done = 0;
  std::string skipped;
  for (const Json& described : index) {
    const auto name = described.at("name").get<std::string>();
    SCOPED_TRACE(name);
    if (!default_loss(described.at("class_name").get<std::string>())) {
      skipped += " " + name;
      continue;
    }
    for (const char* reduction :
         {"none", "sum", "sum_over_batch_size", "mean_with_sample_weight"}) {
      for (const bool weighted : {false, true})
        LossCase(described, npz, reduction, weighted).check();
    }
    ++done;
  }
  std::printf("%zu of %zu cases (skipped:%s)\n", done, index.size(),
              skipped.empty() ? " none" : skipped.c_str());
  EXPECT_EQ(done, index.size());
}

}  // namespace
}  // namespace snug::testing
