#include "snug/cli/arguments.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "snug/base/error.h"
#include "snug/base/nearest_word.h"
#include "snug/cli/help_texts.h"
#include "snug/cli/run_file.h"

namespace snug::cli {
namespace {

constexpr std::array<std::string_view, 9> kCommands = {
    "fit", "plan", "check", "summary", "evaluate", "predict", "convert", "checkpoint", "doctor"};

// What CLI11 fills in.
struct Line {
  std::string run_file, runs = "runs", against, label, action, output;
  std::vector<std::string> files;
  std::vector<std::string> settings;
  std::string memory, batch_sizes, epochs, seed, threads, run;
  std::string problem_file, curve_file, html_file;
  bool json = false, dry_run = false, resume = false, text = false;
};

CLI::App* add_command(CLI::App& app, const char* name, const char* about, const char* examples) {
  CLI::App* command = app.add_subcommand(name, about);
  command->footer(examples);
  command->allow_extras();
  return command;
}

void add_run_options(CLI::App* command, Line& line) {
  command->add_option("run_file", line.run_file, "The run file, or a model file (.keras, .h5)")
      ->type_name("RUN.YAML");
  command
      ->add_option("settings", line.settings,
                   "Settings in place of the file's, each by its path: fit.epochs=3")
      ->type_name("PATH=VALUE");
  command
      ->add_option("--memory", line.memory,
                   "The budget of the whole process: 256MiB, 2GiB; what the machine leaves if "
                   "not given")
      ->type_name("BYTES");
  command->add_option("--threads", line.threads, "Cores to use; all of them if not given")
      ->type_name("N");
  command->add_option("--runs", line.runs, "The folder that runs are kept in")
      ->type_name("FOLDER")
      ->capture_default_str();
}

void add_run_number(CLI::App* command, Line& line, const char* about) {
  command->add_option("--run", line.run, about)->type_name("N");
}

void add_fit(CLI::App& app, Line& line) {
  CLI::App* fit = add_command(app, "fit", "Train a model", kFitExamples);
  add_run_options(fit, line);
  fit->add_option("--batch-size", line.batch_sizes, "Rows of a batch")->type_name("N");
  fit->add_option("--epochs", line.epochs, "Times to go over the data")->type_name("N");
  fit->add_option("--seed", line.seed, "Of weights, shuffling and dropout")->type_name("N");
  fit->add_flag("--dry-run", line.dry_run,
                "Plan, make a few steps to measure them, and stop; nothing is kept");
  fit->add_flag("--resume", line.resume,
                "Go on with the newest run of this name; warns of settings and data that are not "
                "what they were");
  add_run_number(fit, line, "Go on with this one of runs/NAME/N instead of the newest");
}

void add_checkpoint(CLI::App& app, Line& line) {
  CLI::App* command = add_command(
      app, "checkpoint", "What a checkpoint holds, and whether it is whole", kCheckpointExamples);
  command->add_option("action", line.action, "show or verify")->type_name("ACTION");
  command->add_option("file", line.files, "The checkpoints")->type_name("FILE...");
}

void add_plan(CLI::App& app, Line& line) {
  CLI::App* plan = add_command(app, "plan", "Memory, before training", kPlanExamples);
  add_run_options(plan, line);
  plan->add_option("--batch-size", line.batch_sizes, "Rows of a batch; several with commas")
      ->type_name("N,...");
  plan->add_option("--curve", line.curve_file,
                   "Print the step time at budgets from the least up, and draw it")
      ->type_name("FILE.SVG");
  plan->add_option("--html", line.html_file, "Draw the memory of one step, value by value")
      ->type_name("FILE.HTML");
  plan->add_option("--dump-problem", line.problem_file,
                   "Write the memory problem of the step as text, for bench/plan_problem")
      ->type_name("FILE");
}

void add_check(CLI::App& app, Line& line) {
  CLI::App* check = add_command(app, "check", "What is wrong with the data", kCheckExamples);
  check
      ->add_option("data", line.run_file,
                   "A data file (.csv, .tsv, .npy, .npz, .h5, .tfrecord, IDX; .gz too) or a folder")
      ->type_name("DATA");
  check->add_option("more", line.files, "More files of the same table")->type_name("MORE...");
  check->add_option("--against", line.against, "A run file whose training data it must be like")
      ->type_name("RUN.YAML");
  check
      ->add_option("--label", line.label,
                   "The column with the classes; of texts a file, one a line")
      ->type_name("COLUMN");
  check->add_flag("--text", line.text, "The file has a text a line and is no table");
  check->add_option("--runs", line.runs, "The folder that runs are kept in")
      ->type_name("FOLDER")
      ->capture_default_str();
}

void add_all(CLI::App& app, Line& line) {
  app.name("snug");
  app.footer(kStart);
  app.set_version_flag("--version", "snug " + version());
  app.allow_extras();
  add_fit(app, line);
  add_plan(app, line);
  add_check(app, line);
  CLI::App* summary = add_command(app, "summary", "The layers of a model", kSummaryExamples);
  add_run_options(summary, line);
  add_checkpoint(app, line);
  CLI::App* evaluate =
      add_command(app, "evaluate", "Loss and metrics of a model", kEvaluateExamples);
  add_run_options(evaluate, line);
  CLI::App* predict = add_command(app, "predict", "What a model makes of data", kPredictExamples);
  add_run_options(predict, line);
  predict->add_option("--output", line.output, "The file for them")->type_name("FILE.npy|.csv");
  for (CLI::App* command : {evaluate, predict})
    add_run_number(command, line, "Take the model of this one of runs/NAME/N, not of the newest");
  CLI::App* convert =
      add_command(app, "convert", "A model from format to format", kConvertExamples);
  convert->add_option("model", line.run_file, "The model file")->type_name("IN");
  convert->add_option("output", line.output, "The file to write")->type_name("OUT");
  add_command(app, "doctor", "What this machine can do", kDoctorExamples);
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    command->add_flag("--json", line.json, "Print one JSON object at the end, and nothing else");
  }
}

void refuse_extra(const std::string& extra, const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  if (!extra.starts_with('-'))
    throw Error("{}: what is it? snug {} --help says what there is", extra, command.get_name());
  const std::vector<std::string_view> words(names.begin(), names.end());
  const std::string_view nearest = nearest_word(extra.substr(0, extra.find('=')), words);
  const bool has_settings = command.get_option_no_throw("settings") != nullptr;
  throw Error("there is no option {}; {}{}", extra, suggested(nearest, words, ""),
              nearest.empty() && has_settings
                  ? "; other settings are given by their paths, such as fit.batch_size=32 or "
                    "name=NAME"
                  : "");
}

// In our words; "--epochs: 1 required N missing" is the parser's.
[[noreturn]] void refuse_count(const std::string& told) {
  constexpr std::string_view kRequired = " 1 required ", kMissing = " missing";
  const size_t colon = told.find(':');
  if (colon == std::string::npos) throw Error("{}; see snug --help", told);
  const std::string option = told.substr(0, colon), rest = told.substr(colon + 1);
  if (rest.starts_with(kRequired) && rest.ends_with(kMissing)) {
    const size_t length = rest.size() - kRequired.size() - kMissing.size();
    throw Error("{} has no value; give {} {}", option, option,
                rest.substr(kRequired.size(), length));
  }
  if (rest.starts_with(" At Most 1 ")) throw Error("{} is given more than once", option);
  throw Error("{}; see snug --help", told);
}

// Most often it is a variable of a shell that is not set.
void refuse_empty(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (!option->nonpositional() || option->results() != std::vector<std::string>{""}) continue;
    throw Error("{} has no value; give one, or leave it out", option->get_name());
  }
}

