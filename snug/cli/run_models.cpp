#include "snug/cli/run_models.h"

#include <cmath>

#include "snug/base/heap.h"
#include "snug/train/model.h"
#include "snug/train/run_state.h"

namespace snug::cli {
namespace {

constexpr const char* kBest = "best.keras";

// The description of a deep model is megabytes: what was free before it does not stand beside it.
void save(Model& model, const Path& path) {
  release_free_heap();
  model.save(path);
  release_free_heap();
}

}  // namespace

size_t RunModels::passing_bytes(const Model& model) const { return model.bytes_to_save(kBest); }

void RunModels::on_epoch_end(int, Logs& logs) {
  const auto found = logs.find(params().validates ? "val_loss" : "loss");
  // An epoch that did not validate says nothing about which is best; a NaN is never the best.
  if (found == logs.end() || !(found->second < best_.value_or(INFINITY))) return;
  try {
    save(model(), folder_ / kBest);
    best_ = found->second;
    trouble_.worked();
  } catch (const FileError& error) {
    trouble_.failed(fmt::format(
        "{}. Training goes on, the best.keras that is there stays, and the next epoch that is "
        "better is tried",
        error.what()));
  }
}

void RunModels::state(StateVisitor& visitor) {
  bool has_best = best_.has_value();
  double best = best_.value_or(0);
  visitor.visit("has_best", has_best);
  visitor.visit("best", best);
  if (visitor.reads() && has_best) best_ = best;
}

void RunModels::on_train_end(const Logs&) {
  try {
    save(model(), folder_ / "last.keras");
  } catch (const FileError& error) {
    throw FileError(
        "{}. The training itself is done: the same command with --resume goes on from the last "
        "checkpoint that could be saved, and writes it",
        error.what());
  }
}

}  // namespace snug::cli
