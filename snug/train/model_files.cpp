// Models from Keras's files and back.

#include <algorithm>

#include "snug/base/error.h"
#include "snug/base/log.h"
#include "snug/interop/keras_file.h"
#include "snug/interop/network_text.h"
#include "snug/interop/weight_groups.h"
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
  arrays.reserve(slots.size() + 1);
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

// An array of the optimizer's state; the learning rate is in no slot.
struct StateArray {
  std::string name;
  Type type;
  VariablePtr slot;
};

// In Keras's order.
std::vector<StateArray> state_arrays(const OptimizerState& state) {
  std::vector<StateArray> arrays;
  for (const size_t i : saved_slots(state.roles())) {
    const VariablePtr& slot = state.slots()[i];
    arrays.push_back({slot->name(), slot->type(), slot});
    if (i == 0 && has_rate(state.optimizer()))
      arrays.push_back({"learning_rate", {DType::float32, {}}, nullptr});
  }
  return arrays;
}

// Why the arrays of a file are not those that the optimizer has; empty where they are.
std::string difference(const OptimizerArrays& found, const std::vector<StateArray>& wanted,
                       std::string_view optimizer) {
  if (found.datasets.size() != wanted.size())
    return fmt::format("has {} variables where {} has {}", found.datasets.size(), optimizer,
                       wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!fits(*found.datasets[i], wanted[i].type))
      return fmt::format("has {} where {}'s {} is {}", found.datasets[i]->text(), optimizer,
                         wanted[i].name, wanted[i].type.text());
  }
  return {};
}

void read_arrays(const OptimizerArrays& from, const std::vector<StateArray>& arrays,
                 OptimizerState& state) {
  allocate_unfilled(state.slots());
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].slot) {
      read_array(*from.datasets[i], arrays[i].slot->tensor());
      continue;
    }
    float rate = 0;
    read_array(*from.datasets[i], {arrays[i].type, &rate});
    state.set_learning_rate(static_cast<double>(rate));
  }
  // Any row of a table may have been touched before.
  for (size_t i = 0; i < state.slots().size(); ++i) {
    if (state.roles()[i].role == Slot::Role::touched)
      std::ranges::fill(state.slots()[i]->tensor().as<uint8_t>(), uint8_t{1});
  }
}

// As Keras does: state that does not belong to this optimizer is left out with a warning.
void read_optimizer_state(const KerasFile& file, const Model& model) {
  const OptimizerArrays found = file.optimizer();
  OptimizerState state = model.compiled().optimizer_state();
  if (state.slots().empty()) state.prepare(model.trainable_variables());
  const std::vector<StateArray> wanted = state_arrays(state);
  const std::string why = difference(found, wanted, state.optimizer()->class_name());
  if (why.empty())
    read_arrays(found, wanted, state);
  else if (!found.datasets.empty())
    log_message(LogLevel::warning, "{}: the optimizer's state {}; it is left out", file.where(),
                why);
}

}  // namespace

Model load_model(const Path& path, const LoadModelOptions& options, FileSystem& files) {
  const KerasFile file(path, files);
  Model model(file.network());
  model.columns = file.columns();
  std::vector<WeightMatch> matches = file.match(model.network());
  check_matches(matches, /*skip_mismatch=*/false, file.where());
  std::optional<CompileOptions> compile;
  if (options.compile) compile = file.compile_options(model.network());
  if (compile) model.compile(std::move(*compile));
  allocate_unfilled(model.weights());
  read_matches(matches);
  if (model.is_compiled()) read_optimizer_state(file, model);
  return model;
}

void Model::load_weights(const Path& path, const LoadWeightsOptions& options, FileSystem& files) {
  if (!network().is_defined())
    throw Error("load_weights: the model has no shapes yet; begin it with an Input");
  network().set_paths();
  const KerasFile file(path, files);
  std::vector<WeightMatch> matches = file.match(network(), options.by_name);
  check_matches(matches, options.skip_mismatch, file.where());
  ensure_weights(0);
  read_matches(matches);
  if (is_compiled() && !options.by_name && !options.skip_mismatch && !file.is_legacy())
    read_optimizer_state(file, *this);
}

void Model::save(const Path& path, FileSystem& files) {
  const std::string end = path.extension().string();
  if (path.string().ends_with(".weights.h5")) return save_weights(path, files);
  if (end == ".keras") return write_keras(path, saved(*this, path), files);
  if (end == ".h5" || end == ".hdf5") return write_legacy_h5(path, saved(*this, path), files);
  throw Error("save: {} ends in neither .keras nor .h5; give it one of these", path.string());
}

size_t Model::bytes_to_save(const Path& path) const {
  // Measured of 10 to 2,000 layers. Code: its pages that nothing touches before the first save.
  constexpr size_t kBuffers = 262'144, kCode = 327'680, kOfAGroup = 1856, kOfAnArray = 768;
  constexpr size_t kMany = 512;
  const std::vector<WeightGroup> groups = weight_groups(network());
  size_t arrays = is_compiled() ? compiled().slots().size() : 0;
  for (const WeightGroup& group : groups) arrays += group.variables.size();
  const size_t text = network_text_bytes(network());
  size_t described = text + groups.size() * kOfAGroup;
  // In an .h5 file the text is an attribute, which is another copy, and an outermost layer's
  // weights have a group more.
  if (path.extension() != ".keras") described += text + network().layers().size() * kOfAGroup;
  const size_t bytes = described + arrays * kOfAnArray;
  return kBuffers + kCode + (groups.size() > kMany ? bytes + bytes / 4 : bytes);
}

void Model::save_weights(const Path& path, FileSystem& files) {
  if (!path.string().ends_with(".weights.h5"))
    throw Error("save_weights: {} must end in .weights.h5", path.string());
  write_weights(path, saved(*this, path), files);
}

}  // namespace snug
