#include "snug/cli/next_steps.h"

#include <algorithm>

#include "snug/cli/line_settings.h"
#include "snug/cli/resume.h"

namespace snug::cli {
namespace {

constexpr std::string_view kFirst = "Next:   ", kOther = "        ";

// Twice as many epochs as it has trained; from where it is, if the run was saved.
std::string longer(const Arguments& arguments, bool was_saved, int64_t epochs) {
  const Override more{.path = "fit.epochs",
                      .value = std::to_string(2 * epochs),
                      .place = fmt::format("fit.epochs={}", 2 * epochs)};
  return was_saved ? fmt::format("{} {}", resume_suggestion(arguments), typed_text({more}))
                   : suggestion(arguments, "fit", {more});
}

// About the epochs: there is no use in more of them where the loss has been rising.
std::string of_epochs(const Arguments& arguments, const Session& session, const EpochTable& epochs,
                      const Path& directory) {
  const bool validates = epochs.lowest("val_loss").has_value();
  const std::string loss = validates ? "val_loss" : "loss";
  const std::optional<int64_t> best = epochs.lowest(loss);
  if (!best) return "";
  const int64_t last = epochs.size() - 1, trained = epochs.size() + session.fit.initial_epoch;
  if (*best < last) {
    return fmt::format("the best {} was that of epoch {} of {}; its model is {}/best.keras\n", loss,
                       *best + 1, last + 1, directory.string());
  }
  // A callback ended it: it knew why.
  if (trained < session.fit.epochs) return "";
  if (!epochs.falls(loss) || epochs.last().at(loss) == 0) return "";
  const std::string why =
      last > 0 ? fmt::format("train longer, {} still falls:", loss) : std::string("train longer:");
  return fmt::format("{:<36}{}\n", why, longer(arguments, can_go_on(session, directory), trained));
}

std::string of_predictions(const Arguments& arguments, const Session& session,
                           const Path& directory) {
  // A model in the place of a run file stays as it was: the trained one is another file.
  if (session.run.has_model_file()) {
    Arguments trained = arguments;
    trained.run_file = (directory / "best.keras").string();
    trained.run_number = 0;
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

// Without a loss that is a number there is nothing to be used, or nothing was trained.
std::string of_no_loss(const Arguments& arguments, const Session& session) {
  if (session.fit.guard.policy != GuardOptions::Policy::off) {
    return "no epoch has a loss: every batch was left out; the warnings above say why\n";
  }
  const Override guard{.path = "fit.guard", .value = "stop", .place = "fit.guard=stop"};
  return fmt::format(
      "the loss is no number, and so are the model's weights: it cannot be used. The guard names "
      "the\n{}first step that goes wrong, and what to do: {}\n",
      kOther, suggestion(arguments, "fit", {guard}));
}

bool has_loss(const EpochTable& epochs) {
  return epochs.size() == 0 || epochs.lowest("loss") || epochs.lowest("val_loss");
}

std::string of_nothing_made(const Arguments& arguments, const Session& session,
                            const EpochTable& epochs, const Path& directory) {
  const int64_t trained = epochs.size() + session.fit.initial_epoch;
  if (trained >= session.fit.epochs) {
    return fmt::format(
        "Note:   nothing was left to train: the run has {} epoch{}, and fit.epochs is {}; give "
        "more "
        "to go on\n",
        trained, trained == 1 ? "" : "s", session.fit.epochs);
  }
  const std::string typed = "model=" + std::filesystem::absolute(directory / "last.keras").string();
  return fmt::format(
      "Note:   nothing was trained: a callback, or the end of the data, has ended this run after "
      "epoch {}, and\n{}it stays at its end; train its model further in a new run: {}\n",
      trained, kOther,
      suggestion(arguments, "fit", {{.path = "model", .value = typed.substr(6), .place = typed}}));
}

}  // namespace

std::string next_steps(const Arguments& arguments, const Session& session, const EpochTable& epochs,
                       const Path& directory) {
  if (!has_loss(epochs)) return std::string(kFirst) + of_no_loss(arguments, session);
  std::string text;
  for (const std::string& line :
       {of_epochs(arguments, session, epochs, directory),
        session.fit.epochs == 0 ? "" : of_predictions(arguments, session, directory),
        of_batches(arguments, session),
        std::string("see all commands:                   snug --help\n")}) {
    if (!line.empty()) text += fmt::format("{}{}", text.empty() ? kFirst : kOther, line);
  }
  return text;
}

std::string idle_text(const Arguments& arguments, const Session& session, const FitRun& fit,
                      const EpochTable& epochs, const Path& directory) {
  if (fit.steps_made() > 0) return "";
  if (!arguments.resume)
    return fmt::format("Note:   nothing was trained: fit.epochs is {}; the model is as it was\n",
                       session.fit.epochs);
  return of_nothing_made(arguments, session, epochs, directory);
}

}  // namespace snug::cli
