#include "snug/train/state_bytes.h"

#include <algorithm>

namespace snug {

void StateWriter::begin(std::string_view name, StateKind kind, uint64_t bytes) {
  out_.text(name);
  out_.number(static_cast<uint8_t>(kind));
  out_.number(bytes);
}

void StateWriter::visit(std::string_view name, int64_t& value) {
  begin(name, StateKind::integer, sizeof(value));
  out_.number(value);
}
void StateWriter::visit(std::string_view name, double& value) {
  begin(name, StateKind::number, sizeof(value));
  out_.number(value);
}
void StateWriter::visit(std::string_view name, std::string& value) {
  begin(name, StateKind::text, value.size());
  out_.bytes(std::as_bytes(std::span(value)));
}
void StateWriter::visit(std::string_view name, std::vector<double>& values) {
  begin(name, StateKind::numbers, values.size() * sizeof(double));
  out_.bytes(std::as_bytes(std::span(values)));
}
void StateWriter::visit_values(std::string_view name, const Tensor& values) {
  values_.emplace_back(name, values);
}

StateReader::StateReader(std::vector<std::byte> bytes, std::string where, ReadValues read_values)
    : bytes_(std::move(bytes)), where_(std::move(where)), read_values_(std::move(read_values)) {
  CheckpointInput in(bytes_, where_);
  while (!in.is_at_end()) {
    Entry entry{
        .name = in.text(), .kind = static_cast<StateKind>(in.number<uint8_t>()), .bytes = {}};
    const auto count = in.number<uint64_t>();
    entry.bytes = in.bytes(count);
    const bool number = entry.kind == StateKind::integer || entry.kind == StateKind::number;
    if ((number && count != 8) || (entry.kind == StateKind::numbers && count % 8 != 0) ||
        entry.kind < StateKind::integer || entry.kind > StateKind::numbers) {
      throw CorruptFile("{}: \"{}\" is of no known kind; take an older checkpoint", where_,
                        entry.name);
    }
    entries_.push_back(std::move(entry));
  }
}

const StateReader::Entry& StateReader::find(std::string_view name, StateKind kind) const {
  const auto found =
      std::ranges::find_if(entries_, [&](const Entry& entry) { return entry.name == name; });
  if (found == entries_.end() || found->kind != kind) {
    throw CorruptFile(
        "{}: it has no \"{}\"; it was written by another version of Snug, or with other settings",
        where_, name);
  }
  return *found;
}

void StateReader::visit(std::string_view name, int64_t& value) {
  std::memcpy(&value, find(name, StateKind::integer).bytes.data(), sizeof(value));
}
void StateReader::visit(std::string_view name, double& value) {
  std::memcpy(&value, find(name, StateKind::number).bytes.data(), sizeof(value));
}
void StateReader::visit(std::string_view name, std::string& value) {
  const auto bytes = find(name, StateKind::text).bytes;
  value.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}
void StateReader::visit(std::string_view name, std::vector<double>& values) {
  const auto bytes = find(name, StateKind::numbers).bytes;
  values.resize(bytes.size() / sizeof(double));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
}
void StateReader::visit_values(std::string_view name, const Tensor& values) {
  SNUG_CHECK(read_values_, "nobody reads the values of {}", name);
  read_values_(std::string(name), values);
}

std::vector<std::string> StateReader::lines() const {
  std::vector<std::string> lines;
  for (const Entry& entry : entries_) {
    std::string value;
    switch (entry.kind) {
      case StateKind::integer:
        value = fmt::format("{}", CheckpointInput(entry.bytes, where_).number<int64_t>());
        break;
      case StateKind::number:
        value = fmt::format("{}", CheckpointInput(entry.bytes, where_).number<double>());
        break;
      case StateKind::text:
        value.assign(reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size());
        break;
      case StateKind::numbers:
        value = fmt::format("{} numbers", entry.bytes.size() / sizeof(double));
        break;
    }
    while (value.ends_with('\n')) value.pop_back();
    std::ranges::replace(value, '\n', ' ');
    lines.push_back(entry.name + " = " + value);
  }
  return lines;
}

}  // namespace snug
