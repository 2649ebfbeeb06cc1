#include "snug/train/lint.h"

#include <algorithm>

#include "snug/base/error.h"
#include "snug/nn/activation.h"

namespace snug {
namespace {

// How an output comes about: the last activation that the tracer saw, if any.
struct Head {
  Type type;
  std::optional<Logits> logits;
  bool is_score = false;  // Known to be no probability.
};

bool is_one_of(std::string_view op, std::initializer_list<std::string_view> ops) {
  return std::ranges::find(ops, op) != ops.end();
}

// Whether it is a product with weights, or an activation that leaves the numbers between 0 and 1.
// What else there is may be probabilities: the mean of two softmaxes, an op of the user's.
bool is_score(Value value) {
  const Node* node = value.producer();
  while (node != nullptr && is_one_of(node->op().name(), {"reshape", "transpose"}))
    node = node->input(0).producer();
  if (node == nullptr) return false;
  const std::string_view op = node->op().name();
  if (is_one_of(op, {"matmul", "conv2d", "depthwise_conv2d", "conv2d_transpose"})) return true;
  return std::ranges::count(activation_names(), op) > 0 &&
         !is_one_of(op, {"softmax", "sigmoid", "hard_sigmoid"});
}

std::vector<Head> heads_of(Network& network) {
  Graph graph;
  Tracer tracer(graph, /*training=*/false);
  Values inputs;
  for (const Type& type : network.input_types()) inputs.push_back(graph.input("x", type));
  std::vector<Head> heads;
  for (const Value& output : network.call(tracer, inputs))
    heads.push_back({output.type(), tracer.logits(output), is_score(output)});
  return heads;
}

// Settings that lint reads from a loss.
class FindFromLogits final : public SettingVisitor {
 public:
  bool from_logits = false;
  void visit(std::string_view name, bool& value) override {
    if (name == "from_logits") from_logits = value;
  }
  void visit(std::string_view, int64_t&) override {}
  void visit(std::string_view, double&) override {}
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

void lint_output(const std::string& output, const Head& head, LossDefinition& loss) {
  const int64_t units = head.type.shape.rank() < 2 ? 1 : head.type.shape[-1];
  const bool softmax = head.logits && head.logits->from == Logits::From::softmax;
  if (softmax && units == 1) {
    throw Error(
        "compile: {} ends in softmax over 1 unit, which is always 1; use activation \"sigmoid\" "
        "with "
        "binary_crossentropy, or one unit for each class",
        output);
  }
  const bool categorical = loss.class_name() == "CategoricalCrossentropy" ||
                           loss.class_name() == "SparseCategoricalCrossentropy";
  const bool binary = loss.class_name() == "BinaryCrossentropy";
  if (!categorical && !binary) return;
  if (categorical && units == 1) {
    throw Error(
        "compile: {} has 1 unit, and {} over one class is always 0; use binary_crossentropy, or "
        "one unit for "
        "each class",
        output, loss.name);
  }
  FindFromLogits settings;
  loss.settings(settings);
  if (settings.from_logits && head.logits) {
    throw Error(
        "compile: {} ends in {}, but {} was told from_logits=true; drop the activation or "
        "from_logits",
        output, softmax ? "softmax" : "sigmoid", loss.name);
  }
  if (!settings.from_logits && head.is_score) {
    throw Error(
        "compile: {} gives no probabilities, and {} wants some; end in activation \"{}\", or give "
        "the loss "
        "from_logits=true",
        output, loss.name, categorical ? "softmax" : "sigmoid");
  }
}

}  // namespace

bool gives_probabilities(Network& network) { return heads_of(network).at(0).logits.has_value(); }

void lint(Network& network, const CompileOptions& options) {
  const std::vector<Loss>& losses = options.loss.losses();
  if (losses.empty()) return;
  const std::vector<Head> heads = heads_of(network);
  const std::vector<std::string> names = network.output_names();
  for (size_t i = 0; i < heads.size(); ++i) {
    const Loss& loss = losses.size() == 1 ? losses[0] : losses.at(i);
    if (loss.definition()) lint_output(names[i], heads[i], *loss.definition());
  }
}

}  // namespace snug
