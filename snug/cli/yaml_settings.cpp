#include "snug/cli/yaml_settings.h"

#include <algorithm>
#include <array>

#include "snug/nn/initializer.h"
#include "snug/nn/regularizer.h"
#include "snug/optim/schedule.h"

namespace snug::cli {
namespace {

void assign(bool& to, const YamlValue& from) { to = from.as_bool(); }
void assign(int64_t& to, const YamlValue& from) { to = from.as_int(); }
void assign(double& to, const YamlValue& from) { to = from.as_double(); }
void assign(std::string& to, const YamlValue& from) { to = from.as_text(); }
void assign(std::vector<int64_t>& to, const YamlValue& from) { to = from.as_ints(); }
void assign(std::vector<double>& to, const YamlValue& from) { to = from.as_doubles(); }

void assign(std::vector<std::vector<int64_t>>& to, const YamlValue& from) {
  const bool nests = from.is_list() && std::ranges::any_of(from.list, &YamlValue::is_list);
  to.clear();
  if (!nests) return to.push_back(from.as_ints());
  for (const YamlValue& row : from.list) to.push_back(row.as_ints());
}

template <typename T>
void assign(std::optional<T>& to, const YamlValue& from) {
  to.reset();
  if (!from.is_null()) assign(to.emplace(), from);
}

class Reader final : public SettingVisitor {
 public:
  // The value of each setting, by the main one or by key.
  Reader(const YamlValue* from, std::string_view main_setting)
      : from_(from), main_setting_(main_setting) {}

  void visit(std::string_view name, bool& value) override { read(name, value); }
  void visit(std::string_view name, int64_t& value) override { read(name, value); }
  void visit(std::string_view name, double& value) override { read(name, value); }
  void visit(std::string_view name, std::string& value) override { read(name, value); }
  void visit(std::string_view name, std::vector<int64_t>& value) override { read(name, value); }
  void visit(std::string_view name, std::vector<double>& value) override { read(name, value); }
  void visit(std::string_view name, std::optional<bool>& value) override { read(name, value); }
  void visit(std::string_view name, std::optional<int64_t>& value) override { read(name, value); }
  void visit(std::string_view name, std::optional<double>& value) override { read(name, value); }
  void visit(std::string_view name, std::optional<std::vector<int64_t>>& value) override {
    read(name, value);
  }
  void visit(std::string_view name, std::optional<std::vector<double>>& value) override {
    read(name, value);
  }
  void visit(std::string_view name, std::vector<std::vector<int64_t>>& value) override {
    read(name, value);
  }
  void visit(std::string_view name, Family family, ConfigurablePtr& value) override;

  const std::vector<std::string_view>& names() const { return names_; }
  // Of the setting that was read last, for what its owner says about it.
  const std::string& where() const { return where_; }

 private:
  const YamlValue* wanted(std::string_view name) {
    names_.push_back(name);
    if (from_ == nullptr) return nullptr;
    const YamlValue* value = from_->find(name);
    if (!from_->is_map() && name == main_setting_) value = from_;
    if (value != nullptr) where_ = value->where;
    return value;
  }

  template <typename T>
  void read(std::string_view name, T& to) {
    if (const YamlValue* value = wanted(name)) assign(to, *value);
  }

  const YamlValue* from_;
  std::string_view main_setting_;
  std::vector<std::string_view> names_;
  std::string where_;
};

ConfigurablePtr make_object(const std::string& name, Family family, const YamlValue& value) {
  switch (family) {
    case Family::initializer:
      return make_initializer(name);
    case Family::regularizer:
      return make_regularizer(name);
    default:
      value.refuse("left out: Snug has no such thing yet");
  }
}

void Reader::visit(std::string_view name, Family family, ConfigurablePtr& value) {
  const YamlValue* from = wanted(name);
  // A schedule has been read before its owner's settings.
  if (from == nullptr || family == Family::schedule) return;
  if (from->is_null()) return value.reset();
  const NamedSettings named = named_settings(*from, "a word, or a word with its settings");
  value = placed(named.where, [&] { return make_object(named.name, family, *from); });
  read_settings(named, *value);
}

std::string_view main_setting_of(Configurable& object) {
  static constexpr std::array<std::string_view, 4> kRarely = {"name", "seed", "dtype", "reduction"};
  Reader reader(nullptr, {});
  object.settings(reader);
  const auto first = std::ranges::find_if(reader.names(), [](std::string_view name) {
    return std::ranges::find(kRarely, name) == kRarely.end();
  });
  return first == reader.names().end() ? std::string_view() : *first;
}

}  // namespace

NamedSettings named_settings(const YamlValue& value, std::string_view what) {
  if (value.is_scalar()) {
    refuse_joined(value.where, value.text);
    return {value.text, nullptr, value.where};
  }
  if (value.is_map() && value.items.size() == 1) {
    const YamlItem& item = value.items[0];
    if (item.value.is_null()) refuse_joined(item.where, item.key);
    return {item.key, item.value.is_null() ? nullptr : &item.value, item.where};
  }
  value.refuse(what);
}

void read_settings(const NamedSettings& from, Configurable& object, const ReadOptions& options) {
  const std::string_view main_setting =
      options.main_setting ? *options.main_setting : main_setting_of(object);
  const YamlValue* settings = from.settings;
  if (settings != nullptr && !settings->is_map() && main_setting.empty()) {
    settings->refuse(fmt::format("left out, or a map: {} has no main setting", from.name));
  }
  Reader reader(settings, main_setting);
  try {
    object.settings(reader);
  } catch (const PlacedError&) {
    throw;
  } catch (const Error& error) {
    throw PlacedError(reader.where().empty() ? from.where : reader.where(), error.what());
  }
  if (settings == nullptr || !settings->is_map()) return;
  std::vector<std::string_view> words = reader.names();
  words.insert(words.end(), options.others.begin(), options.others.end());
  expect_keys(*settings, words, fmt::format("setting of {}", from.name));
}

}  // namespace snug::cli
