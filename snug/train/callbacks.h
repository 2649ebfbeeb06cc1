// Keras's callbacks, by their Keras names and with Keras's defaults (keras.md 1.7). Each throws
// Error when its settings make no sense: at once, or, where a reader fills them in later, when
// training begins.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "snug/base/file.h"
#include "snug/base/settings.h"
#include "snug/train/callback.h"

namespace snug {

// A `monitor` is a name of the logs: "loss", "val_loss", "val_accuracy". `mode` "auto" takes the
// direction of the loss (down) or the metric's own; "min" and "max" say it. Training does not begin
// with a name that cannot come, or with a direction that is not known.

// Stops when the monitored value has not improved by more than min_delta for `patience` epochs.
struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  double min_delta = 0;
  int64_t patience = 0;
  int64_t verbose = 0;  // 1: says in the log what it does.
  std::string mode = "auto";
  std::optional<double> baseline;  // Only what is better than this ends the wait.
  // The model ends with the weights of its best epoch, whether training was stopped or not. Keeps
  // a copy of the weights, which the plan counts.
  bool restore_best_weights = false;
  int64_t start_from_epoch = 0;
};
CallbackPtr EarlyStopping(const EarlyStoppingOptions& options = {});

// Multiplies the learning rate by `factor` when the monitored value has not improved for `patience`
// epochs. Adds learning_rate to the logs. A schedule of the optimizer's is an Error.
struct ReduceLROnPlateauOptions {
  std::string monitor = "val_loss";
  double factor = 0.1;
  int64_t patience = 10;
  int64_t verbose = 0;
  std::string mode = "auto";
  double min_delta = 1e-4;
  int64_t cooldown = 0;  // Epochs after a reduction in which nothing is counted.
  double min_lr = 0;
};
CallbackPtr ReduceLROnPlateau(const ReduceLROnPlateauOptions& options = {});

// Sets the learning rate of each epoch to schedule(epoch), or schedule(epoch, rate so far). Adds
// learning_rate to the logs.
CallbackPtr LearningRateScheduler(std::function<double(int epoch)> schedule, int64_t verbose = 0);
CallbackPtr LearningRateScheduler(std::function<double(int epoch, double rate)> schedule,
                                  int64_t verbose = 0);

// Writes the logs of every epoch as a line of a file, which has a header once.
struct CSVLoggerOptions {
  std::string separator = ",";
  bool append = false;  // Goes on with a file that is there, by the columns of its header.
};
CallbackPtr CSVLogger(const Path& filename, const CSVLoggerOptions& options = {},
                      FileSystem& files = real_files());

// Saves the state of the run in a directory and goes on from there when fit is called again after
// an interruption: in the middle of an epoch, with the same bits as a run that was never
// interrupted.
struct BackupAndRestoreOptions {
  // "epoch", or a number of steps.
  std::string save_freq = "epoch";
  bool double_checkpoint = false;  // Keeps the one before the last too.
  bool delete_checkpoint = true;   // When training has come to its end.
};
CallbackPtr BackupAndRestore(const Path& backup_dir, const BackupAndRestoreOptions& options = {},
                             FileSystem& files = real_files());

// Saves the model after every epoch, or after every `save_freq` batches. In `filepath`, {epoch:02d}
// and names of the logs ({val_loss:.2f}) stand for their values, with save_freq {batch} too; epochs
// and batches count from 1. The best value goes on from fit to fit, as in Keras.
struct ModelCheckpointOptions {
  std::string monitor = "val_loss";
  int64_t verbose = 0;
  bool save_best_only = false;     // Only when the monitored value has improved.
  bool save_weights_only = false;  // To .weights.h5; otherwise the whole model, to .keras or .h5.
  std::string mode = "auto";
  std::optional<int64_t> save_freq;               // Batches; absent: every epoch.
  std::optional<double> initial_value_threshold;  // Only what is better than this is saved.
};
CallbackPtr ModelCheckpoint(const std::string& filepath, const ModelCheckpointOptions& options = {},
                            FileSystem& files = real_files());

// Writes event files for TensorBoard: Keras's scalars (epoch_loss, evaluation_loss_vs_iterations,
// ...) to log_dir/train and log_dir/validation, and beside them the time of a step, the resident
// memory, the mean norm of the gradient and the rows that an epoch was not trained on.
struct TensorBoardOptions {
  int64_t histogram_freq = 0;  // Every so many epochs a histogram of each weight; 0: none.
  bool write_graph = true;     // The model, for the graph page.
  bool write_steps_per_second = false;
  std::optional<int64_t> update_freq;  // Every so many batches batch_loss, ...; absent: none.
  int64_t left_out_rows = 0;           // Bad rows that the data was rid of before it is trained on.
};
CallbackPtr TensorBoard(const std::string& log_dir = "logs", const TensorBoardOptions& options = {},
                        FileSystem& files = real_files());

// Calls functions; those not given are not called.
struct LambdaCallbackOptions {
  std::function<void(int epoch)> on_epoch_begin;
  std::function<void(int epoch, Logs& logs)> on_epoch_end;
  std::function<void()> on_train_begin;
  std::function<void(const Logs& logs)> on_train_end;
  std::function<void(int64_t batch)> on_train_batch_begin;
  std::function<void(int64_t batch, const Logs& logs)> on_train_batch_end;
};
CallbackPtr LambdaCallback(LambdaCallbackOptions options);

// Stops when the loss is not finite, after the batch that showed it; with the guard on, before that
// batch has changed the model. fit returns what it has.
struct TerminateOnNaNOptions {
  bool raise_error = false;  // Throws NumericsError instead.
};
CallbackPtr TerminateOnNaN(const TerminateOnNaNOptions& options = {});

// A callback that a run file can describe.
class CallbackDefinition : public Callback, public Configurable {
 public:
  bool wants_batch_logs() const override { return false; }
};

// "early_stopping", "EarlyStopping", ... with Keras's defaults, its settings to be filled in.
// Throws Error that lists the names.
std::shared_ptr<CallbackDefinition> make_callback(std::string_view name);

}  // namespace snug
