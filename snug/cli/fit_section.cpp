// How a run file says compile and fit.

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "snug/base/bytes.h"
#include "snug/base/nearest_word.h"
#include "snug/base/threads.h"
#include "snug/cli/fit_words.h"
#include "snug/cli/named_callbacks.h"
#include "snug/cli/run_file.h"
#include "snug/cli/yaml_settings.h"
#include "snug/optim/optimizer.h"
#include "snug/optim/optimizer_list.h"
#include "snug/train/callbacks.h"

namespace snug::cli {
namespace {

constexpr int kMostThreads = 1024;

// A number without a unit is in bytes; nobody means so few.
int64_t budget_of(const YamlValue& value) {
  constexpr int64_t kLeast = int64_t{1} << 20;
  const int64_t bytes = value.as_bytes();
  if (bytes == 0)
    value.fail(
        "a budget of 0 leaves nothing to run in; give one such as 64MiB or 2GiB, or leave memory "
        "out to use what the machine leaves");
  if (bytes < kLeast)
    value.fail("a budget of {} is less than any program needs; give one such as 64MiB or 2GiB",
               bytes_text(bytes));
  return bytes;
}

// Those settings that are plain numbers and switches.
struct FitSettings final : Configurable {
  std::string_view class_name() const override { return "fit"; }
  void settings(SettingVisitor& visitor) override {
    visitor.visit("batch_size", options.batch_size);
    visitor.visit("epochs", epochs);
    visitor.visit("initial_epoch", initial_epoch);
    visitor.visit("validation_split", options.validation_split);
    visitor.visit("validation_batch_size", options.validation_batch_size);
    visitor.visit("validation_steps", options.validation_steps);
    visitor.visit("steps_per_epoch", options.steps_per_epoch);
    visitor.visit("verbose", verbose);
    visitor.visit("threads", threads);
    visitor.visit("reproducible", options.reproducible);
    visitor.visit("seed", seed);
  }

  FitOptions options;
  int64_t epochs = 1, initial_epoch = 0, verbose = 1, threads = 0, seed = 0;
};

// What has a form of its own.
constexpr std::array<std::string_view, 12> kOthers = {
    "loss",         "optimizer", "metrics",    "weighted_metrics", "callbacks", "memory",
    "class_weight", "guard",     "checkpoint", "shuffle",          "spill",     "validation_freq"};

// guard: skip, or guard: {policy: skip, most_skips: 10}.
struct GuardSettings final : Configurable {
  std::string_view class_name() const override { return "guard"; }
  void settings(SettingVisitor& visitor) override {
    visitor.visit("policy", policy);
    visitor.visit("most_skips_in_a_row", options.most_skips_in_a_row);
    visitor.visit("most_skips", options.most_skips);
    visitor.visit("most_rollbacks", options.most_rollbacks);
    visitor.visit("rollback_steps", options.rollback_steps);
    visitor.visit("rollback_rate", options.rollback_rate);
    visitor.visit("most_gradient", options.most_gradient);
    visitor.visit("most_loss", options.most_loss);
  }

  std::string policy = "stop";
  GuardOptions options;
};

// checkpoint: off, or checkpoint: {every_seconds: 10, keep: 3}.
struct CheckpointSettings final : Configurable {
  std::string_view class_name() const override { return "checkpoint"; }
  void settings(SettingVisitor& visitor) override {
    visitor.visit("policy", policy);
    visitor.visit("every_seconds", options.every_seconds);
    visitor.visit("every_steps", options.every_steps);
    visitor.visit("every_epochs", options.every_epochs);
    visitor.visit("keep", options.keep);
    visitor.visit("best", options.best);
    visitor.visit("best_mode", options.best_mode);
    visitor.visit("beside", options.beside);
  }

