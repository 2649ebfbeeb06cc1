#include "snug/train/tensor_board.h"

#include "snug/base/error.h"
#include "snug/base/log.h"
#include "snug/base/memory.h"
#include "snug/interop/keras_file.h"
#include "snug/train/callback_definitions.h"
#include "snug/train/model.h"

namespace snug {
namespace {

constexpr std::string_view kValidation = "val_";

void add(EventFile& file, int64_t step, const std::string& tag, double value) {
  file.add(scalar_event(wall_time(), step, tag, static_cast<float>(value)));
}

}  // namespace

void TensorBoardCallback::settings(SettingVisitor& visitor) {
  visitor.visit("log_dir", log_dir_);
  visitor.visit("histogram_freq", options_.histogram_freq);
  visitor.visit("write_graph", options_.write_graph);
  visitor.visit("write_steps_per_second", options_.write_steps_per_second);
  visitor.visit("update_freq", options_.update_freq);
}

size_t TensorBoardCallback::held_bytes(const Model& model) const { return model.bytes_to_save(); }

template <typename Write>
void TensorBoardCallback::writing(const Write& write) {
  if (!train_) return;
  try {
    write();
  } catch (const FileError& error) {
    log_message(LogLevel::warning, "TensorBoard: {}; training goes on without event files",
                error.what());
    train_.reset();
    validation_.reset();
  }
}

void TensorBoardCallback::on_train_begin() {
  if (options_.histogram_freq < 0 || options_.update_freq.value_or(1) < 1)
    throw Error(
        "TensorBoard: histogram_freq is {} and update_freq {}; give 0 or more epochs and 1 "
        "or more batches",
        options_.histogram_freq, options_.update_freq.value_or(1));
  train_ = std::make_unique<EventFile>(Path(log_dir_) / "train", files_);
  validation_.reset();
  batches_ = epoch_batches_ = 0;
  goes_on_ = params().resumed;
  if (!options_.write_graph || goes_on_) return;
  writing([&] {
    train_->add(model_event(wall_time(), model_json(model().network())));
    train_->flush();
  });
}

void TensorBoardCallback::on_epoch_begin(int epoch) {
  start_ = Clock::now();
  epoch_batches_ = 0;
  if (!goes_on_) return;
  goes_on_ = false;
  writing([&] {
    train_->add(restart_event(wall_time(), epoch));
    train_->flush();
  });
}

void TensorBoardCallback::on_train_batch_end(int64_t, const Logs& logs) {
  ++batches_;
  ++epoch_batches_;
  if (!options_.update_freq || batches_ % *options_.update_freq != 0) return;
  writing([&] {
    for (const auto& [name, value] : logs) add(*train_, batches_, "batch_" + name, value);
    train_->flush();
  });
}

void TensorBoardCallback::on_epoch_end(int epoch, Logs& logs) {
  writing([&] {
    for (const auto& [name, value] : logs) {
      if (name.starts_with(kValidation))
        add_validation(epoch, name.substr(kValidation.size()), value);
      else if (name != "learning_rate")
        add(*train_, epoch, "epoch_" + name, value);
    }
    add_run(epoch);
    if (options_.histogram_freq > 0 && epoch % options_.histogram_freq == 0) add_weights(epoch);
    train_->flush();
    if (validation_) validation_->flush();
  });
}

void TensorBoardCallback::on_train_end(const Logs&) {
  train_.reset();
  validation_.reset();
}

void TensorBoardCallback::add_validation(int epoch, const std::string& name, double value) {
  if (!validation_)
    validation_ = std::make_unique<EventFile>(Path(log_dir_) / "validation", files_);
  add(*validation_, model().compiled().iterations(), "evaluation_" + name + "_vs_iterations",
      value);
  add(*validation_, epoch, "epoch_" + name, value);
}

// What Keras does not measure: the time of a step and the memory of the process.
void TensorBoardCallback::add_run(int epoch) {
  add(*train_, epoch, "epoch_learning_rate", model().compiled().optimizer_state().learning_rate());
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  if (epoch_batches_ > 0) {
    const auto steps = static_cast<double>(epoch_batches_);
    add(*train_, epoch, "epoch_step_seconds", seconds / steps);
    if (options_.write_steps_per_second)
      add(*train_, epoch, "epoch_steps_per_second", steps / seconds);
  }
  add(*train_, epoch, "epoch_resident_bytes", static_cast<double>(resident_bytes()));
}

void TensorBoardCallback::add_weights(int epoch) {
  for (const VariablePtr& weight : model().weights()) {
    if (weight->type().dtype != DType::float32) continue;
    train_->add(histogram_event(wall_time(), epoch, weight->path() + "/histogram",
                                weight->tensor().as<float>()));
    train_->flush();
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
