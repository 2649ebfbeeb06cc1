// One value of the logs that a callback watches, and whether it got better.
#pragma once

#include <optional>
#include <string>

#include "snug/train/model.h"

namespace snug {

class Monitor {
 public:
  Monitor() = default;
  // `who` is the callback, for messages. Throws Error, with the names that the logs will have, when
  // the model measures no such thing or does not know which way is better.
  Monitor(std::string who, std::string name, const std::string& mode, double min_delta,
          const Model& model, const RunParameters& params);

  // Nullopt in an epoch that did not validate. Throws Error, with the names there are, when the
  // logs should have it and do not.
  std::optional<double> value(const Logs& logs) const;

  // Better than `than` by more than min_delta; a NaN never is.
  bool improves(double value, double than) const;
  double worst() const;

 private:
  std::string who_, name_;
  double min_delta_ = 0;
  bool up_ = false;
};

// Throws Error for a mode other than "auto", "min" and "max".
void check_mode(std::string_view who, std::string_view mode);

}  // namespace snug
