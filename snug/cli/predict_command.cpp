#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>
#include <vector>

#include "snug/base/log.h"
#include "snug/base/memory.h"
#include "snug/cli/command.h"
#include "snug/cli/json_text.h"
#include "snug/cli/own_files.h"
#include "snug/cli/prediction_rows.h"
#include "snug/cli/refusing.h"
#include "snug/cli/trained_session.h"
#include "snug/train/lint.h"

namespace snug::cli {
namespace {

// Probabilities are of the second class above a half, logits above 0.
NamedClasses classes_of(TrainedSession& session) {
  Network& network = session.model.network();
  const Types types = network.output_types();
  if (types.size() != 1) return {};
  return {class_names_of(session.model.columns), types[0].shape.size_per_row(),
          gives_probabilities(network) ? 0.5F : 0.0F};
}

// Counts the rows of which a number, in any output, is not finite.
class NotFinite {
 public:
  void add(int output, int64_t first, const Tensor& batch) {
    const int64_t rows = batch.shape()[0], width = rows > 0 ? batch.size() / rows : 0;
    if (output == 0) counted_.assign(static_cast<size_t>(rows), false);
    for (int64_t row = 0; row < rows; ++row) {
      const std::span<const float> numbers = batch.as<float>().subspan(row * width, width);
      const bool finite = std::ranges::all_of(numbers, [](float x) { return std::isfinite(x); });
      if (finite || counted_[row]) continue;
      counted_[row] = true;
      if (count_++ == 0) first_ = first + row;
    }
  }

  int64_t count() const { return count_; }
  void warn(Source& data, int64_t rows) const {
    if (count_ == 0) return;
    log_message(LogLevel::warning,
                "{} of {} rows have predictions that are not finite, the first of them {}; look at "
                "them for values far from those that were trained on, at texts for ones without a "
                "word",
                count_, rows, data.place(0, first_));
  }

 private:
  std::vector<bool> counted_;  // Of the batch.
  int64_t count_ = 0, first_ = 0;
};

}  // namespace

int predict_command(const Arguments& arguments) {
  TrainedSession session = open_trained(arguments, DataNeed::inputs);
  const NamedClasses classes = classes_of(session);
  const std::unique_ptr<PredictionSink> sink =
      open_sink(arguments.output, session.model.network(), classes, row_names(session));
  refuse_own_files(session.run, "--output", sink->files());
  if (!session.trained_by.empty()) refuse_trained_on(session.trained_by, "--output", sink->files());
  int64_t rows = 0;
  NotFinite not_finite;
  refusing(session.run, [&] {
    session.model.predict(
        session.data,
        [&](int output, int64_t first, const Tensor& batch) {
          sink->add(output, first, batch);
          not_finite.add(output, first, batch);
          if (output == 0) rows += batch.shape()[0];
        },
        session.options);
  });
  sink->finish();
  not_finite.warn(*session.data, rows);
  std::vector<std::string> files;
  for (const Path& file : sink->files()) files.push_back(file.string());
  if (session.left_out > 0 && Path(arguments.output).extension() == ".npy")
    log_message(LogLevel::warning,
                "{} bad rows were left out, so its rows are not numbered as the data's are; a .csv "
                "file says the position of each",
                session.left_out);
  if (arguments.json) {
    nlohmann::ordered_json json = {
        {"command", "predict"}, {"exit", 0},      {"model", session.model_file},
        {"rows", rows},         {"files", files}, {"peak_resident_bytes", peak_resident_bytes()}};
    if (not_finite.count() > 0) json["rows_not_finite"] = not_finite.count();
    if (classes) json["classes"] = classes.names();
    fmt::print("{}\n", json_text(json));
    return 0;
  }
  fmt::print("{} {} by {} to {}\n", rows, session.rows_name, session.model_file,
             fmt::join(files, ", "));
  if (classes) fmt::print("Its numbers are of: {}\n", fmt::join(classes.columns(), ", "));
  return 0;
}

}  // namespace snug::cli
