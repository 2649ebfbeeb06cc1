// A network with compile and fit: what users hold.
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "snug/base/bytes.h"
#include "snug/base/file.h"
#include "snug/data/source.h"
#include "snug/nn/compile.h"
#include "snug/nn/network.h"
#include "snug/train/callback.h"
#include "snug/train/checkpoint_options.h"
#include "snug/train/compiled.h"
#include "snug/train/fit_plan.h"
#include "snug/train/guard_options.h"
#include "snug/train/spill_options.h"

namespace snug {

class Dataset;
class OneThread;

// Keras's validation_freq: a number is every so many epochs, a list is after these epochs alone,
// counted from 1.
class ValidationFreq {
 public:
  ValidationFreq(int every) : numbers_{every} {}  // NOLINT: .validation_freq = 2
  ValidationFreq(std::initializer_list<int> epochs) : is_list_(true), numbers_(epochs) {}
  ValidationFreq(std::vector<int> epochs)  // NOLINT
      : is_list_(true), numbers_(std::move(epochs)) {}

  bool includes(int epoch) const;  // Counted from 0.
  void check() const;              // Throws Error where a number is below 1, or the list empty.

 private:
  bool is_list_ = false;
  std::vector<int> numbers_;
};

struct FitOptions {
  std::optional<int64_t> batch_size;  // 32, or ceil(rows / steps_per_epoch) where steps are given.
  int epochs = 1;                     // The last epoch's number, as in Keras: initial_epoch counts.
  int initial_epoch = 0;
  bool shuffle = true;
  double validation_split = 0;  // The last rows, before shuffling.
  SourcePtr validation_data;
  std::optional<int64_t> validation_batch_size;
  std::optional<int64_t> validation_steps;
  ValidationFreq validation_freq = 1;
  std::optional<int64_t> steps_per_epoch;
  std::map<int64_t, double> class_weight;
  std::vector<CallbackPtr> callbacks;
  int verbose = 1;  // 0 silent, 1 a bar, 2 a line an epoch; to the log sink.
  // Every byte that Snug adds stays within it; the caller's own arrays are not counted. 0: what the
  // machine leaves.
  int64_t memory = 0;
  bool whole_process = false;  // `memory` bounds the whole process, as in the CLI.
  int threads = 0;             // 0: all cores.
  // The same bits at every budget and on any number of threads: sums over rows are added up in a
  // fixed tree. Costs some speed (docs/reproducible.md).
  bool reproducible = false;
  // With the number of the epoch, it decides every order, mask and noise: a second fit from epoch 0
  // has those of the first again; count initial_epoch up, or give another seed.
  uint64_t seed = 0;
  SpillOptions spill;
  GuardOptions guard;
  CheckpointOptions checkpoint;
  // Goes on from the newest checkpoint of checkpoint.directory, with the same bits as a run that
  // was never interrupted; warns of data that has changed. From the start where there is none.
  bool resume = false;
  // Asked after each step; once it says true, fit saves a checkpoint and returns what it has, in
  // the middle of the epoch and without ending it.
  std::function<bool()> interrupted;
};

struct EvaluateOptions {
  std::optional<int64_t> batch_size;
  std::optional<int64_t> steps;
  std::vector<CallbackPtr> callbacks;
  int verbose = 0;
  int64_t memory = 0;
  bool whole_process = false;  // `memory` bounds the whole process, as in the CLI.
  int threads = 0;
  bool reproducible = false;  // As in FitOptions.
};

struct PlanOptions {
  int64_t batch_size = 32;
  int64_t memory = 0;
  bool whole_process = false;  // `memory` bounds the whole process, as in the CLI.
  int threads = 0;
  std::vector<Shape>
      target_rows;  // Of each output; empty: as the predictions (labels for the sparse losses).
};

struct LoadWeightsOptions {
  bool by_name = false;        // Layers by their names, not by their order; others keep theirs.
  bool skip_mismatch = false;  // Layers that do not fit keep their weights, with a warning.
};

// Receives predictions batch by batch: rows [first, first + tensor rows) of one output.
using PredictionSink = std::function<void(int output, int64_t first, const Tensor& rows)>;

// The inputs or the outputs of a model: one symbol or Input, a list, or several in braces. One type
// for all of these, as constructors for each would leave Model({a}, {b, c}) to chance.
class ModelEnds {
 public:
  template <std::convertible_to<Symbol> One>
  ModelEnds(const One& one) : symbols_{one} {}                  // NOLINT
  ModelEnds(Symbols symbols) : symbols_(std::move(symbols)) {}  // NOLINT
  ModelEnds(std::initializer_list<Symbol> symbols) : symbols_(symbols) {}

  const Symbols& symbols() const { return symbols_; }

 private:
  Symbols symbols_;
};

// A thread that fits, evaluates, plans or compiles it has it for itself: calls of these, and of
// predict, by another one throw Error. Callbacks are in the thread that fits.
class Model {
 public:
  Model(const ModelEnds& inputs, const ModelEnds& outputs, const std::string& name = "");
  explicit Model(std::shared_ptr<Network> network);
  virtual ~Model();
  // What was moved from can be assigned to and destroyed; all else throws Error.
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;

