// What a layer needs while it adds its nodes to a graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "snug/graph/graph.h"
#include "snug/nn/variable.h"

namespace snug {

// An output of softmax or sigmoid remembers its logits, so that a loss can use them (as Keras on
// TensorFlow does).
struct Logits {
  enum class From { softmax, sigmoid } from = From::softmax;
  Value value;
};

// One graph under construction: which value stands for which variable, whether it trains, masks,
// penalties.
class Tracer {
 public:
  Tracer(Graph& graph, bool training) : graph_(graph), training_(training) {}
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  Graph& graph() const { return graph_; }
  bool training() const { return training_; }

  // Whether the layer that is being called is trained.
  bool trains() const { return trains_; }
  // Lives while a layer is called.
  class LayerScope {
   public:
    LayerScope(Tracer& tracer, bool trainable) : tracer_(tracer), before_(tracer.trains_) {
      tracer_.trains_ = trainable;
    }
    ~LayerScope() { tracer_.trains_ = before_; }
    LayerScope(const LayerScope&) = delete;
    LayerScope& operator=(const LayerScope&) = delete;

   private:
    Tracer& tracer_;
    bool before_;
  };

  // Whether the layer that is being called is all that reads its input: no other layer and no
  // output does, and nobody outside the network has it.
  bool alone() const { return alone_; }
  class AloneScope {
   public:
    AloneScope(Tracer& tracer, bool alone) : tracer_(tracer), before_(tracer.alone_) {
      tracer_.alone_ = alone;
    }
    ~AloneScope() { tracer_.alone_ = before_; }
    AloneScope(const AloneScope&) = delete;
    AloneScope& operator=(const AloneScope&) = delete;

   private:
    Tracer& tracer_;
    bool before_;
  };

  // The variable's value in this graph, always the same one.
  Value value(const VariablePtr& variable);
  // All variables that were asked for, in that order, with their values.
  const std::vector<std::pair<VariablePtr, Value>>& variables() const { return variables_; }

  // The number of rows of the logical batch, a float32 scalar input: what means divide by.
  Value rows();
  bool reads_rows() const { return static_cast<bool>(rows_); }

  // A number for the random draws of the layer that is being called: different for each layer path
  // and call.
  uint64_t next_stream();

  // Scalars that are added to the loss. Those of what a layer gives are sums over the rows: they
  // count by the row.
  void add_loss(Value penalty) { losses_.push_back(penalty); }
  // Whether the variable's own penalty is still to be added; asked once, it is not.
  bool first_penalty(const Variable& of) { return penalised_.insert(&of).second; }
  void add_activity_loss(Value penalty) { activity_losses_.push_back(penalty); }
  const Values& losses();

  // A bool value [rows, steps] that says which steps of `of` are real; empty where all are.
  Value mask(Value of) const;
  void set_mask(Value of, Value mask);

  std::optional<Logits> logits(Value of) const;
  void set_logits(Value of, const Logits& logits) { logits_[of.id()] = logits; }

 private:
  Graph& graph_;
  bool training_;
  bool trains_ = true;
  bool alone_ = false;
  std::vector<std::pair<VariablePtr, Value>> variables_;
  std::unordered_map<const Variable*, Value> value_of_;
  std::unordered_map<std::string, int> calls_;
  Value rows_;
  Values losses_, activity_losses_;
  std::unordered_set<const Variable*> penalised_;
  std::unordered_map<int, Value> masks_;
  std::unordered_map<int, Logits> logits_;
};

}  // namespace snug
