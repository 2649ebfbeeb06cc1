#include <sstream>

#include "snug/base/bytes.h"
#include "snug/cli/command.h"
#include "snug/cli/json_text.h"
#include "snug/train/checkpoint_file.h"
#include "snug/train/state_bytes.h"

namespace snug::cli {
namespace {

using Json = nlohmann::ordered_json;

bool is_state(const CheckpointFile::Section& section) {
  return section.name != "variables" && section.name != "values";
}

std::vector<std::string> lines_of(const CheckpointFile& file, const std::string& section) {
  StateReader reader(file.section(section), file.path().string() + ": " + section);
  if (section != "run") return reader.lines();
  // The run file, as it is.
  std::string text;
  reader.visit("file", text);
  std::vector<std::string> lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) lines.push_back(line);
  return lines;
}

Json json_of(const CheckpointFile& file) {
  Json sections = Json::array(), variables = Json::array(), state = Json::object();
  for (const CheckpointFile::Section& section : file.sections()) {
    sections.push_back({{"name", section.name}, {"bytes", section.bytes}});
    if (is_state(section)) state[section.name] = lines_of(file, section.name);
  }
  for (const CheckpointFile::Variable& variable : file.variables())
    variables.push_back({{"name", variable.name}, {"type", variable.type}});
  return {{"sections", sections}, {"state", state}, {"variables", variables}};
}

void print(const CheckpointFile& file) {
  for (const CheckpointFile::Section& section : file.sections()) {
    fmt::print("{:<34}{:>12}  checksum {:016x}\n", section.name,
               bytes_text(static_cast<int64_t>(section.bytes)), section.checksum);
    if (!is_state(section)) continue;
    for (const std::string& line : lines_of(file, section.name)) fmt::print("    {}\n", line);
  }
  fmt::print("\n{} variables\n", file.variables().size());
  for (const CheckpointFile::Variable& variable : file.variables())
    fmt::print("  {:<50} {}\n", variable.name, variable.type);
}

void look_at(const std::string& name, const Arguments& arguments) {
  const CheckpointFile file(real_files(), name);
  file.verify();
  if (arguments.json) {
    Json json = {{"command", "checkpoint"},
                 {"exit", 0},
                 {"file", name},
                 {"bytes", file.bytes()},
                 {"good", true}};
    if (arguments.action == "show") json.update(json_of(file));
    fmt::print("{}\n", json_text(json));
    return;
  }
  if (arguments.action == "show") print(file);
  fmt::print("{}{}: good, all {} checksums are right ({})\n",
             arguments.action == "show" ? "\n" : "", name, file.sections().size(),
             bytes_text(file.bytes()));
}

}  // namespace

int checkpoint_command(const Arguments& arguments) {
  for (const std::string& file : arguments.files) look_at(file, arguments);
  return 0;
}

}  // namespace snug::cli
