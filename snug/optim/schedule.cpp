#include "snug/optim/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "snug/base/error.h"
#include "snug/optim/optimizer_list.h"

namespace snug {
namespace {

float single(double x) { return static_cast<float>(x); }
constexpr float kPi = std::numbers::pi_v<float>;

void expect_positive(const Configurable& schedule, std::string_view setting, double value) {
  if (value > 0) return;
  throw Error("{}: {} is {}; it must be above 0", schedule.class_name(), setting, value);
}

void expect_rate(const Configurable& schedule, std::string_view setting, double value) {
  if (std::isfinite(value)) return;
  throw Error("{}: {} is {}; it must be a number", schedule.class_name(), setting, value);
}

// What all schedules but the piecewise one start from.
class Decay : public LearningRateSchedule {
 public:
  Decay(double initial, double steps, const std::string& name)
      : initial_(initial), steps_(steps), name_(name) {}

 protected:
  float initial() const { return single(initial_); }

  double initial_ = 0;
  double steps_ = 1;
  std::string name_;
};

class RateDecay : public Decay {
 public:
  RateDecay(double initial, double steps, double rate, const StaircaseOptions& options)
      : Decay(initial, steps, options.name), rate_(rate), staircase_(options.staircase) {}

  void settings(SettingVisitor& visitor) override {
    visitor.visit("initial_learning_rate", initial_);
    visitor.visit("decay_steps", steps_);
    visitor.visit("decay_rate", rate_);
    visitor.visit("staircase", staircase_);
    visitor.visit("name", name_);
  }

  void check() const override {
    expect_rate(*this, "initial_learning_rate", initial_);
    expect_positive(*this, "decay_steps", steps_);
    expect_rate(*this, "decay_rate", rate_);
  }

 protected:
  float periods(int64_t iteration) const {
    const float periods = static_cast<float>(iteration) / single(steps_);
    return staircase_ ? std::floor(periods) : periods;
  }
  float rate() const { return single(rate_); }

 private:
  double rate_;
  bool staircase_;
};

class Exponential final : public RateDecay {
 public:
  using RateDecay::RateDecay;
  std::string_view class_name() const override { return "ExponentialDecay"; }
  float at(int64_t iteration) const override {
    return initial() * std::pow(rate(), periods(iteration));
  }
};

class InverseTime final : public RateDecay {
 public:
  using RateDecay::RateDecay;
  std::string_view class_name() const override { return "InverseTimeDecay"; }
  float at(int64_t iteration) const override {
    return initial() / (1 + rate() * periods(iteration));
  }
};

class PiecewiseConstant final : public LearningRateSchedule {
 public:
  PiecewiseConstant(const std::vector<double>& boundaries, const std::vector<double>& values,
                    const std::string& name)
      : boundaries_(boundaries), values_(values), name_(name) {}

  std::string_view class_name() const override { return "PiecewiseConstantDecay"; }

  float at(int64_t iteration) const override {
    const auto place = std::ranges::lower_bound(boundaries_, static_cast<double>(iteration));
    return single(values_[place - boundaries_.begin()]);
  }

  void settings(SettingVisitor& visitor) override {
    visitor.visit("boundaries", boundaries_);
    visitor.visit("values", values_);
    visitor.visit("name", name_);
  }

  void check() const override {
    if (values_.size() != boundaries_.size() + 1) {
      throw Error("{}: {} boundaries and {} values; there must be one more value than boundaries",
                  class_name(), boundaries_.size(), values_.size());
    }
    if (!std::ranges::is_sorted(boundaries_)) {
      throw Error("{}: the boundaries {} fall; give them in rising order", class_name(),
                  fmt::join(boundaries_, ", "));
    }
    for (const double value : values_) expect_rate(*this, "a value", value);
  }

 private:
  std::vector<double> boundaries_, values_;
  std::string name_;
};

class Polynomial final : public Decay {
 public:
  Polynomial(double initial, double steps, const PolynomialDecayOptions& options)
      : Decay(initial, steps, options.name),
        end_(options.end_learning_rate),
        power_(options.power),
        cycle_(options.cycle) {}

  std::string_view class_name() const override { return "PolynomialDecay"; }

  float at(int64_t iteration) const override {
    auto step = static_cast<float>(iteration);
    float steps = single(steps_);
    if (cycle_) {
      steps *= iteration == 0 ? 1 : std::ceil(step / steps);
    } else {
      step = std::min(step, steps);
    }
    const float left = 1 - step / steps;
    return (initial() - single(end_)) * std::pow(left, single(power_)) + single(end_);
  }

  void settings(SettingVisitor& visitor) override {
    visitor.visit("initial_learning_rate", initial_);
    visitor.visit("decay_steps", steps_);
    visitor.visit("end_learning_rate", end_);
    visitor.visit("power", power_);
    visitor.visit("cycle", cycle_);
    visitor.visit("name", name_);
  }

  void check() const override {
    expect_rate(*this, "initial_learning_rate", initial_);
    expect_rate(*this, "end_learning_rate", end_);
    expect_positive(*this, "decay_steps", steps_);
  }

 private:
  double end_, power_;
  bool cycle_;
};

class Cosine final : public Decay {
 public:
  Cosine(double initial, double steps, const CosineDecayOptions& options)
      : Decay(initial, steps, options.name),
        alpha_(options.alpha),
        warmup_target_(options.warmup_target),
        warmup_steps_(options.warmup_steps) {}

  std::string_view class_name() const override { return "CosineDecay"; }

  float at(int64_t iteration) const override {
    const float steps = single(steps_);
    if (!warmup_target_) return fade(std::min(static_cast<float>(iteration), steps), initial());
    const float warmup = single(warmup_steps_), target = single(*warmup_target_);
    const float step = std::min(static_cast<float>(iteration), steps + warmup);
    if (step < warmup) return (target - initial()) * (step / warmup) + initial();
    return fade(step - warmup, target);
  }

