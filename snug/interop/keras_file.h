// Keras's files: .keras archives, .weights.h5 (in shards too) and legacy .h5, told apart by what is
// in them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "snug/base/file.h"
#include "snug/interop/weight_match.h"
#include "snug/nn/compile.h"
#include "snug/nn/network.h"

namespace snug {

// An open file: its description is read and checked, its weights are not read yet. Every message
// begins with the path. Throws FileError for what cannot be read, CorruptFile for what is damaged,
// Error for what Snug lacks.
class KerasFile {
 public:
  explicit KerasFile(const Path& path, FileSystem& files = real_files());
  ~KerasFile();
  KerasFile(const KerasFile&) = delete;
  KerasFile& operator=(const KerasFile&) = delete;

  // A file of weights alone has no model.
  bool has_model() const;
  // Throws Error, which says what to give instead, where it has none.
  void expect_model() const;
  // In the format of Keras 2's .h5 files.
  bool is_legacy() const;
  // A new network with shapes and without values.
  std::shared_ptr<Network> network() const;
  // What the network was compiled with, if it was.
  std::optional<CompileOptions> compile_options(const Network& network) const;

  // What the file has for the network's weights. The matches are valid as long as the file is.
  std::vector<WeightMatch> match(const Network& network, bool by_name = false) const;
  // Empty where there is no state, or where a version of Keras before 3 wrote it, in another order.
  OptimizerArrays optimizer() const;

  // What the columns of the model's data were fitted to, as it was given when a .keras or .h5 file
  // was written; empty where there is none.
  std::string columns() const;

  std::string where() const;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

// Of metadata.json, and an attribute of .h5 files.
inline constexpr const char* kColumnsKey = "snug_columns";

// What is written. The arrays are the caller's memory.
struct SavedModel {
  Network& network;
  const CompileOptions* compile = nullptr;  // Null: it was not compiled.
  // The optimizer's variables in Keras's order, by their names ("iteration").
  std::vector<std::pair<std::string, Hdf5Array>> optimizer = {};
  // JSON that goes with a .keras file, as one key of its metadata, and with an .h5 file, as one of
  // its attributes: Keras looks at neither.
  std::string columns = {};
};

// Each is written beside the place and put there whole when it is on the disk.
void write_keras(const Path& path, const SavedModel& model, FileSystem& files = real_files());
void write_weights(const Path& path, const SavedModel& model, FileSystem& files = real_files());
void write_legacy_h5(const Path& path, const SavedModel& model, FileSystem& files = real_files());

// The model as to_json() of Keras gives it.
std::string model_json(Network& network);

}  // namespace snug
