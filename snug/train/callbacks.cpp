#include "snug/train/callbacks.h"

#include <vector>

#include "snug/base/error.h"
#include "snug/base/nearest_word.h"
#include "snug/nn/network.h"
#include "snug/train/callback_definitions.h"
#include "snug/train/callback_list.h"

namespace snug {
namespace {

struct Entry {
  std::string_view class_name;
  std::shared_ptr<CallbackDefinition> (*make)();
};

constexpr Entry kCallbacks[] = {
    {"BackupAndRestore", [] { return make_backup_and_restore("", {}, real_files()); }},
    {"CSVLogger", [] { return make_csv_logger("", {}, real_files()); }},
    {"EarlyStopping", [] { return make_early_stopping({}); }},
    {"ModelCheckpoint", [] { return make_model_checkpoint("", {}, real_files()); }},
    {"ReduceLROnPlateau", [] { return make_reduce_lr_on_plateau({}); }},
    {"TensorBoard", [] { return make_tensor_board("logs", {}, real_files()); }},
    {"TerminateOnNaN", [] { return make_terminate_on_nan({}); }},
};

}  // namespace

std::vector<std::string_view> callback_classes() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kCallbacks) names.push_back(entry.class_name);
  return names;
}

std::shared_ptr<CallbackDefinition> make_callback(std::string_view name) {
  for (const Entry& entry : kCallbacks) {
    if (same_word(entry.class_name, name)) return entry.make();
  }
  const std::vector<std::string_view> classes = callback_classes();
  throw Error("there is no callback \"{}\"; {}", name,
              suggested(nearest_class(name, classes), classes));
}

}  // namespace snug
