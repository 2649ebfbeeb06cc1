// Which rows of its data a run trains on and is scored by.
#pragma once

#include <optional>

#include "snug/cli/run_file.h"
#include "snug/data/checked.h"
#include "snug/data/split.h"

namespace snug::cli {

// How many classes labels may have, where the loss wants their numbers.
std::optional<int64_t> classes_of(const Model& model);

// The data of a run file is one input, and one target where `targets` are needed. Throws Error for
// a model that wants more.
void expect_one_of_each(Model& model, bool targets);

// The source without its bad rows, where the run file says that they are to be left out: what
// cannot be read, labels that the model's outputs do not have, numbers that its embeddings do not
// have. It is warned of them.
data::CheckedData without_bad_rows(const SourcePtr& source, const RunData& data,
                                   const Model& model);

// The two sides of fit.validation_split, where data.split says how they are drawn; nullopt: the
// tail is set aside.
std::optional<data::SplitData> split_by_name(const RunFile& run, const SourcePtr& source,
                                             const FitOptions& fit, const Model& model);

}  // namespace snug::cli
