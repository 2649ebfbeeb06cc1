// For tests of the guard: a layer that passes everything on, but for one element of one row at one
// moment.
#pragma once

#include <cstring>
#include <memory>

#include "snug/nn/layer.h"

namespace snug::testing {

struct Poison {
  bool armed = false;
  bool backward = false;
  uint64_t epoch = 0;
  uint64_t position = 0;  // Of the row, in the epoch.
  float value = 0;
};
using PoisonPtr = std::shared_ptr<Poison>;

class PoisonOp final : public Op {
 public:
  PoisonOp(PoisonPtr poison, bool backward) : poison_(std::move(poison)), backward_(backward) {}

  std::string_view name() const override { return backward_ ? "poison_gradient" : "poison"; }
  Types infer(const Types& in) const override { return in; }
  Values gradient(const Node& node, const Values& dy) const override {
    return {node.graph().add<PoisonOp>({dy[0]}, poison_, true)};
  }
  snug::Rows rows(const Types&) const override { return snug::Rows::each; }
  Cost cost(const Types& in) const override {
    return {.bytes = 2 * static_cast<double>(in[0].bytes())};
  }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target&) const override {
    return std::make_unique<PoisonKernel>(in[0], poison_, backward_);
  }

 private:
  class PoisonKernel final : public Kernel {
   public:
    PoisonKernel(const Type& type, PoisonPtr poison, bool backward)
        : type_(type), poison_(std::move(poison)), backward_(backward) {}
    void run(const Run& run) const noexcept override {
      std::memcpy(run.output(), run.input(0), type_.bytes());
      const Poison& p = *poison_;
      if (!p.armed || p.backward != backward_ || run.step->epoch != p.epoch) return;
      const int64_t rows = type_.shape[0];
      const auto row = static_cast<int64_t>(p.position) - static_cast<int64_t>(run.step->position) -
                       run.first_row;
      if (row >= 0 && row < rows) run.output()[row * (type_.shape.size() / rows)] = p.value;
    }

   private:
    Type type_;
    PoisonPtr poison_;
    bool backward_;
  };

  PoisonPtr poison_;
  bool backward_;
};

class PoisonLayerDefinition final : public LayerDefinition {
 public:
  explicit PoisonLayerDefinition(PoisonPtr poison) : poison_(std::move(poison)) {}
  std::string_view class_name() const override { return "Poison"; }
  void settings(SettingVisitor&) override {}
  Values call(Tracer& tracer, const Values& in) override {
    return {tracer.graph().add<PoisonOp>({in[0]}, poison_, false)};
  }

 private:
  PoisonPtr poison_;
};

inline Layer PoisonLayer(const PoisonPtr& poison, const std::string& name) {
  Layer layer = make_layer<PoisonLayerDefinition>(poison);
  layer->name = name;
  return layer;
}

}  // namespace snug::testing
