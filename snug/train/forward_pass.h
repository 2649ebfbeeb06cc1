// A forward step over all rows of a source, in order: evaluate and predict.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "snug/tensor/arena.h"
#include "snug/train/forward_plan.h"
#include "snug/train/model.h"
#include "snug/train/stager.h"

namespace snug {

class ForwardPass {
 public:
  enum class What { evaluate, predict };

  // Plans and binds. Throws Error for options that make no sense, DataError where there is nothing
  // to measure, BudgetError before anything is allocated when it does not fit.
  ForwardPass(Model& model, const SourcePtr& data, const EvaluateOptions& options, What what);

  // Calls `visit` after each batch, and the callbacks' hooks but the last, which the caller calls
  // with its logs. Throws DataError where a source of unknown length gives nothing to measure.
  using Visit = std::function<void(const StepGraph& step, const Stager::Batch& batch)>;
  void run(const Visit& visit);
  // After run(), which cannot be called again: leaves its step for the next call alike.
  void keep_step();

 private:
  std::string name() const { return what_ == What::evaluate ? "evaluate" : "predict"; }
  void check_options(const Source& data) const;
  std::optional<std::string> key() const;
  bool take_step();
  FitSetup plan(const ForwardStep& step);
  void bind();
  void begin_batch(int64_t batch) const;
  void end_batch(int64_t batch) const;

  Model& model_;
  SourcePtr data_;
  EvaluateOptions options_;
  What what_;
  std::optional<Stager> stager_;  // None where there are no rows.
  FitPlan plan_;
  std::optional<std::string> key_;  // Of what its step was planned from.
  Arena arena_;
};

}  // namespace snug
