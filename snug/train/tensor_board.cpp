#include "snug/train/tensor_board.h"

#include "snug/base/error.h"
#include "snug/base/memory.h"
#include "snug/interop/event_file.h"
#include "snug/interop/keras_file.h"
#include "snug/interop/network_text.h"
#include "snug/train/callback_definitions.h"
#include "snug/train/model.h"

namespace snug {
namespace {

constexpr std::string_view kValidation = "val_";

void add(RunLog& file, int64_t step, const std::string& tag, double value) {
  file.add(tf_record(scalar_event(wall_time(), step, tag, static_cast<float>(value))));
}

}  // namespace

void TensorBoardCallback::settings(SettingVisitor& visitor) {
  visitor.visit("log_dir", log_dir_);
  visitor.visit("histogram_freq", options_.histogram_freq);
  visitor.visit("write_graph", options_.write_graph);
  visitor.visit("write_steps_per_second", options_.write_steps_per_second);
  visitor.visit("update_freq", options_.update_freq);
}

// The model as text when training begins is there twice: as a record and in its file's buffer.
size_t TensorBoardCallback::passing_bytes(const Model& model) const {
  constexpr size_t kWaiting = size_t{32} << 10;
  return kWaiting + (options_.write_graph ? 2 * network_text_bytes(model.network()) : 0);
}

void TensorBoardCallback::on_train_begin() {
  if (options_.histogram_freq < 0 || options_.update_freq.value_or(1) < 1)
    throw Error(
        "TensorBoard: histogram_freq is {} and update_freq {}; give 0 or more epochs and 1 "
        "or more batches",
        options_.histogram_freq, options_.update_freq.value_or(1));
  // A run that is resumed goes on with its files: see state().
  if (params().resumed) return;
  train_.open(new_event_file(Path(log_dir_) / "train", files_));
  // Now, for a disk that fails may end a run before its first step, not after.
  if (params().validates) validation_.open(new_event_file(Path(log_dir_) / "validation", files_));
  batches_ = epoch_batches_ = 0;
  train_.write();
  if (!options_.write_graph) return;
  // Alone, for it may be larger than what a file lets wait.
  train_.add(tf_record(model_event(wall_time(), model_json(model().network()))));
  train_.write();
}

void TensorBoardCallback::on_epoch_begin(int) {
  start_ = Clock::now();
  earlier_seconds_ = 0;
  epoch_batches_ = gradients_ = skipped_rows_ = 0;
  gradient_norms_ = 0;
}

void TensorBoardCallback::on_train_batch_end(int64_t, const Logs& logs) {
  ++batches_;
  ++epoch_batches_;
  const StepFacts& step = *params().last_step;
  skipped_rows_ += step.skipped_rows;
  // That of a step that was skipped is no number to draw.
  const bool has_norm = step.gradient_norm && step.skipped_rows == 0;
  if (has_norm) {
    gradient_norms_ += *step.gradient_norm;
    ++gradients_;
  }
  if (!options_.update_freq || batches_ % *options_.update_freq != 0) return;
  for (const auto& [name, value] : logs) add(train_, batches_, "batch_" + name, value);
  if (has_norm) add(train_, batches_, "batch_gradient_norm", *step.gradient_norm);
  train_.write();
}

void TensorBoardCallback::on_epoch_end(int epoch, Logs& logs) {
  for (const auto& [name, value] : logs) {
    if (name.starts_with(kValidation))
      add_validation(epoch, name.substr(kValidation.size()), value);
    else if (name != "learning_rate")
      add(train_, epoch, "epoch_" + name, value);
  }
  add_run(epoch);
  if (options_.histogram_freq > 0 && epoch % options_.histogram_freq == 0) add_weights(epoch);
  train_.write();
  if (validation_.is_open()) validation_.write();
}

void TensorBoardCallback::on_train_end(const Logs&) {
  train_.close();
  validation_.close();
}

void TensorBoardCallback::state(StateVisitor& visitor) {
  train_.state("train", visitor);
  validation_.state("validation", visitor);
  visitor.visit("batches", batches_);
  visitor.visit("epoch_batches", epoch_batches_);
  visitor.visit("gradient_norms", gradient_norms_);
  visitor.visit("gradients", gradients_);
  visitor.visit("skipped_rows", skipped_rows_);
  double seconds = epoch_seconds();
  visitor.visit("epoch_seconds", seconds);
  if (!visitor.reads()) return;
  earlier_seconds_ = seconds;
  start_ = Clock::now();
}

void TensorBoardCallback::add_validation(int epoch, const std::string& name, double value) {
  if (!validation_.is_open()) return;  // Another callback's own.
  add(validation_, model().compiled().iterations(), "evaluation_" + name + "_vs_iterations", value);
  add(validation_, epoch, "epoch_" + name, value);
}

double TensorBoardCallback::epoch_seconds() const {
  return earlier_seconds_ + std::chrono::duration<double>(Clock::now() - start_).count();
}

// What Keras does not measure: the time of a step and the memory of the process.
void TensorBoardCallback::add_run(int epoch) {
  add(train_, epoch, "epoch_learning_rate", model().compiled().optimizer_state().learning_rate());
  const double seconds = epoch_seconds();
  if (epoch_batches_ > 0) {
    const auto steps = static_cast<double>(epoch_batches_);
    add(train_, epoch, "epoch_step_seconds", seconds / steps);
    if (options_.write_steps_per_second)
      add(train_, epoch, "epoch_steps_per_second", steps / seconds);
  }
  add(train_, epoch, "epoch_resident_bytes", static_cast<double>(resident_bytes()));
  add_guard(epoch);
}

void TensorBoardCallback::add_guard(int epoch) {
  if (gradients_ > 0)
    add(train_, epoch, "epoch_gradient_norm", gradient_norms_ / static_cast<double>(gradients_));
  add(train_, epoch, "epoch_skipped_rows",
      static_cast<double>(options_.left_out_rows + skipped_rows_));
}

void TensorBoardCallback::add_weights(int epoch) {
  for (const VariablePtr& weight : model().weights()) {
    if (weight->type().dtype != DType::float32) continue;
    train_.add(tf_record(histogram_event(wall_time(), epoch, weight->path() + "/histogram",
                                         weight->tensor().as<float>())));
    train_.write();
  }
}

std::shared_ptr<CallbackDefinition> make_tensor_board(const std::string& log_dir,
                                                      const TensorBoardOptions& options,
                                                      FileSystem& files) {
  return std::make_shared<TensorBoardCallback>(log_dir, options, files);
}

CallbackPtr TensorBoard(const std::string& log_dir, const TensorBoardOptions& options,
                        FileSystem& files) {
  return make_tensor_board(log_dir, options, files);
}

}  // namespace snug
