// For tests of resuming and saving: a run with all that can go wrong in them.
#pragma once

#include "snug/nn/dropout.h"
#include "snug/nn/normalization.h"
#include "snug/testing/memory_files.h"
#include "snug/train/callbacks.h"
#include "snug/train/fit_testing.h"

namespace snug::testing {

inline constexpr int64_t kRowCount = 53;

// Everything that can go wrong in a resume: shuffling, dropout, batch norm, moments, a rate that a
// callback lowers, early stopping with its best weights, validation, a log file.
struct RunSetup {
  FileSystem* files = nullptr;
  std::shared_ptr<RecordingSource> source;
  Sequential model;
  FitOptions options;

  RunSetup(FileSystem& to, const Rows& rows, const Optimizer& optimizer = Adam(0.01))
      : files(&to),
        source(std::make_shared<RecordingSource>(rows.regression(0, 40))),
        model({Input({3}), Dense(6, "relu"), BatchNormalization(), Dropout(0.3), Dense(1)}) {
    model.compile({.optimizer = optimizer, .loss = "mse", .metrics = {"mae"}});
    options = {.batch_size = 8,
               .epochs = 6,
               .validation_data = rows.regression(40, kRowCount - 40),
               .callbacks = {EarlyStopping({.patience = 4, .restore_best_weights = true}),
                             CSVLogger("log.csv", {}, to)},
               .verbose = 0,
               .threads = 1,
               .seed = 5,
               .checkpoint = {.directory = "saved", .every_seconds = 0, .files = &to}};
    if (!optimizer->common().learning_rate.schedule()) {
      options.callbacks.push_back(ReduceLROnPlateau({.patience = 1, .min_delta = 0.05}));
    }
  }
  static Optimizer Adam(double rate) { return snug::Adam({.learning_rate = rate}); }

  History run() { return model.fit(source, options); }
};

struct Result {
  std::vector<std::vector<float>> weights;
  std::map<std::string, std::vector<double>> history;
  std::vector<int> epochs;
  std::string log;
  std::vector<int64_t> rows;
  std::string checkpoint;  // The bytes of the newest.
  friend bool operator==(const Result&, const Result&) = default;
};

inline std::string newest_checkpoint(FileSystem& files) {
  std::string newest;
  for (const std::string& name : files.list("saved")) {
    if (name.ends_with(".ckpt") && name != "best.ckpt") newest = name;
  }
  return newest.empty() ? "" : read_text(files, (Path("saved") / newest).string());
}

inline Result result_of(RunSetup& setup, const History& history) {
  return {
      setup.model.get_weights(),          history.history,      history.epoch,
      read_text(*setup.files, "log.csv"), setup.source->take(), newest_checkpoint(*setup.files)};
}

inline Result undisturbed(const Rows& rows, const Optimizer& optimizer = RunSetup::Adam(0.01)) {
  MemoryFiles files;
  RunSetup setup(files, rows, optimizer);
  const History history = setup.run();
  return result_of(setup, history);
}

}  // namespace snug::testing
