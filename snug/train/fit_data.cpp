#include "snug/train/fit_data.h"

#include "snug/base/log.h"

namespace snug {
namespace {

void warn_of_change(const char* of, const DataPrint& before, const DataPrint& now, Source& source,
                    const char* what_follows) {
  const std::string change = change_between(before, now, source);
  if (change.empty()) return;
  log_message(LogLevel::warning,
              "the {} data is not what it was when the checkpoint was written: {}. The run goes on "
              "with the data as it is now, {}; to go on as before, give the data that it had; for "
              "the new data alone, start anew without resume",
              of, change, what_follows);
}

}  // namespace

void FitData::visit(StateVisitor& visitor) {
  visitor.visit("training.rows", training.rows);
  visitor.visit("training.sums", training.sums);
  visitor.visit("validation.rows", validation.rows);
  visitor.visit("validation.sums", validation.sums);
}

void FitData::compare(const FitData& saved, Source& training_source,
                      Source* validation_source) const {
  warn_of_change("training", saved.training, training, training_source,
                 "and will not end with the same numbers as before");
  if (validation_source == nullptr) return;
  warn_of_change("validation", saved.validation, validation, *validation_source,
                 "and its figures do not compare with those before");
}

}  // namespace snug
