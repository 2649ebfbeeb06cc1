// Between yaml-cpp's nodes and ours. yaml-cpp takes the first of two equal keys without a word, so
// maps are looked through here.

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <unordered_map>

#include "snug/cli/yaml_value.h"

namespace snug::cli {
namespace {

// Aliases can make a small file into a huge tree. Without them each value takes a byte at least:
// the run file of a table with many columns may have more.
constexpr size_t kMostValues = 100'000;
constexpr int kMostDepth = 100;

class Converter {
 public:
  explicit Converter(std::string place) : place_(std::move(place)) {}
  Converter(std::string file, size_t bytes)
      : place_(std::move(file)), most_values_(std::max(kMostValues, bytes)), has_lines_(true) {}

  YamlValue convert(const YAML::Node& node, const std::string& path, int depth = 0) {
    YamlValue value;
    value.where = where(node);
    value.path = path;
    if (++values_ > most_values_ || depth > kMostDepth) {
      value.fail("this is too large or too deep for a run file; write it without aliases");
    }
    switch (node.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null:
        break;
      case YAML::NodeType::Scalar:
        convert_scalar(node, value);
        break;
      case YAML::NodeType::Sequence:
        value.kind = YamlValue::Kind::list;
        for (const YAML::Node& element : node) {
          const std::string number = std::to_string(value.list.size());
          value.list.push_back(convert(element, joined(path, number), depth + 1));
        }
        break;
      case YAML::NodeType::Map:
        convert_map(node, value, depth);
        break;
    }
    return value;
  }

 private:
  static std::string joined(const std::string& path, const std::string& key) {
    return path.empty() ? key : path + "." + key;
  }

  std::string where(const YAML::Node& node) const {
    if (!has_lines_ || node.Mark().is_null()) return place_;
    return fmt::format("{}:{}", place_, node.Mark().line + 1);
  }

  static void convert_scalar(const YAML::Node& node, YamlValue& value) {
    value.kind = YamlValue::Kind::scalar;
    value.text = node.Scalar();
    value.quoted = node.Tag() == "!";
  }

  void convert_map(const YAML::Node& node, YamlValue& value, int depth) {
    value.kind = YamlValue::Kind::map;
    std::unordered_map<std::string, std::string> places;  // Of the keys.
    for (const auto& pair : node) {
      const YAML::Node &key = pair.first, &held = pair.second;
      YamlItem item{.key = {}, .where = where(key), .value = {}};
      if (!key.IsScalar()) throw PlacedError(item.where, "a key must be one word");
      item.key = key.Scalar();
      const auto [first, is_new] = places.emplace(item.key, item.where);
      if (!is_new) {
        throw PlacedError(item.where,
                          fmt::format("\"{}\" is given twice (first at {}); remove one of them",
                                      item.key, first->second));
      }
      item.value = convert(held, joined(value.path, item.key), depth + 1);
      if (item.value.is_null()) item.value.where = item.where;
      value.items.push_back(std::move(item));
    }
  }

