// Learning rates that depend on the number of updates.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/settings.h"

namespace snug {

// Keras's schedules, computed in float32 in its order of operations (docs: keras.md 4.5).
class LearningRateSchedule : public Configurable {
 public:
  // The rate of the update that has `iteration` updates before it.
  virtual float at(int64_t iteration) const = 0;
  // Throws Error when the settings make no sense.
  virtual void check() const = 0;
};
using SchedulePtr = std::shared_ptr<LearningRateSchedule>;

// initial * decay_rate ^ (iteration / decay_steps); the exponent rounded down with staircase.
struct StaircaseOptions {
  bool staircase = false;
  std::string name;  // Empty: the class name.
};
SchedulePtr ExponentialDecay(double initial_learning_rate, double decay_steps, double decay_rate,
                             const StaircaseOptions& options = {});
// initial / (1 + decay_rate * iteration / decay_steps); the quotient rounded down with staircase.
SchedulePtr InverseTimeDecay(double initial_learning_rate, double decay_steps, double decay_rate,
                             const StaircaseOptions& options = {});

// values[i] up to and including iteration boundaries[i], the last value after.
SchedulePtr PiecewiseConstantDecay(const std::vector<double>& boundaries,
                                   const std::vector<double>& values, const std::string& name = "");

struct PolynomialDecayOptions {
  double end_learning_rate = 0.0001;
  double power = 1;
  bool cycle = false;  // After decay_steps, start again with the next multiple of them.
  std::string name;
};
SchedulePtr PolynomialDecay(double initial_learning_rate, double decay_steps,
                            const PolynomialDecayOptions& options = {});

struct CosineDecayOptions {
  double alpha = 0;  // The share of the rate that is left at the end.
  std::optional<double> warmup_target;
  double warmup_steps = 0;
  std::string name;
};
SchedulePtr CosineDecay(double initial_learning_rate, double decay_steps,
                        const CosineDecayOptions& options = {});

struct CosineDecayRestartsOptions {
  double t_mul = 2;  // How much longer each period is than the one before.
  double m_mul = 1;  // How much of its first rate the next period starts with.
  double alpha = 0;
  std::string name;
};
SchedulePtr CosineDecayRestarts(double initial_learning_rate, double first_decay_steps,
                                const CosineDecayRestartsOptions& options = {});

// By Keras's class name, its settings to be filled in. Throws Error that lists the names.
SchedulePtr make_schedule(std::string_view class_name);

}  // namespace snug
