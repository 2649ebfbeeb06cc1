// What --help says beside the options: each command by examples.
#pragma once

namespace snug::cli {

inline constexpr const char* kAbout =
    "Snug trains neural networks within a memory budget: it tells you before the first step that a "
    "run cannot fit, and what would, or it runs to the end.";
inline constexpr const char* kStart = R"(
Start here:
  snug doctor                            what this machine can do
  snug check adult.csv                   what is wrong with the data, by row
  snug plan run.yaml                     how much memory a run needs, before it starts
  snug fit run.yaml --memory 256MiB      train within 256 MiB
  snug fit run.yaml --resume             go on where a killed run was
  snug fit model.keras data.x=x.npy data.y=y.npy
                                         go on training a model that Keras saved
  snug fit --help                        more about a command

A run file says what to train on, what, and how:
  data:  {train: adult.csv, label: income}     or {train: {x: x.npy, y: y.npy}}
  model:
    - dense: {units: 64, activation: relu}
    - dropout: 0.5
    - dense: {units: 1, activation: sigmoid}
  fit:   {loss: binary_crossentropy, optimizer: adam, metrics: [accuracy], epochs: 10}

Exit codes: 0 done, 1 Snug's own fault, 2 a mistake in the command, run file or model, 3 does not
fit the budget, 4 bad data, 5 numerics, 6 files and disk, 130 interrupted, 143 terminated.)";
inline constexpr const char* kFitExamples = R"(
Examples:
  snug fit run.yaml                      train as the file says
  snug fit run.yaml --memory 256MiB fit.epochs=3 model.1.dropout=0.3
                                         with other settings, each by its path
  snug fit run.yaml --dry-run            plan it, measure a few steps, and keep nothing
  snug fit run.yaml --resume             go on with the newest run, from its last checkpoint
  snug fit run.yaml --resume --run 2     go on with runs/NAME/2
  snug fit run.yaml fit.guard=skip       leave out batches whose numbers are bad
                                         (stop, the default; skip; rollback; off)
  snug fit run.yaml fit.checkpoint.every_seconds=10
                                         save more often (60 s if not given)

docs/run_file.md lists all settings of a run file.

Writes runs/NAME/N/: run.yaml as it ran, settings.json (of the command line), summary.json,
history.csv, report.txt (the plan), report.html (the memory of a step, drawn), checkpoints/, and the
models best.keras and last.keras, which Keras loads. A run that is killed goes on with the same bits
and the settings that it was started with; Ctrl-C and SIGTERM save first.)";
inline constexpr const char* kCheckpointExamples = R"(
Examples:
  snug checkpoint show runs/mnist/1/checkpoints/0000000469.ckpt
                                         what is in it: progress, settings, variables
  snug checkpoint verify FILE            are all its checksums right?)";
inline constexpr const char* kEvaluateExamples = R"(
Examples:
  snug evaluate run.yaml                 the best model of its newest run, on the validation data
  snug evaluate model.keras data.x=x.npy data.y=y.npy)";
inline constexpr const char* kPredictExamples = R"(
Examples:
  snug predict run.yaml --output y.csv   by the best model of its newest run
  snug predict run.yaml data=new.csv --output y.csv
                                         of other rows, which need no labels
  snug predict model.keras data.x=x.npy --output y.npy)";
inline constexpr const char* kConvertExamples = R"(
Examples:
  snug convert model.h5 model.keras      between Keras's formats: .keras, .h5
  snug convert model.keras m.weights.h5  its weights alone)";
inline constexpr const char* kPlanExamples = R"(
Examples:
  snug plan run.yaml                     the plan of one step, by kind and by value
  snug plan run.yaml --memory 256MiB     does it fit?
  snug plan run.yaml --memory 256MiB --batch-size 32,64,128
                                         a line for each, and the largest batch that fits;
                                         exit code 3 where none of these does
  snug plan run.yaml --curve curve.svg   step time against the budget, with its knee
  snug plan run.yaml --html plan.html    where every value stands, and when)";
inline constexpr const char* kCheckExamples = R"(
Examples:
  snug check adult.csv --label income    columns, classes, bad rows, what to mend
  snug check part-*.csv                  several files with the same columns, as one table
  snug check new.csv --against run.yaml  would a model of this run understand these rows?
  snug check x.npy                       its rows, its range, rows that are not finite
  snug check reviews.txt --text --label labels.txt
                                         texts and classes, how long they are, what is no text

Reads the whole file once or twice, in fixed memory. Exit code 4 when something is wrong.)";
inline constexpr const char* kSummaryExamples = R"(
Examples:
  snug summary run.yaml                  layers, shapes and parameters, as in Keras
  snug summary run.yaml model.0.dense.units=128)";
inline constexpr const char* kDoctorExamples = R"(
Examples:
  snug doctor                            cores, instruction set, memory limits, disk, versions
  snug doctor --json                     the same for programs)";

}  // namespace snug::cli