  std::string policy = "on";
  CheckpointOptions options;
};

// spill: false, spill: FOLDER, or spill: {folder: FOLDER, most: 10GiB}.
SpillOptions read_spill(const YamlValue* value) {
  SpillOptions options;
  if (value == nullptr || value->is_null()) return options;
  if (!value->is_map()) {
    const std::string word = value->as_text();
    options.allowed = word != "false" && word != "off";
    if (options.allowed && word != "true" && word != "on") options.folder = word;
    return options;
  }
  for (const YamlItem& item : value->items) {
    if (item.key == "folder") {
      options.folder = item.value.as_text();
    } else if (item.key == "most") {
      options.most_bytes = item.value.as_bytes();
    } else {
      throw PlacedError(item.where,
                        fmt::format("spill has no \"{}\"; it has folder and most, as in "
                                    "{{folder: /var/tmp, most: 10GiB}}",
                                    item.key));
    }
  }
  return options;
}

// A word alone stands for the policy.
template <typename Settings>
Settings read_policy(const YamlValue& value) {
  Settings read;
  read_settings({.name = std::string(read.class_name()), .settings = &value, .where = value.where},
                read, {.main_setting = "policy"});
  placed(value.where, [&] { read.options.check(); });
  return read;
}

[[noreturn]] void refuse_policy(const YamlValue& value, std::string_view name,
                                std::string_view policy, std::string_view wanted) {
  throw PlacedError(value.where, fmt::format("{} is \"{}\"; it must be {}", name, policy, wanted));
}

// The directory is the run's, and not known yet: any word stands for it.
CheckpointOptions read_checkpoint(const YamlValue* value) {
  if (value == nullptr) return {.directory = "checkpoints"};
  CheckpointSettings read = read_policy<CheckpointSettings>(*value);
  read.options.directory = "checkpoints";
  if (read.policy == "off" || read.policy == "false") return {};
  if (read.policy == "on" || read.policy == "true") return read.options;
  refuse_policy(*value, "checkpoint", read.policy, "on, off or a map such as {every_seconds: 10}");
}

// true, false, or blocks, which session.cpp sees to.
bool read_shuffle(const YamlValue* value) {
  if (value == nullptr) return true;
  if (value->is_scalar() && value->text == "blocks") return false;
  if (!value->is_scalar() || (value->text != "true" && value->text != "false")) {
    value->refuse("true, false, or blocks (stretches of rows, for slow disks)");
  }
  return value->as_bool();
}

GuardOptions read_guard(const YamlValue* value) {
  if (value == nullptr) return {};
  GuardSettings read = read_policy<GuardSettings>(*value);
  static constexpr std::pair<std::string_view, GuardOptions::Policy> kPolicies[] = {
      {"off", GuardOptions::Policy::off},
      {"false", GuardOptions::Policy::off},
      {"stop", GuardOptions::Policy::stop},
      {"skip", GuardOptions::Policy::skip},
      {"rollback", GuardOptions::Policy::rollback}};
  for (const auto& [word, policy] : kPolicies) {
    if (read.policy != word) continue;
    read.options.policy = policy;
    return read.options;
  }
  refuse_policy(*value, "guard", read.policy, "stop, skip, rollback or off");
}

bool is_among(std::string_view key, std::span<const std::string_view> keys) {
  return std::ranges::find(keys, key) != keys.end();
}

// The name of the optimizer that stands in a map; Adam, where there is none.
std::string optimizer_in(const YamlValue& map) {
  const YamlValue* optimizer = map.find("optimizer");
  if (optimizer == nullptr || optimizer->is_null()) return "adam";
  if (optimizer->is_map()) return optimizer->items.empty() ? "adam" : optimizer->items[0].key;
  return optimizer->is_scalar() ? optimizer->text : "adam";
}

// What many look for in fit, or beside the optimizer's name, is said of an optimizer or a callback.
// `what` such a key is not: "setting of fit".
void refuse_settings_of_parts(const YamlValue& map, std::string_view what) {
  constexpr std::array<std::string_view, 5> kOfOptimizers = {"learning_rate", "lr", "momentum",
                                                             "weight_decay", "clipnorm"};
  constexpr std::array<std::string_view, 4> kOfStopping = {"patience", "monitor", "min_delta",
                                                           "restore_best_weights"};
  for (const YamlItem& item : map.items) {
    const std::string& value = item.value.text;
    std::string right;
    if (is_among(item.key, kOfOptimizers)) {
      const std::string key = item.key == "lr" ? "learning_rate" : item.key;
      const std::string name = optimizer_in(map);
      right = fmt::format("optimizer: {{{}: {{{}: {}}}}} (fit.optimizer.{}.{}={})", name, key,
                          value, name, key, value);
    } else if (is_among(item.key, kOfStopping)) {
      right = fmt::format("callbacks: [early_stopping: {{{}: {}}}]", item.key, value);
    } else if (item.key == "validation_data") {
      right =
          "validation_split: 0.2, or validation beside train: data: {train: ..., validation: ...}";
    } else {
      continue;
    }
    throw PlacedError(item.where, fmt::format("\"{}\" is no {}; give {}", item.key, what, right));
  }
}

const YamlValue& fit_of(const RunFile& run) {
  const YamlValue* fit = run.section("fit");
  if (fit == nullptr) {
    throw PlacedError(run.file, "there is no fit; give fit: {loss: ..., optimizer: adam}");
  }
  fit->expect_map("a map, such as {loss: mse, optimizer: adam, epochs: 10}");
  refuse_settings_of_parts(*fit, "setting of fit");
  return *fit;
}

// A list of words with or without settings; one of them may stand alone.
void each_named(const YamlValue* value, std::string_view what,
                const std::function<void(const NamedSettings&)>& visit) {
  if (value == nullptr || value->is_null()) return;
  if (value->is_list()) {
    for (const YamlValue& element : value->list) visit(named_settings(element, what));
  } else if (value->is_map()) {
    for (const YamlItem& item : value->items) {
      visit({item.key, item.value.is_null() ? nullptr : &item.value, item.where});
    }
  } else {
    visit(named_settings(*value, what));
  }
}

SchedulePtr read_schedule(const YamlValue& value) {
  const NamedSettings named = named_settings(
      value, "a number, or a schedule with its settings, such as {cosine_decay: {...}}");
  for (const std::string_view name : schedule_classes()) {
    if (!same_word(name, named.name)) continue;
    const SchedulePtr schedule = make_schedule(name);
    read_settings(named, *schedule);
    placed(named.where, [&] { schedule->check(); });
    return schedule;
  }
  const std::span<const std::string_view> classes = schedule_classes();
  throw PlacedError(named.where,
                    fmt::format("\"{}\" is no schedule; {}", named.name,
                                suggested(nearest_class(named.name, classes), classes, "")));
}

Optimizer read_optimizer(const YamlValue& value) {
  refuse_settings_of_parts(value, "optimizer");
  const NamedSettings named =
      named_settings(value, "an optimizer: adam, or {adam: {learning_rate: 0.001}}");
  Optimizer optimizer = placed(named.where, [&] { return make_optimizer(named.name); });
  const YamlValue* rate = named.settings ? named.settings->find("learning_rate") : nullptr;
  if (rate != nullptr && rate->is_map()) optimizer->set_learning_rate(read_schedule(*rate));
  read_settings(named, *optimizer.definition());
  placed(named.where, [&] { optimizer->check(); });
  return optimizer;
}

Loss read_loss(const YamlValue& value) {
  const NamedSettings named = named_settings(
      value, "a loss: mse, or {sparse_categorical_crossentropy: {from_logits: true}}");
  Loss loss = placed(named.where, [&] { return make_loss(named.name); });
  if (named.settings != nullptr) read_settings(named, *loss.definition());
  return loss;
}

std::vector<Metric> read_metrics(const YamlValue* value) {
  std::vector<Metric> metrics;
  each_named(value, "a metric: accuracy, or {auc: {curve: PR}}", [&](const NamedSettings& named) {
    Metric metric = placed(named.where, [&] { return Metric(named.name); });
    if (named.settings != nullptr) {
      if (!metric.definition()) named.settings->refuse("left out: accuracy has no settings");
      read_settings(named, *metric.definition());
      metric = Metric(metric.definition());
    }
    metrics.push_back(metric);
  });
  return metrics;
}

std::vector<CallbackPtr> read_callbacks(const RunFile& run) {
  std::vector<CallbackPtr> callbacks;
  for (const NamedSettings& named : named_callbacks(run)) {
    const auto callback = placed(named.where, [&] { return make_callback(named.name); });
    read_settings(named, *callback);
    callbacks.push_back(callback);
  }
  return callbacks;
}

// {0: 1, 1: 5}, or [1, 5].
std::map<int64_t, double> read_class_weight(const YamlValue* value) {
  std::map<int64_t, double> weights;
  if (value == nullptr || value->is_null()) return weights;
  if (value->is_map()) {
    for (const YamlItem& item : value->items) {
      const YamlValue label{.kind = YamlValue::Kind::scalar,
                            .text = item.key,
                            .where = item.where,
                            .path = "a class of " + value->path};
      weights[label.as_int()] = item.value.as_double();
    }
    return weights;
  }
  if (!value->is_list()) value->refuse("a weight for each class, such as {0: 1, 1: 5}");
  for (const double weight : value->as_doubles()) {
    weights.emplace(static_cast<int64_t>(weights.size()), weight);
  }
  return weights;
}

// 2, or [1, 5]: a list of one is not a number.
ValidationFreq read_validation_freq(const YamlValue* value) {
  if (value == nullptr || value->is_null()) return 1;
  std::vector<int> numbers;
  for (const int64_t number : value->as_ints()) {
    if (number < 1 || number > INT32_MAX) value->refuse("whole numbers of 1 or more");
    numbers.push_back(static_cast<int>(number));
  }
  if (!value->is_list()) return numbers.at(0);
  return numbers;
}

int checked_int(const YamlValue& fit, const char* key, int64_t value, int64_t least) {
  if (value >= least && value <= INT32_MAX) return static_cast<int>(value);
  fit.find(key)->refuse(fmt::format("a whole number of {} or more", least));
}

}  // namespace

std::vector<ConfigurablePtr> plain_fit_settings() {
  return {std::make_shared<FitSettings>(), std::make_shared<GuardSettings>(),
          std::make_shared<CheckpointSettings>()};
}
std::span<const std::string_view> other_fit_settings() { return kOthers; }

std::vector<NamedSettings> named_callbacks(const RunFile& run) {
  std::vector<NamedSettings> callbacks;
  const YamlValue* fit = run.section("fit");
  each_named(fit == nullptr ? nullptr : fit->find("callbacks"),
             "a callback: {early_stopping: {patience: 3}}",
             [&](const NamedSettings& named) { callbacks.push_back(named); });
  return callbacks;
}

CompileOptions compile_options(const RunFile& run, const CompileOptions& loaded) {
  const YamlValue& fit = fit_of(run);
  CompileOptions options = loaded;
  if (const YamlValue* value = fit.find("loss"))
    options.loss = read_loss(*value);
  else if (options.loss.losses().empty())
    fit.fail("there is no loss; give one, such as loss: mse");
  if (const YamlValue* value = fit.find("optimizer")) options.optimizer = read_optimizer(*value);
  if (const YamlValue* value = fit.find("metrics")) {
    options.metrics = read_metrics(value);
    options.output_metrics.clear();
  }
  if (const YamlValue* value = fit.find("weighted_metrics"))
    options.weighted_metrics = read_metrics(value);
  return options;
}

int threads_of(const RunFile& run) {
  const YamlValue* fit = run.section("fit");
  const YamlValue* threads = fit != nullptr ? fit->find("threads") : nullptr;
  return threads == nullptr
             ? 0
             : static_cast<int>(std::clamp<int64_t>(threads->as_int(), 0, kMostThreads));
}

FitOptions fit_options(const RunFile& run) {
  const YamlValue& fit = fit_of(run);
  FitSettings read;
  read_settings({.name = "fit", .settings = &fit, .where = fit.where}, read,
                {.main_setting = "", .others = kOthers});
  FitOptions options = std::move(read.options);
  options.whole_process = true;
  options.epochs = checked_int(fit, "epochs", read.epochs, 0);
  options.initial_epoch = checked_int(fit, "initial_epoch", read.initial_epoch, 0);
  options.verbose = checked_int(fit, "verbose", read.verbose, 0);
  options.threads = checked_int(fit, "threads", read.threads, 0);
  if (options.threads > kMostThreads) {
    fit.find("threads")->refuse(
        fmt::format("{} at most; this machine has {} cores", kMostThreads, hardware_threads()));
  }
  if (options.batch_size && *options.batch_size < 1)
    fit.find("batch_size")->refuse("a whole number of 1 or more");
  if (!(options.validation_split >= 0 && options.validation_split < 1))
    fit.find("validation_split")->refuse("from 0 up to, but not, 1");
  if (read.seed < 0) fit.find("seed")->refuse("a whole number of 0 or more");
  options.seed = static_cast<uint64_t>(read.seed);
  options.validation_freq = read_validation_freq(fit.find("validation_freq"));
  if (const YamlValue* memory = fit.find("memory")) options.memory = budget_of(*memory);
  options.class_weight = read_class_weight(fit.find("class_weight"));
  options.callbacks = read_callbacks(run);
  options.spill = read_spill(fit.find("spill"));
  options.shuffle = read_shuffle(fit.find("shuffle"));
  options.guard = read_guard(fit.find("guard"));
  options.checkpoint = read_checkpoint(fit.find("checkpoint"));
  return options;
}

}  // namespace snug::cli
