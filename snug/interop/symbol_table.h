// The symbols of a functional model that is being read, by Keras's keys: layer, call, output.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "snug/interop/json.h"
#include "snug/nn/get_item.h"
#include "snug/nn/layer.h"

namespace snug {

class SymbolTable {
 public:
  // The outputs of the next call of this layer.
  void add(const std::string& layer, Symbols outputs);
  int calls_of(const std::string& layer) const;
  // A layer whose calls are counted from 1, where they are said to be (`from_one`, and in the lists
  // by which Keras 2 names tensors).
  void add_model(const std::string& layer) { models_.insert(layer); }

  // One call of a layer.
  using Call = std::pair<std::string, uint64_t>;
  // The call that gives the first tensor among these call arguments that is not there; none where
  // all are. `first` is where to begin, and goes on to that argument.
  std::optional<Call> missing(const std::vector<const Json*>& arguments, size_t& first) const;
  // The tensors among them. Throws Error for a number, unless `numbers` are allowed.
  Symbols symbols(const std::vector<const Json*>& arguments, bool numbers) const;
  // By Keras's history ["dense", 0, 0]. Throws Error where there is none.
  Symbol symbol(const Json& history, bool from_one = false) const;

  // The operation with the number that stands among its arguments, if there is one, and the key of
  // x[...], which is empty for others.
  static Layer operation(const Json& layer, const std::vector<const Json*>& arguments,
                         std::vector<ops::Index> key);

 private:
  Call call_of(const Json& history, bool from_one) const;
  const Symbol* find(const Json& history, bool from_one) const;

  std::map<std::string, std::vector<Symbols>> calls_;
  std::set<std::string, std::less<>> models_;
};

// A symbol that is not computed from others: an input's.
Symbol symbol_of(const Type& type, LayerPtr input = nullptr);

}  // namespace snug
