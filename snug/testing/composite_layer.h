// A layer of a user's own that calls others, one after the other.
#pragma once

#include "snug/nn/layer.h"

namespace snug::testing {

class Composite final : public LayerDefinition {
 public:
  explicit Composite(std::vector<Layer> inner, bool lists_them = true)
      : inner_(std::move(inner)), lists_them_(lists_them) {}

  std::string_view class_name() const override { return "Composite"; }
  void settings(SettingVisitor&) override {}
  Values call(Tracer&, const Values& in) override {
    Value x = in[0];
    for (const Layer& layer : inner_) x = layer(x);
    return {x};
  }
  std::vector<Layer> sublayers() const override {
    return lists_them_ ? inner_ : std::vector<Layer>();
  }

 private:
  std::vector<Layer> inner_;
  bool lists_them_;
};

}  // namespace snug::testing
