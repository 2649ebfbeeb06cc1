#include <chrono>

#include "snug/base/error.h"
#include "snug/base/memory.h"
#include "snug/interop/event_file.h"
#include "snug/interop/keras_file.h"
#include "snug/train/callback_definitions.h"
#include "snug/train/model.h"
#include "snug/train/run_log.h"

namespace snug {
namespace {

constexpr std::string_view kValidation = "val_";

class TensorBoardDefinition final : public CallbackDefinition {
 public:
  TensorBoardDefinition(std::string log_dir, TensorBoardOptions options, FileSystem& files)
      : log_dir_(std::move(log_dir)), options_(std::move(options)), files_(files) {}

  std::string_view class_name() const override { return "TensorBoard"; }
  void settings(SettingVisitor& visitor) override {
    visitor.visit("log_dir", log_dir_);
    visitor.visit("histogram_freq", options_.histogram_freq);
    visitor.visit("write_graph", options_.write_graph);
    visitor.visit("write_steps_per_second", options_.write_steps_per_second);
    visitor.visit("update_freq", options_.update_freq);
  }

  bool wants_batch_logs() const override { return options_.update_freq.has_value(); }
  size_t held_bytes(const Model& model) const override { return model.bytes_to_save(); }

  void on_train_begin() override {
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
    if (options_.write_graph)
      train_.add(tf_record(model_event(wall_time(), model_json(model().network()))));
    train_.write();
  }

  void on_epoch_begin(int) override {
    start_ = Clock::now();
    epoch_batches_ = 0;
  }

  void on_train_batch_end(int64_t, const Logs& logs) override {
    ++batches_;
    ++epoch_batches_;
    if (!options_.update_freq || batches_ % *options_.update_freq != 0) return;
    for (const auto& [name, value] : logs) add(train_, batches_, "batch_" + name, value);
    train_.write();
  }

  void on_epoch_end(int epoch, Logs& logs) override {
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

  void state(StateVisitor& visitor) override {
    train_.state("train", visitor);
    validation_.state("validation", visitor);
    visitor.visit("batches", batches_);
    visitor.visit("epoch_batches", epoch_batches_);
  }

  void on_train_end(const Logs&) override {
    train_.close();
    validation_.close();
  }

 private:
  using Clock = std::chrono::steady_clock;

  static void add(RunLog& file, int64_t step, const std::string& tag, double value) {
    file.add(tf_record(scalar_event(wall_time(), step, tag, static_cast<float>(value))));
  }

  void add_validation(int epoch, const std::string& name, double value) {
    if (!validation_.is_open()) return;  // Another callback's own.
    add(validation_, model().compiled().iterations(), "evaluation_" + name + "_vs_iterations",
        value);
    add(validation_, epoch, "epoch_" + name, value);
  }

  // What Keras does not measure: the time of a step and the memory of the process.
  void add_run(int epoch) {
    add(train_, epoch, "epoch_learning_rate", model().compiled().optimizer_state().learning_rate());
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    if (epoch_batches_ > 0) {
      const auto steps = static_cast<double>(epoch_batches_);
      add(train_, epoch, "epoch_step_seconds", seconds / steps);
      if (options_.write_steps_per_second)
        add(train_, epoch, "epoch_steps_per_second", steps / seconds);
    }
    add(train_, epoch, "epoch_resident_bytes", static_cast<double>(resident_bytes()));
  }

  void add_weights(int epoch) {
    for (const VariablePtr& weight : model().weights()) {
      if (weight->type().dtype != DType::float32) continue;
      train_.add(tf_record(histogram_event(wall_time(), epoch, weight->path() + "/histogram",
                                           weight->tensor().as<float>())));
      train_.write();
    }
  }

  std::string log_dir_;
  TensorBoardOptions options_;
  FileSystem& files_;
  RunLog train_{"TensorBoard", files_}, validation_{"TensorBoard", files_};
  int64_t batches_ = 0, epoch_batches_ = 0;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

std::shared_ptr<CallbackDefinition> make_tensor_board(const std::string& log_dir,
                                                      const TensorBoardOptions& options,
                                                      FileSystem& files) {
  return std::make_shared<TensorBoardDefinition>(log_dir, options, files);
}

CallbackPtr TensorBoard(const std::string& log_dir, const TensorBoardOptions& options,
                        FileSystem& files) {
  return make_tensor_board(log_dir, options, files);
}

}  // namespace snug
