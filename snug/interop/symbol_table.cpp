#include "snug/interop/symbol_table.h"

#include "snug/base/error.h"
#include "snug/interop/config_reader.h"
#include "snug/nn/operation.h"

namespace snug {
namespace {

// {"class_name": "__keras_tensor__", "config": {"keras_history": [...]}}, or Keras 2's
// ["dense", 0, 0, {}]; null for anything else.
const Json* history_of(const Json& argument) {
  if (argument.is_array()) {
    if (argument.size() > 3 && !argument[3].empty())
      throw Error("a call gives {}, which Snug's layers do not take", shown(argument[3]));
    return &argument;
  }
  if (text_at(argument, "class_name") != "__keras_tensor__") return nullptr;
  const auto config = argument.find("config");
  if (config == argument.end() || !config->is_object()) return nullptr;
  const auto history = config->find("keras_history");
  return history == config->end() ? nullptr : &*history;
}

}  // namespace

void SymbolTable::add(const std::string& layer, Symbols outputs) {
  calls_[layer].push_back(std::move(outputs));
}

int SymbolTable::calls_of(const std::string& layer) const {
  const auto found = calls_.find(layer);
  return found == calls_.end() ? 0 : static_cast<int>(found->second.size());
}

SymbolTable::Call SymbolTable::call_of(const Json& history, bool from_one) const {
  const bool sound = history.is_array() && history.size() >= 3 && history[0].is_string() &&
                     history[1].is_number_unsigned() && history[2].is_number_unsigned();
  if (!sound) throw Error("{} names no tensor; the file is damaged", shown(history));
  Call call{history[0].get<std::string>(), history[1].get<uint64_t>()};
  if (call.second > 0 && from_one && models_.contains(call.first)) --call.second;
  return call;
}

const Symbol* SymbolTable::find(const Json& history, bool from_one) const {
  const Call call = call_of(history, from_one);
  const auto layer = calls_.find(call.first);
  if (layer == calls_.end() || call.second >= layer->second.size()) return nullptr;
  const auto output = history[2].get<uint64_t>();
  const Symbols& outputs = layer->second[call.second];
  return output < outputs.size() ? &outputs[output] : nullptr;
}

std::optional<SymbolTable::Call> SymbolTable::missing(const std::vector<const Json*>& arguments,
                                                      size_t& first) const {
  for (; first < arguments.size(); ++first) {
    const Json* history = history_of(*arguments[first]);
    if (history == nullptr || find(*history, arguments[first]->is_array()) != nullptr) continue;
    return call_of(*history, arguments[first]->is_array());
  }
  return std::nullopt;
}

Symbols SymbolTable::symbols(const std::vector<const Json*>& arguments, bool numbers) const {
  Symbols found;
  for (const Json* argument : arguments) {
    if (const Json* history = history_of(*argument)) {
      found.push_back(symbol(*history, argument->is_array()));
    } else if (!numbers || !argument->is_number()) {
      throw Error("a call gives {}, which Snug's layers do not take", shown(*argument));
    }
  }
  return found;
}

Symbol SymbolTable::symbol(const Json& history, bool from_one) const {
  const Symbol* found = find(history, from_one);
  if (found == nullptr) throw Error("{} names no tensor; the file is damaged", shown(history));
  return *found;
}

Layer SymbolTable::operation(const Json& layer, const std::vector<const Json*>& arguments,
                             std::vector<ops::Index> key) {
  const KerasObject object = keras_object(layer, "an operation");
  OperationArguments found{.key = std::move(key)};
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i]->is_number()) continue;
    if (found.number) throw Error("it has two numbers and no tensor; the file is damaged");
    found.number = arguments[i]->get<double>();
    found.number_first = i == 0;
  }
  const Layer made = make_layer<Operation>(object.class_name, std::move(found));
  if (object.config != nullptr && object.config->is_object())
    read_config(*made.definition(), *object.config, object.class_name,
                {"name", "trainable", "dtype"});
  return made;
}

Symbol symbol_of(const Type& type, LayerPtr input) {
  SymbolNode node{.layer = std::move(input), .in = {}, .out = {type}};
  return {std::make_shared<SymbolNode>(std::move(node)), 0};
}

}  // namespace snug
