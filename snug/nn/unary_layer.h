// What layers with one input have in common.
#pragma once

#include "snug/nn/layer.h"

namespace snug {

// What every layer may be given beside its own settings.
struct LayerOptions {
  std::string name;
};

// A layer with one input and one output.
class UnaryLayer : public LayerDefinition {
 public:
  void build(const Types& in) final;
  Values call(Tracer& tracer, const Values& in) final;

 protected:
  // build and call with the one input's shape and value, which is float32 unless keeps_dtype().
  virtual void build_for(const Shape& /*x*/) {}
  virtual Value apply(Tracer& tracer, Value x) = 0;
  // Takes values of every type. Otherwise whole numbers and bools are cast, as in Keras.
  virtual bool keeps_dtype() const { return false; }

  // Throws ShapeError "label: expected <axes>, got <shape>; <advice>" where the rank is another.
  void expect_rank(const Shape& x, int rank, std::string_view axes, std::string_view advice) const;
  // The same for the number of channels that build saw.
  void expect_channels(const Shape& x, int64_t channels) const;
  // Throws Error "label: <setting> is <value>; <advice>" where it is less than 1.
  void expect_positive(std::string_view setting, int64_t value, std::string_view advice) const;
};

// A layer made from its definition, with the name and the `trainable` that the options give.
template <typename Definition, typename Options, typename... Args>
Layer named_layer(const Options& options, Args&&... args) {
  auto definition = std::make_shared<Definition>(std::forward<Args>(args)...);
  definition->name = options.name;
  if constexpr (requires { options.trainable; }) definition->trainable = options.trainable;
  return Layer(std::move(definition));
}

}  // namespace snug
