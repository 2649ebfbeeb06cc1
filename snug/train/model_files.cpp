// Models from Keras's files and back.

#include <cstring>

#include "snug/base/error.h"
#include "snug/base/log.h"
#include "snug/interop/keras_file.h"
#include "snug/train/model.h"

namespace snug {
namespace {

// The learning rate is a variable of Keras's where it is a number; Snug has it among the settings.
bool has_rate(const Optimizer& optimizer) {
  return optimizer->common().learning_rate.schedule() == nullptr;
}

// Slots that Keras's files have.
std::vector<size_t> saved_slots(const std::vector<Slot>& slots) {
  std::vector<size_t> saved;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].role != Slot::Role::touched) saved.push_back(i);
  }
  return saved;
}

void add_rate(std::vector<std::pair<std::string, Hdf5Array>>& arrays, const Optimizer& optimizer) {
  if (!has_rate(optimizer)) return;
  const double rate = optimizer->learning_rate_at(0);
  arrays.emplace_back("learning_rate", Hdf5Array{.type = {DType::float32, {}}, .fill = rate});
}

// A model that has not been trained yet is saved with the state that its first update starts from.
std::vector<std::pair<std::string, Hdf5Array>> optimizer_arrays_of(const Model& model) {
  const OptimizerState& state = model.compiled().optimizer_state();
  const Optimizer& optimizer = state.optimizer();
  std::vector<Slot> slots = state.roles();
  if (slots.empty()) {
    std::vector<TrainedWeight> weights;
    for (const VariablePtr& variable : model.trainable_variables())
      weights.push_back({variable->path(), variable->type()});
    slots = optimizer->slots(weights);
  }
  std::vector<std::pair<std::string, Hdf5Array>> arrays;
  for (const size_t i : saved_slots(slots)) {
    Hdf5Array array{.type = slots[i].type, .fill = slots[i].initial};
    if (i < state.slots().size() && state.slots()[i]->has_values())
      array.data = state.slots()[i]->tensor().data;
    arrays.emplace_back(slots[i].name, array);
    if (i == 0) add_rate(arrays, optimizer);
  }
  return arrays;
}

SavedModel saved(Model& model, const Path& path) {
  if (!model.network().is_defined())
    throw Error("{}: the model has no shapes yet; begin it with an Input, or fit it once",
                path.string());
  model.network().set_paths();
  model.ensure_weights(0);
  SavedModel saved{.network = model.network(), .columns = model.columns};
  if (model.is_compiled()) {
    saved.compile = &model.compiled().options();
    saved.optimizer = optimizer_arrays_of(model);
  }
  return saved;
}

// As Keras does: state that does not belong to this optimizer is left out with a warning.
void read_optimizer_state(const KerasFile& file, const Model& model) {
  const OptimizerArrays arrays = file.optimizer();
  OptimizerState state = model.compiled().optimizer_state();
  const Optimizer& optimizer = state.optimizer();
  state.prepare(model.trainable_variables());
  const size_t rates = has_rate(optimizer) ? 1 : 0;
  bool fit = arrays.datasets.size() == state.slots().size() + rates;
  const auto array_of = [&](size_t slot) { return arrays.datasets[slot == 0 ? 0 : slot + rates]; };
  for (size_t i = 0; fit && i < state.slots().size(); ++i)
    fit = fits(*array_of(i), state.slots()[i]->type());
  const Type rate_type{DType::float32, {}};
  if (fit && rates > 0) fit = fits(*arrays.datasets[1], rate_type);
  if (!fit) {
    if (!arrays.datasets.empty())
      log_message(LogLevel::warning,
                  "{}: the optimizer's state has {} variables where {} has {}; training begins "
                  "with a fresh state",
                  file.where(), arrays.datasets.size(), optimizer->class_name(),
                  state.slots().size() + rates);
    return;
  }
  allocate_unfilled(state.slots());
  for (size_t i = 0; i < state.slots().size(); ++i)
    read_array(*array_of(i), state.slots()[i]->tensor());
  if (rates == 0) return;
  float rate = 0;
  read_array(*arrays.datasets[1], {rate_type, &rate});
  state.set_learning_rate(static_cast<double>(rate));
}

}  // namespace

Model load_model(const Path& path, const LoadModelOptions& options, FileSystem& files) {
  const KerasFile file(path, files);
  Model model(file.network());
  model.columns = file.columns();
  std::vector<WeightMatch> matches = file.match(model.network());
  check_matches(matches, /*skip_mismatch=*/false, file.where());
  if (std::optional<CompileOptions> compile = file.compile_options(model.network());
      compile && options.compile)
    model.compile(std::move(*compile));
  allocate_unfilled(model.weights());
  read_matches(matches);
  if (model.is_compiled()) read_optimizer_state(file, model);
  return model;
}

void Model::load_weights(const Path& path, const LoadWeightsOptions& options, FileSystem& files) {
  if (!network_->is_defined())
    throw Error("load_weights: the model has no shapes yet; begin it with an Input");
  network_->set_paths();
  const KerasFile file(path, files);
  std::vector<WeightMatch> matches = file.match(*network_, options.by_name);
  check_matches(matches, options.skip_mismatch, file.where());
  ensure_weights(0);
  read_matches(matches);
}

void Model::save(const Path& path, FileSystem& files) {
  const std::string end = path.extension().string();
  if (path.string().ends_with(".weights.h5")) return save_weights(path, files);
  if (end == ".keras") return write_keras(path, saved(*this, path), files);
  if (end == ".h5" || end == ".hdf5") return write_legacy_h5(path, saved(*this, path), files);
  throw Error("save: {} ends in neither .keras nor .h5; give it one of these", path.string());
}

size_t Model::bytes_to_save() const {
  constexpr size_t kBuffers = size_t{512} << 10, kOfALayer = size_t{8} << 10;
  return kBuffers + kOfALayer * network_->layers().size();
}

void Model::save_weights(const Path& path, FileSystem& files) {
  if (!path.string().ends_with(".weights.h5"))
    throw Error("save_weights: {} must end in .weights.h5", path.string());
  write_weights(path, saved(*this, path), files);
}

}  // namespace snug
