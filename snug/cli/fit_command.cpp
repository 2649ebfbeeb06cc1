#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>

#include "snug/base/bytes.h"
#include "snug/base/log.h"
#include "snug/base/memory.h"
#include "snug/cli/command.h"
#include "snug/cli/json_text.h"
#include "snug/cli/line_settings.h"
#include "snug/cli/next_steps.h"
#include "snug/cli/resume.h"
#include "snug/cli/run_callbacks.h"
#include "snug/cli/run_directory.h"
#include "snug/cli/session.h"
#include "snug/cli/versions.h"
#include "snug/plan/memory_map.h"
#include "snug/train/progress.h"

namespace snug::cli {
namespace {

using Json = nlohmann::ordered_json;

// A bar is for a terminal; elsewhere a line an epoch is enough.
void choose_progress(Session& session, const Arguments& arguments) {
  if (session.run.section("fit")->find("verbose") != nullptr) return;
  session.fit.verbose = arguments.is_watched() ? 1 : 2;
}

Json summary_of(const Session& session, const FitPlan& plan, const RunWatch& watch, int exit) {
  Json metrics = Json::object();
  if (watch.epochs().size() > 0) {
    for (const auto& [name, value] : watch.epochs().last()) metrics[name] = value;
  }
  return {{"command", "fit"},
          {"exit", exit},
          {"name", session.run.name},
          {"metrics", metrics},
          {"epochs", watch.epochs().size()},
          {"steps", watch.steps()},
          {"seconds", watch.seconds()},
          {"budget_bytes", plan.budget_bytes},
          {"planned_bytes", plan.total_bytes()},
          {"peak_resident_bytes", peak_resident_bytes()},
          {"spill_bytes_written_per_step", plan.spilled_bytes().written},
          {"spill_bytes_read_per_step", plan.spilled_bytes().read},
          {"bad_rows", session.left_out},
          {"seed", session.fit.seed},
          {"versions", versions()}};
}

// A new run has a new directory, once its plan is accepted; one that goes on has its own.
RunDirectory directory_of(const Arguments& arguments, const Session& session) {
  const std::string& name = session.run.name;
  return arguments.resume ? RunDirectory::of(arguments.runs, name, arguments.run_number)
                          : RunDirectory(arguments.runs, name);
}

// The memory map of the step, in the memory that the step had: the page stays within the budget.
// One that would not (thousands of values in a few kilobytes) is left to `snug plan --html`.
void write_report(const Session& session, FitRun& fit, const RunDirectory& directory) {
  // Of the page while it is made, and what every plan leaves for the end of a run.
  constexpr int64_t kOfAStep = 1000, kSpare = int64_t{128} << 10;
  const Program& program = *fit.plan().training->programs().at(0);
  if (kOfAStep * std::ssize(program.plan().steps) > fit.plan().arena_bytes + kSpare) return;
  fit.free_arena();
  const std::string title =
      fmt::format("{}, batches of {} rows", session.run.name, fit.plan().batch_size);
  directory.write("report.html", memory_map_html(program.problem(), program.plan(), title));
}

void write_results(const Session& session, FitRun& fit, const RunDirectory& directory,
                   RunWatch& watch, const Json& summary) {
  watch.write_history();
  directory.write("summary.json", json_text(summary, 2) + "\n");
  write_report(session, fit, directory);
}

// Rows in quarantine were written down before the run had a directory.
void keep_rejected(const Session& session, const RunDirectory& directory) {
  if (session.rejected.empty() || !real_files().size(session.rejected)) return;
  real_files().rename(session.rejected, directory.path() / "rejected.csv");
  log_message(LogLevel::info, "{} bad rows were left out; their records are in {}",
              session.left_out, (directory.path() / "rejected.csv").string());
}

int exit_code_of_signal() { return caught_signal() == 0 ? 0 : 128 + caught_signal(); }

// What a run that was stopped early has not come to is not there.
std::string kept_text(const Path& directory) {
  constexpr std::array<std::pair<const char*, const char*>, 10> kParts = {
      {{"best.keras", ""},
       {"last.keras", ""},
       {"run.yaml", ""},
       {"settings.json", " (of the command line)"},
       {"summary.json", ""},
       {"history.csv", ""},
       {"report.txt", ""},
       {"report.html", " (the memory of a step)"},
       {"events", " (for TensorBoard)"},
       {"checkpoints", ""}}};
  std::string text;
  for (const auto& [name, note] : kParts) {
    if (!std::filesystem::exists(directory / name)) continue;
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", name, note);
  }
  return text;
}

// For suggestions: of two runs that ran beside each other, --resume alone takes the one that began
// last; with the run file that a run has left, that run.
Arguments with_number(Arguments arguments, const Session& session, const RunDirectory& directory) {
  const int64_t own = RunDirectory::number_of(arguments.runs, session.run.name, arguments.run_file);
  const int64_t alone =
      own > 0 ? own : RunDirectory::newest(arguments.runs, session.run.name).number();
  arguments.run_number = alone == directory.number() ? 0 : directory.number();
  return arguments;
}

// What can be done about a run that a signal has stopped.
std::string next_after_signal(const Arguments& arguments, const Session& session,
                              const FitRun& fit) {
  if (!session.fit.checkpoint.is_on())
    return "fit.checkpoint is off, so this run cannot go on from here; leave that out next time";
  // One that the signal met at its very end has saved its end.
  if (fit.was_saved() || !fit.was_interrupted())
    return fmt::format("go on where it stopped: {}", resume_suggestion(arguments));
  return fmt::format(
      "its last state could not be saved, as warned of above; go on from the checkpoint before it, "
      "if there is one: {}",
      resume_suggestion(arguments));
}

void print_end(const Arguments& arguments, const Session& session, const FitRun& fit,
               const RunDirectory& directory, const Json& summary, const RunWatch& watch) {
  const auto bytes = [&](const char* key) { return bytes_text(summary[key].get<int64_t>()); };
  const Logs last = watch.epochs().size() == 0 ? Logs() : watch.epochs().last();
  fmt::print("\n{} after {} steps and {:.1f} s{}\n",
             summary["exit"] == 0 ? "Done" : "Stopped by a signal", watch.steps(), watch.seconds(),
             logs_text(last));
  fmt::print("Memory: at most {} of the budget of {} (planned: {})\n", bytes("peak_resident_bytes"),
             bytes("budget_bytes"), bytes("planned_bytes"));
  fmt::print("Kept:   {}/ with {}\n", directory.path().string(), kept_text(directory.path()));
  if (summary["exit"] != 0) {
    fmt::print("Next:   {}\n", next_after_signal(arguments, session, fit));
    return;
  }
  fmt::print("{}{}", idle_text(arguments, session, fit, watch.epochs(), directory.path()),
             next_steps(arguments, session, watch.epochs(), directory.path()));
}

// One that never began would be the newest of its name, with nothing that --resume could go on
// from.
void remove_directory(const RunDirectory& directory) {
  std::error_code ignored;
  std::filesystem::remove_all(directory.path(), ignored);
}

CheckpointOptions checkpoints_in(const RunDirectory& directory, CheckpointOptions options) {
  if (options.is_on()) options.directory = directory.path() / "checkpoints";
  return options;
}

void write_start(const Arguments& arguments, const Session& session, FitRun& fit,
                 const RunDirectory& directory) {
  // First of all: --resume of another process must see that this one runs.
  if (!arguments.resume) fit.set_checkpoint(checkpoints_in(directory, session.fit.checkpoint));
  const FitPlan& plan = fit.plan();
  const std::string resolved = resolved_text(session.run, session.fit, plan.budget_bytes);
  fit.set_description(resolved);
  const auto write = [&arguments, &plan, &directory, resolved] {
    directory.write("run.yaml", resolved);
    directory.write("report.txt", plan.text());
    remember_settings(directory.path(), arguments.settings);
  };
  if (!arguments.resume) write();
  // One that goes on has those of before until it is known that it can. Where rows in quarantine
  // are is said only of a directory that stays.
  fit.set_begun([&arguments, &session, &directory, write] {
    if (arguments.resume) write();
    keep_rejected(session, directory);
  });
  if (!arguments.json) {
    fmt::print("Plan:   {} of the budget of {}, by kind and by value in {}/report.txt\n",
               bytes_text(plan.total_bytes()), bytes_text(plan.budget_bytes),
               directory.path().string());
    std::fflush(stdout);
  }
}

// Where it fails, what it has come to is written down.
void run_to_end(const Arguments& arguments, const Session& session, FitRun& fit,
                const RunDirectory& directory, RunWatch& watch) {
  try {
    placed(session.run.file, [&] {
      write_start(arguments, session, fit, directory);
      catch_signals();
      fit.run();
    });
  } catch (const Error& error) {
    if (!fit.has_begun()) {
      // A run that cannot go on so stays as it was.
      if (!arguments.resume) remove_directory(directory);
      throw;
    }
    Json summary = summary_of(session, fit.plan(), watch, error.exit_code());
    summary["error"] = error.what();
    try {
      write_results(session, fit, directory, watch, summary);
    } catch (const FileError&) {
      // What went wrong first is what the user must hear.
    }
    if (fit.was_saved()) {
      log_message(LogLevel::info,
                  "Kept:   {}/ with a checkpoint of the state before it; once it is mended, go on "
                  "there with\n        {}",
                  directory.path().string(),
                  resume_suggestion(with_number(arguments, session, directory)));
    }
    throw;
  }
}

// Of a run whose checkpoints are damaged, all of them, a model may be left.
std::unique_ptr<FitRun> make_fit_or_say_what_is_left(const Arguments& arguments, Session& session) {
  try {
    return make_fit(session);
  } catch (const CorruptFile& error) {
    if (!arguments.resume) throw;
    const Path model = model_left(directory_of(arguments, session).path());
    if (model.empty()) throw;
    throw CorruptFile("{}; its model {} is there, to be trained further in a new run: {}",
                      error.what(), model.filename().string(),
                      further_suggestion(arguments, model));
  }
}

}  // namespace

int fit_command(const Arguments& given) {
  Arguments arguments = with_remembered(given);
  if (arguments.dry_run) return plan_command(arguments);
  Session session = open_session(arguments);
  choose_progress(session, arguments);
  const RunCallbacks callbacks = add_callbacks(session);
  RunWatch& watch = *callbacks.watch;
  session.fit.interrupted = [] { return caught_signal() != 0; };
  // One that has nothing to go on from is a new one: what the old one has left stays.
  if (arguments.resume)
    arguments.resume = has_checkpoint(arguments, session, directory_of(arguments, session).path());
  session.fit.resume = arguments.resume;
  // A new run has no directory before its plan is accepted; that it saves is planned with.
  if (arguments.resume) {
    const RunDirectory resumed = directory_of(arguments, session);
    expect_same_callbacks(arguments, session.run, resumed.path());
    warn_of_changes(arguments, resumed.path(), resolved_text(session.run, session.fit, 0),
                    given.settings);
    session.fit.checkpoint = checkpoints_in(resumed, session.fit.checkpoint);
  }
  const std::unique_ptr<FitRun> fit = make_fit_or_say_what_is_left(arguments, session);

  const RunDirectory directory = directory_of(arguments, session);
  callbacks.save_to(directory.path());
  run_to_end(arguments, session, *fit, directory, watch);
  Json summary = summary_of(session, fit->plan(), watch, exit_code_of_signal());
  write_results(session, *fit, directory, watch, summary);
  summary["directory"] = directory.path().string();
  if (arguments.json) {
    fmt::print("{}\n", json_text(summary));
  } else {
    print_end(with_number(arguments, session, directory), session, *fit, directory, summary, watch);
  }
  return exit_code_of_signal();
}

}  // namespace snug::cli