// Of "2", "runs/NAME/2" or "--resume=2": what a person means who writes that behind --resume.
std::string run_in(const std::string& word) {
  const size_t end = word.find_last_not_of('/') + 1;
  const std::string whole = word.substr(0, end);
  const std::string last = whole.substr(whole.find_last_of("=/") + 1);
  return last.find_first_not_of("0123456789") == std::string::npos ? last : "";
}

[[noreturn]] void refuse_resume_of(const std::string& word) {
  const std::string run = run_in(word).empty() ? "N" : run_in(word);
  throw Error(
      "{}: --resume takes no value, and goes on with the newest run of the name; for "
      "runs/NAME/{} give --resume --run {}",
      word, run, run);
}

// Most often it is a file.
[[noreturn]] void refuse_word(const std::string& word, const std::string& run_file) {
  std::error_code ignored;
  const bool exists = std::filesystem::exists(word, ignored);
  if (exists && (word.ends_with(".yaml") || word.ends_with(".yml")))
    throw Error("{}: one run file at a time, and {} is given; leave one of them out", word,
                run_file);
  if (exists && is_model_file(word))
    throw Error("{}: a model is given as model={}, rows as data={}", word, word, word);
  if (exists && word.ends_with(".npy"))
    throw Error("{}: arrays are given as data.x={}, their targets as data.y=FILE.npy", word, word);
  if (exists && std::filesystem::is_directory(word, ignored))
    throw Error(
        "{}: a folder of pictures is given as data.train.image_folder={}, of texts as "
        "data.train.text_folder={}",
        word, word, word);
  if (exists) throw Error("{}: files of rows are given as data={}", word, word);
  throw Error("{}: what is it? A setting has the form path=value, such as fit.epochs=3", word);
}

