// The commands of `snug`, one file each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "snug/base/file.h"
#include "snug/cli/yaml_value.h"

namespace snug::cli {

// A command line as it was understood.
struct Arguments {
  std::string command;               // "fit", "plan", "check", ...
  std::string run_file;              // Or a model file; of check: the data file.
  std::string against, label;        // Of check: a run file, or a column or a file of labels,
  bool text = false;                 // and whether the data is a text a line.
  std::string action;                // Of checkpoint: "show" or "verify",
  std::vector<std::string> files;    // and the checkpoints; of check: more files of a table.
  std::string output;                // Of convert and predict.
  std::vector<Override> settings;    // fit.epochs=3, --epochs 3.
  std::vector<int64_t> batch_sizes;  // Of plan.
  Path runs = "runs";                // Where runs are kept.
  bool json = false;
  bool dry_run = false;
  bool resume = false;
  int64_t run_number = 0;  // Of the run to go on with, or whose model is used; 0: the newest.
  // Files that plan writes; empty: none.
  Path problem_file, curve_file, html_file;

  Path cache() const { return runs / ".cache"; }
  // Whether progress is shown on a terminal.
  bool is_watched() const;
};

// Each prints its result to stdout, with --json as one object, and returns the exit code. Throws
// Error for what goes wrong.
int fit_command(const Arguments& arguments);
int plan_command(const Arguments& arguments);
int summary_command(const Arguments& arguments);
int check_command(const Arguments& arguments);
int checkpoint_command(const Arguments& arguments);
int evaluate_command(const Arguments& arguments);
int predict_command(const Arguments& arguments);
int convert_command(const Arguments& arguments);
int doctor_command(const Arguments& arguments);

}  // namespace snug::cli
