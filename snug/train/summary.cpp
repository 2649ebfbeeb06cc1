// Model::summary: Keras's table (keras.md 5.2).

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <sstream>

#include "snug/base/error.h"
#include "snug/train/model.h"

namespace snug {
namespace {

// 1024-based with two decimals, as Keras prints parameters.
std::string size_text(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KB", "MB", "GB", "TB"};
  auto size = static_cast<double>(bytes);
  int unit = 0;
  while (size >= 1024 && unit < 4) {
    size /= 1024;
    ++unit;
  }
  return fmt::format("{:.2f} {}", size, kUnits[unit]);
}

std::string with_commas(int64_t number) {
  std::string digits = std::to_string(number);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(at, ",");
  return digits;
}

int64_t count_of(const Variables& variables) {
  int64_t count = 0;
  for (const VariablePtr& variable : variables) count += variable->type().shape.size();
  return count;
}

std::string shape_text(const Types& types) {
  std::string text;
  for (const Type& type : types) {
    if (!text.empty()) text += ", ";
    text += "(None";
    for (int axis = 1; axis < type.shape.rank(); ++axis)
      text += fmt::format(", {}", type.shape[axis]);
    text += ")";
  }
  return types.size() > 1 ? "[" + text + "]" : text;
}

using Row = std::vector<std::string>;

size_t columns(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

// A cell's text in lines of at most `width` characters, between words; a word that is longer is cut
// short.
std::vector<std::string> wrapped(const std::string& text, int width) {
  const auto limit = static_cast<size_t>(width);
  std::vector<std::string> lines = {""};
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word.size() > limit) word = word.substr(0, limit - 1) + "…";
    std::string& line = lines.back();
    if (line.empty()) {
      line = word;
    } else if (columns(line) + 1 + columns(word) <= limit) {
      line += " " + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

class Table {
 public:
  explicit Table(std::vector<int> widths) : widths_(std::move(widths)) {}

  void add(const Row& row) { rows_.push_back(row); }

  std::string text() const {
    std::string text = rule("┏", "━", "┳", "┓") + line(rows_[0], "┃") + rule("┡", "━", "╇", "┩");
    for (size_t i = 1; i < rows_.size(); ++i) {
      text += line(rows_[i], "│");
      text += i + 1 < rows_.size() ? rule("├", "─", "┼", "┤") : rule("└", "─", "┴", "┘");
    }
    return text;
  }

 private:
  std::string rule(const char* left, const char* fill, const char* cross, const char* right) const {
    std::string text = left;
    for (size_t i = 0; i < widths_.size(); ++i) {
      for (int j = 0; j < widths_[i] + 2; ++j) text += fill;
      text += i + 1 < widths_.size() ? cross : right;
    }
    return text + "\n";
  }

  // Numbers, in the third column, stand at the right.
  std::string line(const Row& row, const char* border) const {
    std::vector<std::vector<std::string>> cells;
    size_t height = 1;
    for (size_t i = 0; i < row.size(); ++i) {
      cells.push_back(wrapped(row[i], widths_[i]));
      height = std::max(height, cells.back().size());
    }
    std::string text;
    for (size_t level = 0; level < height; ++level) {
      for (size_t i = 0; i < row.size(); ++i) {
        const std::string cell = level < cells[i].size() ? cells[i][level] : "";
        text += i == 2 ? fmt::format("{} {:>{}} ", border, cell, widths_[i])
                       : fmt::format("{} {:<{}} ", border, cell, widths_[i]);
      }
      text += fmt::format("{}\n", border);
    }
    return text;
  }

  std::vector<int> widths_;
  std::vector<Row> rows_;
};

// Which call of its layer a call is.
int64_t number_of(const Network& network, int call) {
  const auto& calls = network.calls();
  return std::count_if(calls.begin(), calls.begin() + call,
                       [&](const LayerCall& other) { return other.layer == calls[call].layer; });
}

std::string connections(const Network& network, const LayerPtr& layer) {
  std::string text;
  for (const LayerCall& call : network.calls()) {
    if (call.layer != layer) continue;
    for (const auto& [from, output] : call.in) {
      text += fmt::format("{}{}[{}][{}]", text.empty() ? "" : ", ",
                          network.calls()[from].layer->label(), number_of(network, from), output);
    }
  }
  return text.empty() ? "-" : text;
}

Types outputs_of(const Network& network, const LayerPtr& layer) {
  for (const LayerCall& call : network.calls()) {
    if (call.layer == layer) return call.out;
  }
  return {};
}

// The table has no "Connected to" where each layer just reads the one before.
bool is_chain(const Network& network) {
  if (network.is_sequential()) return true;
  for (size_t i = 1; i < network.calls().size(); ++i) {
    const LayerCall& call = network.calls()[i];
    if (call.in.size() != 1 || call.in[0].first != static_cast<int>(i) - 1) return false;
  }
  return network.input_calls().size() == 1 && network.output_calls().size() == 1;
}

// Keras's shares of the width, as its table has them at 76 columns.
std::vector<int> column_widths(int width, bool chain) {
  const std::vector<int> shares = chain ? std::vector{31, 22, 13} : std::vector{19, 17, 10, 17};
  const int inner = width - 1 - 3 * static_cast<int>(shares.size());
  const int all = std::accumulate(shares.begin(), shares.end(), 0);
  std::vector<int> widths;
  int share = 0, taken = 0;
  for (const int own : shares) {
    share += own;
    widths.push_back(std::max(1, inner * share / all - taken));
    taken += widths.back();
  }
  return widths;
}

struct Size {
  int64_t count = 0, bytes = 0;
};

Size size_of(const Variables& variables) {
  Size size;
  for (const VariablePtr& variable : variables) {
    size.count += variable->type().shape.size();
    size.bytes += static_cast<int64_t>(variable->type().bytes());
  }
  return size;
}

// What Keras counts: the learning rate too, where it is a variable, and no marks of touched rows.
Size size_of_state(const Compiled& compiled) {
  Variables slots = compiled.slots();
  if (slots.empty()) return {};
  std::erase_if(slots, [](const VariablePtr& slot) { return slot->type().dtype == DType::uint8; });
  Size size = size_of(slots);
  if (!compiled.optimizer()->common().learning_rate.schedule()) {
    size.count += 1;
    size.bytes += sizeof(float);
  }
  return size;
}

}  // namespace

std::string Model::summary(int width) const {
  const bool chain = is_chain(network());
  Table table(column_widths(width, chain));
  Row header = {"Layer (type)", "Output Shape", "Param #"};
  if (!chain) header.emplace_back("Connected to");
  table.add(header);
  for (const LayerPtr& layer : network().layers_and_operations()) {
    const Types out = outputs_of(network(), layer);
    Row row = {fmt::format("{} ({})", layer->label(), layer->class_name()),
               out.empty() ? "?" : shape_text(out),
               out.empty() ? "0 (unbuilt)" : with_commas(count_of(Layer(layer).weights()))};
    if (!chain) row.push_back(connections(network(), layer));
    table.add(row);
  }
  std::string text = fmt::format("Model: \"{}\"\n", network().label()) + table.text();
  const auto line = [&](const char* what, const Size& size) {
    text += fmt::format(" {}: {} ({})\n", what, with_commas(size.count), size_text(size.bytes));
  };
  const Variables all = weights(), trained = trainable_variables();
  const Size total = size_of(all), trainable = size_of(trained);
  const Size optimizer = compiled_ ? size_of_state(*compiled_) : Size();
  line("Total params", {total.count + optimizer.count, total.bytes + optimizer.bytes});
  line("Trainable params", trainable);
  line("Non-trainable params", {total.count - trainable.count, total.bytes - trainable.bytes});
  if (optimizer.count > 0) line("Optimizer params", optimizer);
  return text;
}

}  // namespace snug
