// Looks at a step between compute and commit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "snug/ops/update_bound.h"
#include "snug/ops/update_layout.h"
#include "snug/train/guard_options.h"
#include "snug/train/runner.h"

namespace snug {

// Why a step must not be committed.
struct GuardFinding {
  enum class Kind { not_finite, overflow, too_large };
  Kind kind = Kind::not_finite;
  std::string what;  // "the gradient of dense/kernel is nan"
};

class StepGuard {
 public:
  // The runner must outlive it, and have been planned with `guarded`.
  StepGuard(Runner& runner, const GuardOptions& options);

  // After compute. Nullopt: it may be committed, and all that it will write is finite. Allocates
  // nothing then, but at the first call for each program.
  std::optional<GuardFinding> check(Program& program);
  // After commit. Throws NumericsError where a number that is not finite was written all the same:
  // only when somebody else has changed the variables.
  void committed(Program& program);
  // The variables were changed by others, or may have been: the next check looks at them.
  void forget_variables() { knows_variables_ = false; }

  // Of the step that was checked last.
  double gradient_norm() const { return gradient_norm_; }
  float learning_rate() const { return learning_rate_; }
  // The squared norm of each gradient of the first update, and the weights' names.
  std::span<const double> square_norms() const { return square_norms_; }
  std::vector<std::string> weight_names() const;

 private:
  // A weight or slot of an update, from the first to behind the last of all its elements.
  struct Piece {
    const float* from = nullptr;
    int64_t first = 0, last = 0;
    bool is_slot = false;
  };
  // The bits of the largest magnitudes, which are in the order of the numbers, with NaN above all.
  struct alignas(64) Largest {
    uint32_t weight = 0, slot = 0;
  };
  // Where a program has what is looked at.
  struct Update {
    const Node* node = nullptr;
    const ops::UpdateLayout* layout = nullptr;
    const float* learning_rate = nullptr;
    const int64_t* iterations = nullptr;
    const float* product = nullptr;  // Null where the rule has none.
    std::span<const double> square_norms;
    std::span<const float> largest;
    std::span<const float> scales;  // That the gradients are clipped by.
    const float* reach = nullptr;
    std::vector<Piece> pieces;
  };
  struct Reading {
    const Program* program = nullptr;
    std::vector<Update> updates;
    std::span<const float> committed;
  };

  static std::vector<Piece> pieces_of(const Node& node, const ops::UpdateLayout& layout,
                                      const Program& program);
  Reading& reading_of(Program& program);
  void look_at_variables(const Reading& reading);
  static Largest largest_of(std::span<const Piece> pieces, int64_t begin, int64_t end);
  std::optional<GuardFinding> check_update(const Update& update, ops::UpdateReaches& reaches,
                                           const Program& program) const;
  std::optional<GuardFinding> try_update(const Update& update, const Program& program) const;

  Runner& runner_;
  GuardOptions options_;
  std::vector<Reading> readings_;
  int64_t bindings_ = 0;                     // Of the runner, that the readings are of.
  std::vector<ops::UpdateReaches> reaches_;  // Of each update: the largest weight and slot so far.
  std::vector<Largest> found_;               // By each thread.
  bool knows_variables_ = false;
  double gradient_norm_ = 0;
  float learning_rate_ = 0;
  std::span<const double> square_norms_;
};

}  // namespace snug