Override setting_of(const std::string& word, const std::string& run_file) {
  const size_t sign = word.find('=');
  if (sign == std::string::npos || sign == 0) refuse_word(word, run_file);
  std::string path = word.substr(0, sign);
  if (path.ends_with('.') || path.starts_with('.')) refuse_word(word, run_file);
  // Most often it is a variable of a shell that is not set.
  if (sign + 1 == word.size())
    throw Error("{}: it has no value; give one, or leave it out (null stands for none)", word);
  // snug fit model.keras data=train.csv label=y
  if (path == "data") path = "data.train";
  if (path == "label" || path == "validation") path = "data." + path;
  if (path == "fit")
    throw Error("{}: fit is a section; give its settings one by one, such as fit.epochs=3", word);
  if (path.find('.') == std::string::npos && path != "name" && path != "model") {
    throw Error("{}: a setting begins with its section: fit.{}", word, word);
  }
  return {.path = path, .value = word.substr(sign + 1), .place = word};
}

void add_override(Arguments& arguments, const char* key, const std::string& value) {
  if (value.empty()) return;
  std::string option = key;
  std::ranges::replace(option, '_', '-');
  arguments.settings.push_back({.path = std::string("fit.") + key,
                                .value = value,
                                .place = fmt::format("--{} {}", option, value)});
}

// A list of sizes is for plan; a single one is a setting like any other.
void add_batch_sizes(Arguments& arguments, const std::string& sizes) {
  if (arguments.command != "plan" || sizes.find(',') == std::string::npos) {
    return add_override(arguments, "batch_size", sizes);
  }
  for (const std::string& text : CLI::detail::split(sizes, ',')) {
    const YamlValue value{.kind = YamlValue::Kind::scalar,
                          .text = text,
                          .where = "--batch-size " + sizes,
                          .path = "a batch size"};
    if (value.as_int() < 1) value.refuse("a whole number of 1 or more");
    arguments.batch_sizes.push_back(value.as_int());
  }
}

// One of them would be taken without a word.
void refuse_contradictions(const std::vector<Override>& settings) {
  for (size_t i = 0; i < settings.size(); ++i) {
    const Override& setting = settings[i];
    const auto earlier = std::ranges::find(settings, setting.path, &Override::path);
    if (earlier->value == setting.value) continue;
    throw Error("{} is given twice: {} and {}; remove one of them", setting.path, earlier->place,
                setting.place);
  }
}

int64_t run_number_of(const CLI::App& command, const Line& line) {
  if (line.run.empty()) return 0;
  const YamlValue value{.kind = YamlValue::Kind::scalar,
                        .text = line.run,
                        .where = "--run " + line.run,
                        .path = "the number of a run"};
  if (command.get_name() == "fit" && !line.resume)
    value.fail("it names the run that --resume goes on with; give --resume too, or leave it out");
  if (value.as_int() < 1) value.refuse("a whole number of 1 or more, N of runs/NAME/N");
  return value.as_int();
}

// Before anything is computed for the file.
void expect_folder(std::string_view option, const Path& file) {
  const Path folder = file.parent_path();
  std::error_code ignored;
  if (folder.empty() || std::filesystem::is_directory(folder, ignored)) return;
  throw FileError("{}{}: there is no folder {}; make it, or give another path", option,
                  file.string(), folder.string());
}

void expect_folder_or_nothing(const Path& runs) {
  std::error_code ignored;
  if (!std::filesystem::exists(runs, ignored) || std::filesystem::is_directory(runs, ignored))
    return;
  throw FileError("--runs {}: this is a file; give a folder", runs.string());
}

