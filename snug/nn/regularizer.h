#pragma once

#include <memory>
#include <string_view>

#include "snug/base/settings.h"
#include "snug/graph/graph.h"

namespace snug {

// A penalty on a variable, added to the loss once an update.
class Regularizer : public Configurable {
 public:
  virtual Value penalty(Value variable) const = 0;  // A scalar.
};
using RegularizerPtr = std::shared_ptr<Regularizer>;

RegularizerPtr l1(double factor = 0.01);
RegularizerPtr l2(double factor = 0.01);
RegularizerPtr l1_l2(double l1 = 0, double l2 = 0);

// "l1", "l2", "l1_l2" or the class names "L1", "L2", "L1L2", with Keras's defaults.
RegularizerPtr make_regularizer(std::string_view name);

}  // namespace snug
