#include <fmt/args.h>

#include "snug/base/error.h"
#include "snug/base/log.h"
#include "snug/base/repeated_warning.h"
#include "snug/train/callback_definitions.h"
#include "snug/train/monitor.h"

namespace snug {
namespace {

std::vector<std::string> names_of(const Logs& logs) {
  std::vector<std::string> names;
  for (const auto& [name, value] : logs) names.push_back(name);
  return names;
}

// "at_{epoch:02d}_{loss}" has epoch and loss; braces that are doubled stand for themselves.
std::vector<std::string> names_in_braces(std::string_view text) {
  std::vector<std::string> names;
  for (size_t at = 0; (at = text.find('{', at)) != std::string_view::npos; ++at) {
    if (text.substr(at).starts_with("{{")) {
      ++at;
      continue;
    }
    names.emplace_back(text.substr(at + 1, text.find_first_of(":}", at) - at - 1));
  }
  return names;
}

class ModelCheckpointDefinition final : public CallbackDefinition {
 public:
  ModelCheckpointDefinition(std::string filepath, ModelCheckpointOptions options, FileSystem& files)
      : filepath_(std::move(filepath)), options_(std::move(options)), files_(files) {
    check_mode(class_name(), options_.mode);
    if (!filepath_.empty()) check_path();
  }

  std::string_view class_name() const override { return "ModelCheckpoint"; }
  void settings(SettingVisitor& visitor) override {
    visitor.visit("filepath", filepath_);
    visitor.visit("monitor", options_.monitor);
    visitor.visit("verbose", options_.verbose);
    visitor.visit("save_best_only", options_.save_best_only);
    visitor.visit("save_weights_only", options_.save_weights_only);
    visitor.visit("mode", options_.mode);
    visitor.visit("save_freq", options_.save_freq);
    visitor.visit("initial_value_threshold", options_.initial_value_threshold);
    check_mode(class_name(), options_.mode);
  }

  size_t passing_bytes(const Model& model) const override { return model.bytes_to_save(filepath_); }
  bool wants_batch_logs() const override { return options_.save_freq.has_value(); }

  void on_train_begin() override {
    check_path();
    try_path();
    if (options_.save_freq && *options_.save_freq < 1)
      throw Error("ModelCheckpoint: save_freq is {}; give 1 batch or more, or leave it out",
                  *options_.save_freq);
    if (!options_.save_best_only) return;
    monitor_ =
        Monitor(std::string(class_name()), options_.monitor, options_.mode, 0, model(), params());
    if (!best_) best_ = options_.initial_value_threshold.value_or(monitor_.worst());
  }

  void on_epoch_begin(int epoch) override { epoch_ = epoch; }
  void on_epoch_end(int epoch, Logs& logs) override {
    if (!options_.save_freq) save_if_better(epoch, {}, logs);
  }
  void on_train_batch_end(int64_t batch, const Logs& logs) override {
    if (options_.save_freq && ++batches_ % *options_.save_freq == 0)
      save_if_better(epoch_, batch, logs);
  }

  void state(StateVisitor& visitor) override {
    double best = best_.value_or(0);
    visitor.visit("best", best);
    if (best_) best_ = best;
    visitor.visit("epoch", epoch_);
    visitor.visit("batches", batches_);
  }

 private:
  using Batch = std::optional<int64_t>;  // Where it is saved within an epoch.

  void check_path() const {
    const std::string_view path = filepath_;
    const bool weights = path.ends_with(".weights.h5");
    const bool whole = !weights && (path.ends_with(".keras") || path.ends_with(".h5"));
    if (options_.save_weights_only ? weights : whole) return;
    throw Error("ModelCheckpoint: filepath is \"{}\"; {}", filepath_,
                options_.save_weights_only ? "weights alone go to a file that ends in .weights.h5"
                                           : "a model goes to a file that ends in .keras or .h5");
  }

  // Before the first step: an epoch would be lost otherwise.
  void try_path() const {
    Logs logs = logs_to_come();
    for (const std::string& name : names_in_braces(filepath_)) {
      if (logs.contains(name) || name == "epoch" || name == "batch") continue;
      log_message(LogLevel::warning,
                  "ModelCheckpoint: filepath is \"{}\", but nothing measures {}; unless a callback "
                  "adds it to the logs, take one of {}",
                  filepath_, name, fmt::join(names_of(logs), ", "));
      logs[name] = 0;
    }
    path_of(0, options_.save_freq ? Batch(0) : std::nullopt, logs);
  }

  Logs logs_to_come() const {
    Logs logs{{"learning_rate", 0}};
    for (const MetricPtr& metric : model().compiled().phase(true, {}).all()) {
      logs[metric->name] = 0;
      if (params().validates && !options_.save_freq) logs["val_" + metric->name] = 0;
    }
    return logs;
  }

  void save_if_better(int epoch, Batch batch, const Logs& logs) {
    if (!options_.save_best_only) return static_cast<void>(save(epoch, batch, logs, ""));
    const std::optional<double> current = monitor_.value(logs);
    if (!current || !monitor_.improves(*current, *best_)) return;
    const std::string news =
        fmt::format("{} improved from {:.5f} to {:.5f}, ", options_.monitor, *best_, *current);
    // One that could not be saved is not the best: the next that is better than the file is saved.
    if (save(epoch, batch, logs, news)) best_ = *current;
  }

  // A disk that fails does not end the run, and the file that is there stays: false.
  bool save(int epoch, Batch batch, const Logs& logs, const std::string& news) {
    const std::string path = path_of(epoch, batch, logs);
    if (options_.verbose > 0)
      log_message(LogLevel::info, "Epoch {}: {}saving model to {}", epoch + 1, news, path);
    try {
      const Path folder = Path(path).parent_path();
      if (!folder.empty()) files_.create_directories(folder);
      model().save(path, files_);
    } catch (const FileError& error) {
      trouble_.failed(fmt::format(
          "ModelCheckpoint: {}. Training goes on, and saving is tried again when it is due",
          error.what()));
      return false;
    }
    trouble_.worked();
    return true;
  }

  std::string path_of(int epoch, Batch batch, const Logs& logs) const {
    fmt::dynamic_format_arg_store<fmt::format_context> values;
    values.push_back(fmt::arg("epoch", epoch + 1));
    if (batch) values.push_back(fmt::arg("batch", *batch + 1));
    for (const auto& [name, value] : logs) values.push_back(fmt::arg(name.c_str(), value));
    try {
      return fmt::vformat(filepath_, values);
    } catch (const fmt::format_error& error) {
      throw Error(
          "ModelCheckpoint: filepath is \"{}\": {}; the names are epoch, those of the logs and, "
          "with save_freq, batch",
          filepath_, error.what());
    }
  }

  std::string filepath_;
  ModelCheckpointOptions options_;
  FileSystem& files_;
  Monitor monitor_;
  std::optional<double> best_;  // From the first fit on, and over all of them.
  int epoch_ = 0;
  int64_t batches_ = 0;
  RepeatedWarning trouble_;
};

}  // namespace

std::shared_ptr<CallbackDefinition> make_model_checkpoint(const std::string& filepath,
                                                          const ModelCheckpointOptions& options,
                                                          FileSystem& files) {
  return std::make_shared<ModelCheckpointDefinition>(filepath, options, files);
}

CallbackPtr ModelCheckpoint(const std::string& filepath, const ModelCheckpointOptions& options,
                            FileSystem& files) {
  return make_model_checkpoint(filepath, options, files);
}

}  // namespace snug
