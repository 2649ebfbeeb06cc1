#include "snug/cli/next_steps.h"

#include <algorithm>

#include "snug/cli/line_settings.h"

namespace snug::cli {
namespace {

constexpr std::string_view kFirst = "Next:   ", kOther = "        ";

// Twice as many epochs; from where it is, if the run was saved.
std::string longer(const Arguments& arguments, const Session& session, int64_t epochs) {
  const Override more{.path = "fit.epochs",
                      .value = std::to_string(2 * epochs),
                      .place = fmt::format("fit.epochs={}", 2 * epochs)};
  return session.fit.checkpoint.is_on()
             ? fmt::format("{} {}", resume_suggestion(arguments), typed_text({more}))
             : suggestion(arguments, "fit", {more});
}

// About the epochs: there is no use in more of them where the loss has been rising.
std::string of_epochs(const Arguments& arguments, const Session& session, const EpochTable& epochs,
                      const Path& directory) {
  const bool validates = epochs.lowest("val_loss").has_value();
  const std::string loss = validates ? "val_loss" : "loss";
  const std::optional<int64_t> best = epochs.lowest(loss);
  if (!best) return "";
  const int64_t last = epochs.size() - 1;
  if (*best < last) {
    return fmt::format("the best {} was that of epoch {} of {}; its model is {}/best.keras\n", loss,
                       *best + 1, last + 1, directory.string());
  }
  // A callback ended it: it knew why.
  if (epochs.size() + session.fit.initial_epoch < session.fit.epochs) return "";
  return fmt::format("{:<36}{}\n", fmt::format("train longer, {} still falls:", loss),
                     longer(arguments, session, session.fit.epochs));
}

std::string of_predictions(const Arguments& arguments, const Session& session,
                           const Path& directory) {
  // A model in the place of a run file stays as it was: the trained one is another file.
  if (session.run.has_model_file()) {
    Arguments trained = arguments;
    trained.run_file = (directory / "best.keras").string();
    std::erase_if(trained.settings, [](const Override& setting) {
      return !setting.path.starts_with("data.") && setting.path != "fit.memory";
    });
    return fmt::format("use it:                             {} --output predictions.csv\n",
                       suggestion(trained, "predict"));
  }
  return fmt::format("use it:                             {} --output predictions.csv\n",
                     remembered_suggestion(arguments, "predict"));
}

std::string of_batches(const Arguments& arguments, const Session& session) {
  constexpr int64_t kDefault = 32, kTimes = 4;
  const int64_t now = session.fit.batch_size.value_or(kDefault);
  const int64_t rows = session.data->rows().value_or(0);
  if (now * kTimes > rows) return "";
  std::string sizes = std::to_string(now);
  for (int64_t size = now * kTimes; size <= std::min(rows, now * kTimes * kTimes); size *= kTimes)
    sizes += fmt::format(",{}", size);
  Arguments without = arguments;
  std::erase_if(without.settings, [](const Override& s) { return s.path == "fit.batch_size"; });
  return fmt::format("see what larger batches would take: {} --batch-size {}\n",
                     suggestion(without, "plan"), sizes);
}

}  // namespace

std::string next_steps(const Arguments& arguments, const Session& session, const EpochTable& epochs,
                       const Path& directory) {
  std::string text;
  for (const std::string& line :
       {of_epochs(arguments, session, epochs, directory),
        of_predictions(arguments, session, directory), of_batches(arguments, session),
        std::string("see all commands:                   snug --help\n")}) {
    if (!line.empty()) text += fmt::format("{}{}", text.empty() ? kFirst : kOther, line);
  }
  return text;
}

}  // namespace snug::cli