Arguments arguments_of(const CLI::App& command, const Line& line) {
  for (const std::string& extra : command.remaining()) refuse_extra(extra, command);
  refuse_empty(command);
  Arguments arguments{.command = command.get_name(),
                      .run_file = line.run_file,
                      .against = line.against,
                      .label = line.label,
                      .text = line.text,
                      .action = line.action,
                      .files = line.files,
                      .output = line.output,
                      .runs = line.runs,
                      .json = line.json,
                      .dry_run = line.dry_run,
                      .resume = line.resume,
                      .run_number = run_number_of(command, line),
                      .problem_file = line.problem_file,
                      .curve_file = line.curve_file,
                      .html_file = line.html_file};
  expect_folder("--dump-problem ", arguments.problem_file);
  expect_folder("--curve ", arguments.curve_file);
  expect_folder("--html ", arguments.html_file);
  expect_folder(arguments.command == "predict" ? "--output " : "", arguments.output);
  if (command.get_option_no_throw("--runs") != nullptr) expect_folder_or_nothing(arguments.runs);
  if (arguments.command == "doctor") return arguments;
  if (arguments.command == "checkpoint") {
    if (arguments.action != "show" && arguments.action != "verify")
      throw Error("what is to be done? snug checkpoint show FILE, or snug checkpoint verify FILE");
    if (arguments.files.empty())
      throw Error("which file? For example: snug checkpoint {} runs/NAME/1/checkpoints/N.ckpt",
                  arguments.action);
    return arguments;
  }
  if (arguments.command == "check" && arguments.run_file.empty()) {
    throw Error("which data? For example: snug check adult.csv");
  }
  if (arguments.run_file.empty()) {
    throw Error("which run file? For example: snug {} run.yaml", arguments.command);
  }
  if (arguments.output.empty() && arguments.command == "convert")
    throw Error("to which file? For example: snug convert {} model.keras", arguments.run_file);
  if (arguments.output.empty() && arguments.command == "predict")
    throw Error("to which file? For example: snug predict {} --output predictions.npy",
                arguments.run_file);
  for (const std::string& word : line.settings) {
    if (line.resume && word.find('=') == std::string::npos && !run_in(word).empty())
      refuse_resume_of(word);
    arguments.settings.push_back(setting_of(word, line.run_file));
  }
  add_override(arguments, "memory", line.memory);
  add_override(arguments, "epochs", line.epochs);
  add_override(arguments, "seed", line.seed);
  add_override(arguments, "threads", line.threads);
  add_batch_sizes(arguments, line.batch_sizes);
  refuse_contradictions(arguments.settings);
  return arguments;
}

}  // namespace

bool is_command(std::string_view word) {
  return std::ranges::find(kCommands, word) != kCommands.end();
}

std::string version() { return SNUG_VERSION; }

bool Arguments::is_watched() const { return ::isatty(json ? STDERR_FILENO : STDOUT_FILENO) != 0; }

static void refuse_command(const std::string& word) {
  const std::string_view nearest = nearest_word(word, kCommands);
  throw Error("there is no command {}; {}", word,
              suggested(nearest.empty() ? "" : fmt::format("snug {}", nearest), kCommands, ""));
}

ParsedArguments parse_arguments(std::span<const std::string> words) {
  if (words.size() > 1 && words[0] == "help") {
    if (!is_command(words[1])) refuse_command(words[1]);
    return parse_arguments(std::vector<std::string>{words[1], "--help"});
  }
  for (const std::string& word : words) {
    if (word.starts_with("--resume=")) refuse_resume_of(word);
  }
  CLI::App app{kAbout};
  Line line;
  add_all(app, line);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::CallForHelp&) {
    return {.arguments = {}, .text = app.help()};
  } catch (const CLI::CallForVersion& call) {
    return {.arguments = {}, .text = call.what() + std::string("\n")};
  } catch (const CLI::ArgumentMismatch& error) {
    refuse_count(error.what());
  } catch (const CLI::ParseError& error) {
    throw Error("{}; see snug --help", error.what());
  }
  const std::vector<CLI::App*> commands = app.get_subcommands();
  if (commands.empty() && (words.empty() || words[0] == "help"))
    return {.arguments = {}, .text = app.help()};
  if (commands.empty()) refuse_command(words[0]);
  return {.arguments = arguments_of(*commands[0], line), .text = {}};
}

}  // namespace snug::cli
