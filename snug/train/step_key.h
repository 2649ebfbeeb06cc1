// What a step of a call like train_on_batch is planned from, as bytes: calls of equal keys can run
// the same step.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "snug/data/source.h"
#include "snug/nn/network.h"
#include "snug/train/compiled.h"
#include "snug/train/guard_options.h"

namespace snug {

struct StepCall {
  enum class What : char { train, evaluate, predict };
  What what = What::train;
  Network* network = nullptr;
  const Compiled* compiled = nullptr;  // Null where it plays no part: predict.
  const Source* source = nullptr;
  std::vector<int64_t> rows;  // Of its batches.
  int64_t memory = 0;
  int threads = 0;
  bool reproducible = false;
  GuardOptions::Policy guard = GuardOptions::Policy::off;
  bool spills = false;
};

// Nullopt where no two calls are known to be alike: a layer, loss or metric of the program's own
// may add what its settings do not say; the rows of a source that is read ahead, or that cannot go
// back, come in ways of their own; a network without shapes.
std::optional<std::string> step_key(const StepCall& call);

}  // namespace snug