  // Throws Error on what is known to be wrong: softmax on one unit, a crossentropy that does not
  // fit the last layer; and while the model is fitted or evaluated, so in a callback. Resets the
  // optimizer's state.
  void compile(CompileOptions options);

  // What a fit will need, before any data is read: of one batch size, or of such a fit with its
  // validation and its last batches. Throws BudgetError, which says what would fit, when it does
  // not.
  FitPlan plan(const PlanOptions& options = {});
  FitPlan plan(const SourcePtr& data, const FitOptions& options);

  History fit(const SourcePtr& data, const FitOptions& options = {});
  // In the batches and the order that the data set says: it shuffles itself.
  History fit(const Dataset& data, FitOptions options = {});
  // By name, as Keras's return_dict: "loss", then the metrics.
  Logs evaluate(const SourcePtr& data, const EvaluateOptions& options = {});
  Logs evaluate(const Dataset& data, EvaluateOptions options = {});
  // One vector of floats for each output, row after row; numbers of other types become floats.
  std::vector<std::vector<float>> predict(const SourcePtr& data,
                                          const EvaluateOptions& options = {});
  std::vector<std::vector<float>> predict(const Dataset& data, EvaluateOptions options = {});
  void predict(const SourcePtr& data, const PredictionSink& sink,
               const EvaluateOptions& options = {});
  // One update on all rows of `data`; the logs of this batch alone. Its random numbers (dropout,
  // noise, augmentation) are those of the epoch that has the number of the updates so far. In a
  // loop, calls alike plan once: see train/step_cache.h. These three throw Error where the number
  // of rows is not known.
  Logs train_on_batch(const SourcePtr& data, const FitOptions& options = {});
  // The same without an update: evaluate and predict with all rows as one batch.
  Logs test_on_batch(const SourcePtr& data, const EvaluateOptions& options = {});
  std::vector<std::vector<float>> predict_on_batch(const SourcePtr& data,
                                                   const EvaluateOptions& options = {});

  // Inside a trace: on all inputs, what each output gives; on one, what the only output gives.
  // Throws Error where there are several.
  Value operator()(Value x) const;
  Values operator()(const Values& in) const;
  // The same on symbols: a model is a layer.
  Symbol operator()(const Symbol& x) const { return layer()(x); }
  Symbols operator()(const Symbols& in) const { return layer().call(in); }

  // In Keras's order; a name that there is not throws Error with the nearest one.
  std::vector<Layer> layers() const { return network().sublayers(); }
  Layer get_layer(std::string_view name) const;
  // To go on from, and for models of a part: Model(base.inputs(), base.output_of("conv5")). They
  // share their layers with this one. A layer that is called more than once gives what its first
  // call gave.
  Symbols inputs() const;
  Symbols outputs() const;
  Symbol output_of(std::string_view layer) const;

  Layer layer() const { return Layer(shared_network()); }
  Network& network() const { return *shared_network(); }
  Compiled& compiled() const;  // Throws Error before compile.
  bool is_compiled() const { return compiled_ != nullptr; }

  // The weights have values from the first need on; the seed counts only then.
  void ensure_weights(uint64_t seed);
  Variables weights() const { return layer().weights(); }
  Variables trainable_variables() const { return layer().trainable_weights(); }
  std::vector<std::vector<float>> get_weights();
  void set_weights(const std::vector<std::vector<float>>& values);

  // To a file that Keras reads, with the optimizer's state where the model is compiled: .keras, or
  // .h5 for the older format. Written beside its place and put there whole; throws FileError.
  void save(const Path& path, FileSystem& files = real_files());
  // What saving there takes beside the weights: buffers, code, and the description of each layer.
  size_t bytes_to_save(const Path& path) const;
  // Weights and the optimizer's state alone, to .weights.h5.
  void save_weights(const Path& path, FileSystem& files = real_files());
  // From .weights.h5, .weights.json (shards), .keras or .h5. Throws Error that names the layer and
  // both shapes where they do not fit; then nothing has changed.
  void load_weights(const Path& path, const LoadWeightsOptions& options = {},
                    FileSystem& files = real_files());

  // Keras's table. `width` columns.
  std::string summary(int width = 76) const;

  // What the columns of the training data were fitted to (Columns::json()): saved with the model in
  // .keras and .h5 files and loaded from them, so that raw rows can be predicted. Empty: none.
  std::string columns;

  // Set by a callback or by on_train_batch_end: fit ends after this epoch or batch.
  bool stop_training = false;

 private:
  friend class FitRun;
  const std::shared_ptr<Network>& shared_network() const;
  OneThread& one_thread() const;

  std::shared_ptr<Network> network_;  // Null: moved from.
  std::unique_ptr<OneThread> one_thread_;
  std::unique_ptr<Compiled> compiled_;
};

// A model from a file of Keras's, .keras or .h5: with its weights and, unless `compile` is false,
// as it was compiled, with the optimizer's state. Nothing in the file is ever run. Throws Error
// that names the layer and its class for what Snug lacks, FileError for what is damaged.
struct LoadModelOptions {
  bool compile = true;
};
Model load_model(const Path& path, const LoadModelOptions& options = {},
                 FileSystem& files = real_files());

class Sequential : public Model {
 public:
  explicit Sequential(const std::vector<Layer>& layers = {}, const std::string& name = "");
  void add(const Layer& layer);
};

}  // namespace snug