  void settings(SettingVisitor& visitor) override {
    visitor.visit("initial_learning_rate", initial_);
    visitor.visit("decay_steps", steps_);
    visitor.visit("alpha", alpha_);
    visitor.visit("name", name_);
    visitor.visit("warmup_target", warmup_target_);
    visitor.visit("warmup_steps", warmup_steps_);
  }

  void check() const override {
    expect_rate(*this, "initial_learning_rate", initial_);
    expect_positive(*this, "decay_steps", steps_);
    if (warmup_target_) expect_rate(*this, "warmup_target", *warmup_target_);
  }

 private:
  float fade(float step, float from) const {
    const float cosine = 0.5f * (1 + std::cos(kPi * (step / single(steps_))));
    return from * (single(1 - alpha_) * cosine + single(alpha_));
  }

  double alpha_;
  std::optional<double> warmup_target_;
  double warmup_steps_;
};

class CosineRestarts final : public Decay {
 public:
  CosineRestarts(double initial, double steps, const CosineDecayRestartsOptions& options)
      : Decay(initial, steps, options.name),
        t_mul_(options.t_mul),
        m_mul_(options.m_mul),
        alpha_(options.alpha) {}

  std::string_view class_name() const override { return "CosineDecayRestarts"; }

  float at(int64_t iteration) const override {
    float done = static_cast<float>(iteration) / single(steps_);
    float restarts = std::floor(done);
    const float t_mul = single(t_mul_);
    if (t_mul == 1) {
      done -= restarts;
    } else {
      restarts = std::floor(std::log(1 - done * (1 - t_mul)) / std::log(t_mul));
      const float before = (1 - std::pow(t_mul, restarts)) / (1 - t_mul);
      done = (done - before) / std::pow(t_mul, restarts);
    }
    const float cosine = 0.5f * std::pow(single(m_mul_), restarts) * (1 + std::cos(kPi * done));
    return initial() * (single(1 - alpha_) * cosine + single(alpha_));
  }

  void settings(SettingVisitor& visitor) override {
    visitor.visit("initial_learning_rate", initial_);
    visitor.visit("first_decay_steps", steps_);
    visitor.visit("t_mul", t_mul_);
    visitor.visit("m_mul", m_mul_);
    visitor.visit("alpha", alpha_);
    visitor.visit("name", name_);
  }

  void check() const override {
    expect_rate(*this, "initial_learning_rate", initial_);
    expect_positive(*this, "first_decay_steps", steps_);
    expect_positive(*this, "t_mul", t_mul_);
  }

 private:
  double t_mul_, m_mul_, alpha_;
};

template <typename Options>
Options named(Options options, std::string_view name) {
  if (options.name.empty()) options.name = name;
  return options;
}

SchedulePtr checked(SchedulePtr schedule) {
  schedule->check();
  return schedule;
}

}  // namespace

SchedulePtr ExponentialDecay(double initial_learning_rate, double decay_steps, double decay_rate,
                             const StaircaseOptions& options) {
  return checked(std::make_shared<Exponential>(initial_learning_rate, decay_steps, decay_rate,
                                               named(options, "ExponentialDecay")));
}

SchedulePtr InverseTimeDecay(double initial_learning_rate, double decay_steps, double decay_rate,
                             const StaircaseOptions& options) {
  return checked(std::make_shared<InverseTime>(initial_learning_rate, decay_steps, decay_rate,
                                               named(options, "InverseTimeDecay")));
}

SchedulePtr PiecewiseConstantDecay(const std::vector<double>& boundaries,
                                   const std::vector<double>& values, const std::string& name) {
  return checked(std::make_shared<PiecewiseConstant>(boundaries, values,
                                                     name.empty() ? "PiecewiseConstant" : name));
}

SchedulePtr PolynomialDecay(double initial_learning_rate, double decay_steps,
                            const PolynomialDecayOptions& options) {
  return checked(std::make_shared<Polynomial>(initial_learning_rate, decay_steps,
                                              named(options, "PolynomialDecay")));
}

SchedulePtr CosineDecay(double initial_learning_rate, double decay_steps,
                        const CosineDecayOptions& options) {
  return checked(
      std::make_shared<Cosine>(initial_learning_rate, decay_steps, named(options, "CosineDecay")));
}

SchedulePtr CosineDecayRestarts(double initial_learning_rate, double first_decay_steps,
                                const CosineDecayRestartsOptions& options) {
  return checked(std::make_shared<CosineRestarts>(initial_learning_rate, first_decay_steps,
                                                  named(options, "SGDRDecay")));
}

std::span<const std::string_view> schedule_classes() {
  static constexpr std::array<std::string_view, 6> kClasses = {
      "CosineDecay",      "CosineDecayRestarts",    "ExponentialDecay",
      "InverseTimeDecay", "PiecewiseConstantDecay", "PolynomialDecay"};
  return kClasses;
}

SchedulePtr make_schedule(std::string_view class_name) {
  for (const SchedulePtr& schedule :
       {ExponentialDecay(0, 1, 1), InverseTimeDecay(0, 1, 1), PiecewiseConstantDecay({}, {0}),
        PolynomialDecay(0, 1), CosineDecay(0, 1), CosineDecayRestarts(0, 1)}) {
    if (schedule->class_name() == class_name) return schedule;
  }
  throw Error(
      "there is no schedule {}; take CosineDecay, CosineDecayRestarts, ExponentialDecay, "
      "InverseTimeDecay, PiecewiseConstantDecay or PolynomialDecay",
      class_name);
}

}  // namespace snug
