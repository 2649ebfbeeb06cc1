// Model::summary: Keras's table (keras.md 5.2).

#include <fmt/format.h>

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

// A cell's text cut into lines of `width` characters.
std::vector<std::string> wrapped(const std::string& text, int width) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size(); at += width) lines.push_back(text.substr(at, width));
  if (lines.empty()) lines.emplace_back();
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

std::string connections(const Network& network, const LayerPtr& layer) {
  std::string text;
  for (const LayerCall& call : network.calls()) {
    if (call.layer != layer) continue;
    for (const auto& [from, output] : call.in) {
      text += fmt::format("{}{}[{}]", text.empty() ? "" : ", ", network.calls()[from].layer->name,
                          output);
    }
  }
  return text.empty() ? "-" : text;
}

Types output_of(const Network& network, const LayerPtr& layer) {
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

}  // namespace

std::string Model::summary(int width) const {
  const bool chain = is_chain(*network_);
  const int inner = width - (chain ? 10 : 13);
  const std::vector<double> shares =
      chain ? std::vector<double>{.45, .35, .20} : std::vector<double>{.30, .26, .18, .26};
  std::vector<int> widths;
  int left = inner;
  for (size_t i = 0; i < shares.size(); ++i) {
    widths.push_back(i + 1 < shares.size() ? static_cast<int>(inner * shares[i]) : left);
    left -= widths.back();
  }
  Table table(widths);
  Row header = {"Layer (type)", "Output Shape", "Param #"};
  if (!chain) header.emplace_back("Connected to");
  table.add(header);
  for (const LayerPtr& layer : network_->layers()) {
    const Types out = output_of(*network_, layer);
    Row row = {
        fmt::format("{} ({})", layer->name.empty() ? snake_case(layer->class_name()) : layer->name,
                    layer->class_name()),
        out.empty() ? "?" : shape_text(out),
        out.empty() ? "0 (unbuilt)" : with_commas(count_of(Layer(layer).weights()))};
    if (!chain) row.push_back(connections(*network_, layer));
    table.add(row);
  }
  const int64_t trainable = count_of(trainable_variables()), total = count_of(weights());
  const int64_t slots = compiled_ ? count_of(compiled_->slots()) : 0;
  std::string text =
      fmt::format("Model: \"{}\"\n",
                  network_->name.empty() ? snake_case(network_->class_name()) : network_->name);
  text += table.text();
  const auto line = [&](const char* what, int64_t count) {
    text += fmt::format(" {}: {} ({})\n", what, with_commas(count), size_text(count * 4));
  };
  line("Total params", total + slots);
  line("Trainable params", trainable);
  line("Non-trainable params", total - trainable);
  if (slots > 0) line("Optimizer params", slots);
  return text;
}

}  // namespace snug
