// A run file as a tree in which every value knows where it stands, so that each message can say it.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/error.h"

namespace snug::cli {

// An Error that says where: "run.yaml:7: ...".
class PlacedError final : public Error {
 public:
  PlacedError(const std::string& where, const std::string& message)
      : Error(where + ": " + message) {}
};

// Calls `function`; a mistake of the user's that it throws without a place becomes a PlacedError.
template <typename Function>
auto placed(const std::string& where, const Function& function) {
  try {
    return function();
  } catch (const PlacedError&) {
    throw;
  } catch (const Error& error) {
    if (error.exit_code() != Error("").exit_code()) throw;
    throw PlacedError(where, error.what());
  }
}

struct YamlItem;

struct YamlValue {
  enum class Kind { null, scalar, list, map };

  Kind kind = Kind::null;
  std::string text;             // Of a scalar.
  bool quoted = false;          // A scalar that was written in quotes is a word, never a number.
  std::vector<YamlValue> list;  // Of a list.
  std::vector<YamlItem> items;  // Of a map, in the order of the file.
  std::string where;            // "run.yaml:7", or "fit.epochs=3" from the command line.
  std::string path;             // "fit.epochs", "model.0.dense.units"; empty for the root.

  bool is_null() const { return kind == Kind::null; }
  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_list() const { return kind == Kind::list; }
  bool is_map() const { return kind == Kind::map; }

  // The value of a key of a map; null where there is none.
  const YamlValue* find(std::string_view key) const;
  YamlValue* find(std::string_view key);
  // The value of a key; a map that has none gets it, as if it stood at this place.
  YamlValue& at(std::string_view key, const std::string& place);

  // Throws PlacedError.
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw PlacedError(where, fmt::format(format, std::forward<Args>(args)...));
  }
  // Throws "where: path is VALUE; it must be EXPECTED".
  [[noreturn]] void refuse(std::string_view expected) const;
  // The same of what must be a number, true or false, and may be one but for its quotes.
  [[noreturn]] void refuse_word(std::string_view expected) const;

  // Each throws Error that names the place, the value and what was expected.
  bool as_bool() const;      // true or false.
  int64_t as_int() const;    // 32, 1e6.
  double as_double() const;  // 0.5, 1e-3, 1/255.
  const std::string& as_text() const;
  int64_t as_bytes() const;              // 256MiB.
  std::vector<int64_t> as_ints() const;  // [2, 2]; one number is a list of one.
  std::vector<double> as_doubles() const;
  void expect_map(std::string_view what) const;

  void set_text(std::string_view scalar);
};

struct YamlItem {
  std::string key;
  std::string where;
  YamlValue value;
};

// Throws Error, which names the file and the line, on what is no YAML, on a key that a map has
// twice, and on a tree of more than 100,000 values that the file has fewer bytes than.
YamlValue parse_yaml(std::string_view text, const std::string& file);

// A setting from the command line.
struct Override {
  std::string path;   // "fit.epochs", "model.0.dense.units".
  std::string value;  // YAML.
  std::string place;  // As it was typed, for messages: "--epochs 3", "fit.epochs=3".
};
// Puts it into the tree: maps by key, lists by number; what is missing on the way is made.
void override_value(YamlValue& root, const Override& setting);

// As a run file that parse_yaml reads back.
std::string yaml_text(const YamlValue& value);

// Throws Error for the first key of a map that is not among the words: names the line and the
// nearest right word. `what` a key is: "setting of fit".
void expect_keys(const YamlValue& map, std::span<const std::string_view> words,
                 std::string_view what);
// Throws PlacedError where it is what a colon without a blank behind it makes: "dropout:0.5".
void refuse_joined(const std::string& where, const std::string& word);
[[noreturn]] void refuse_key(const YamlItem& item, std::span<const std::string_view> words,
                             std::string_view what);

}  // namespace snug::cli
