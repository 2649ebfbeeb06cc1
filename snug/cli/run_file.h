// A run file: what to train on, what, and how. Everything here throws Error that names the file,
// the line and, for a word that is not known, the nearest right one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "snug/base/file.h"
#include "snug/cli/yaml_value.h"
#include "snug/data/bad_rows.h"
#include "snug/data/columns.h"
#include "snug/data/csv_table.h"
#include "snug/data/source.h"
#include "snug/train/model.h"

namespace snug::cli {

struct RunFile {
  std::string file;  // As the user named it.
  // Of the run: `name`, or the file's name without its end, with those of the run that has left it.
  std::string name;
  YamlValue tree;  // With the settings of the command line.

  // A section of the tree (data, model, fit); null where there is none.
  const YamlValue* section(std::string_view name) const { return tree.find(name); }
  // Whether the section model names a file of Keras's.
  bool has_model_file() const;
  // A path in the file, which is relative to the file's own folder.
  Path path(const YamlValue& value) const;
};

// By its name: .keras, .h5 or .hdf5.
bool is_model_file(const std::string& file);

// With the settings of the command line put in. A model file (.keras, .h5) stands for a run file
// with nothing but that model.
RunFile read_run_file(const std::string& file, const std::vector<Override>& settings);

struct RunData {
  SourcePtr train;
  SourcePtr validation;            // Null where there is none.
  std::optional<Columns> columns;  // Of CSV files, as they were chosen and fitted.
  std::string fitted;              // What belongs to the model of it, as JSON; empty: nothing.
  BadRowOptions bad_rows;          // What the file says about them.
  int64_t left_out = 0;            // Bad rows that were left out.
};
struct DataRequest {
  // Rows of compressed files are inflated into this folder, once, and rows of text files are packed
  // there; rejected rows are written to a file there.
  Path cache;
  bool inputs_only = false;  // Targets and weights may be missing.
  bool trained = false;      // They are for a model that is trained: nothing is learned from them.
  std::string fitted;        // Of a trained model: tables and texts are read as it has learned.
  Path trained_by;           // The run file that it was trained by; empty: it is not known.
};
RunData open_data(const RunFile& run, const DataRequest& request);
// Removes what processes that were killed have left in the folder: files that were not finished,
// and bad rows that were not moved to a run's directory.
void clean_cache(const Path& cache);
// The same for CSV files, whose settings stand in the section.
bool is_csv(const YamlValue& files);
RunData open_csv(const RunFile& run, const YamlValue& data, const DataRequest& request);
// Predictions need no labels and no weights: what their columns hold does not matter.
void drop_targets(Columns& columns);
// How the section says that CSV files are to be read.
CsvTableOptions csv_table_options(const YamlValue& data, std::vector<Path> files);
// The same for texts.
bool is_text(const YamlValue& files);
// Whether a model was trained on texts, so that other files are texts too.
bool has_learned_words(const std::string& fitted);
RunData open_text(const RunFile& run, const YamlValue& data, const DataRequest& request);
// The files that a setting names: a path, a pattern (part-*.npy) or a list of these.
std::vector<Path> files_of(const RunFile& run, const YamlValue& value);
// The same for one entry of .npz, HDF5 and TFRecord files.
bool is_record_file(const YamlValue& files);
SourcePtr open_record_file(const RunFile& run, const YamlValue& files, const Path& cache,
                           bool inputs_only);
// The same for folders whose sub-folders are classes.
bool is_folder(const YamlValue& files);
// `fitted` is what a model or the training data has of other folders (RunData::fitted): its classes
// are this one's, and so is how pictures are read, where nothing else is said. It is filled in.
SourcePtr open_folder(const RunFile& run, const YamlValue& files, bool inputs_only,
                      std::string& fitted);
// The source, its inputs as sequences of rows where the section has `timeseries`.
SourcePtr as_timeseries(const YamlValue& data, SourcePtr source);
// What the file of a run's bad rows is called in the cache, by this process.
std::string rejected_name(const std::string& run);
// on_bad_row and bad_rows_at_most.
BadRowOptions read_bad_rows(const RunFile& run, const YamlValue& data, const Path& cache);
// The choices of columns in the run file's own words, for the resolved file.
void set_columns(RunFile& run, const Columns& columns);

// The layers as a Sequential, with the input that the first of them or else the data's first field
// says; or the model of a file, with its weights and as it was compiled.
Model make_model(const RunFile& run);
Model make_model(const RunFile& run, const Field& input);

// Finds mistakes in the layers, and between them and the loss, that can be found before the data is
// read, which may take long: of tables, pictures and texts. Throws Error as make_model and
// Model::compile do.
void check_model_early(const RunFile& run);

// Layers in the words of a run file.
std::vector<Layer> read_layers(const YamlValue& list);

// What `fit` says, for compile and for fit. What it does not name of the former is as `loaded`, how
// the model of a file was compiled. The validation data is not set.
CompileOptions compile_options(const RunFile& run, const CompileOptions& loaded = {});
FitOptions fit_options(const RunFile& run);
// fit.threads, for what reads its data; 0: not given.
int threads_of(const RunFile& run);
// The place of a setting of fit, or of the section, or of the file.
std::string place_of(const RunFile& run, std::string_view fit_setting);

// The run file that gives this run again: paths are absolute, and what was left out is said.
std::string resolved_text(const RunFile& run, const FitOptions& options, int64_t budget_bytes);

}  // namespace snug::cli