  std::string place_;
  size_t most_values_ = kMostValues, values_ = 0;
  bool has_lines_ = false;
};

void emit(YAML::Emitter& out, const YamlValue& value) {
  switch (value.kind) {
    case YamlValue::Kind::null:
      out << YAML::Null;
      break;
    case YamlValue::Kind::scalar:
      if (value.quoted) out << YAML::DoubleQuoted;
      out << value.text;
      break;
    case YamlValue::Kind::list: {
      const bool nests = std::ranges::any_of(
          value.list, [](const YamlValue& v) { return v.is_list() || v.is_map(); });
      out << (nests ? YAML::Block : YAML::Flow) << YAML::BeginSeq;
      for (const YamlValue& element : value.list) emit(out, element);
      out << YAML::EndSeq;
      break;
    }
    case YamlValue::Kind::map:
      out << YAML::BeginMap;
      for (const YamlItem& item : value.items) {
        out << YAML::Key << item.key << YAML::Value;
        emit(out, item.value);
      }
      out << YAML::EndMap;
      break;
  }
}

// A document in which nobody looks for anything.
class PassedOver final : public YAML::EventHandler {
 public:
  using Mark = YAML::Mark;
  using Style = YAML::EmitterStyle::value;
  void OnDocumentStart(const Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const Mark&, YAML::anchor_t) override {}
  void OnAlias(const Mark&, YAML::anchor_t) override {}
  void OnScalar(const Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const Mark&, const std::string&, YAML::anchor_t, Style) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const Mark&, const std::string&, YAML::anchor_t, Style) override {}
  void OnMapEnd() override {}
};

// Not by LoadAll: a stray comma makes it read empty documents without end.
bool is_one_document(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  PassedOver document;
  parser.HandleNextDocument(document);
  return !parser.HandleNextDocument(document);
}

// Elements of lists are things with settings: `dense: {units: 8}` has a name, and nothing beside
// it.
void expect_its_name(const YamlValue& element, const std::string& rest, const std::string& place) {
  const std::string key = rest.substr(0, rest.find('.'));
  if (!element.is_map() || element.items.size() != 1 || rest.empty()) return;
  const std::string& name = element.items[0].key;
  if (key == name) return;
  throw PlacedError(place, fmt::format("{} is {}; its settings are said with its name: {}.{}.{}",
                                       element.path, name, element.path, name, rest));
}

// The value that a part of a path names; made where it is missing.
YamlValue& step_into(YamlValue& value, const std::string& key, const std::string& place) {
  if (!value.is_list()) {
    if (!value.is_map()) value.set_text("");
    return value.at(key, place);
  }
  size_t index = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
  const bool is_number = error == std::errc() && end == key.data() + key.size();
  if (!is_number || index >= value.list.size()) {
    throw PlacedError(place,
                      fmt::format("{} is a list of {}; name one by its number, 0 to {}", value.path,
                                  value.list.size(), std::ssize(value.list) - 1));
  }
  return value.list[index];
}

// What most often is wrong.
std::string_view yaml_advice(std::string_view text) {
  if (text.starts_with('\t') || text.find("\n\t") != std::string_view::npos)
    return "a line begins with a tab, but lines are indented with blanks";
  return "look there and above for a bracket that is not closed, a colon without a blank behind "
         "it, "
         "or a line that is indented otherwise than the one before";
}

}  // namespace

YamlValue parse_yaml(std::string_view text, const std::string& file) {
  YAML::Node root;
  bool is_one = true;
  try {
    is_one = is_one_document(std::string(text));
    if (is_one) root = YAML::Load(std::string(text));
  } catch (const YAML::Exception& error) {
    throw PlacedError(fmt::format("{}:{}", file, error.mark.line + 1),
                      fmt::format("this is no YAML: {}; {}", error.msg, yaml_advice(text)));
  }
  if (!is_one) {
    throw PlacedError(file,
                      "it holds several documents (--- begins one), or a sign such as , or ] where "
                      "none can be; a run file is one");
  }
  YamlValue value = Converter(file, text.size()).convert(root, "");
  if (value.is_null()) value.where = file;
  return value;
}

void override_value(YamlValue& root, const Override& setting) {
  YamlValue* value = &root;
  std::string rest = setting.path;
  while (!rest.empty()) {
    const size_t dot = rest.find('.');
    const bool in_list = value->is_list();
    value = &step_into(*value, rest.substr(0, dot), setting.place);
    rest = dot == std::string::npos ? "" : rest.substr(dot + 1);
    if (in_list) expect_its_name(*value, rest, setting.place);
  }
  try {
    const YAML::Node node = YAML::Load(setting.value);
    *value = Converter(setting.place).convert(node, setting.path);
  } catch (const YAML::Exception& error) {
    throw PlacedError(setting.place, "its value is no YAML: " + error.msg);
  }
}

std::string yaml_text(const YamlValue& value) {
  YAML::Emitter out;
  emit(out, value);
  return std::string(out.c_str()) + "\n";
}

}  // namespace snug::cli
