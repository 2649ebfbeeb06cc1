#include "snug/train/checkpoint_file.h"

#include <algorithm>
#include <cmath>

#include "snug/base/checksum.h"
#include "snug/train/checkpoint_layout.h"

namespace snug {
namespace {

using namespace checkpoint_layout;

std::vector<std::byte> index_of(const std::vector<CheckpointVariable>& variables) {
  CheckpointOutput out;
  out.number(static_cast<uint32_t>(variables.size()));
  uint64_t offset = 0;
  for (const CheckpointVariable& variable : variables) {
    out.text(variable.name);
    out.text(variable.tensor.type.text());
    out.number(offset);
    out.number(static_cast<uint64_t>(variable.tensor.bytes()));
    offset += aligned(variable.tensor.bytes());
  }
  return out.take();
}

uint64_t values_bytes(const std::vector<CheckpointVariable>& variables) {
  uint64_t bytes = 0;
  for (const CheckpointVariable& variable : variables) bytes += aligned(variable.tensor.bytes());
  return bytes;
}

template <typename T>
void expect_finite(const std::string& name, const Tensor& tensor) {
  for (const T value : tensor.as<T>()) {
    if (!std::isfinite(value)) {
      throw NumericsError("{} holds {}: a checkpoint with it would be of no use", name, value);
    }
  }
}

void expect_finite(const CheckpointVariable& variable) {
  if (variable.tensor.dtype() == DType::float32) {
    expect_finite<float>(variable.name, variable.tensor);
  } else if (variable.tensor.dtype() == DType::float64) {
    expect_finite<double>(variable.name, variable.tensor);
  }
}

// Appends what it is given, in pieces, and keeps the checksum of the section.
class SectionWriter {
 public:
  SectionWriter(File& file, uint64_t offset) : file_(file), offset_(offset), begin_(offset) {}

  void add(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const auto piece = bytes.first(std::min(bytes.size(), kPieceBytes));
      file_.write_at(piece, static_cast<int64_t>(offset_));
      sum_.add(piece);
      offset_ += piece.size();
      bytes = bytes.subspan(piece.size());
    }
  }
  TableEntry entry(std::string name) const {
    return {std::move(name), begin_, offset_ - begin_, sum_.value()};
  }

 private:
  File& file_;
  uint64_t offset_, begin_;
  Checksum sum_;
};

TableEntry write_values(File& file, uint64_t offset,
                        const std::vector<CheckpointVariable>& variables) {
  static constexpr std::byte kZeros[kAlignment] = {};
  SectionWriter out(file, offset);
  for (const CheckpointVariable& variable : variables) {
    const size_t bytes = variable.tensor.bytes();
    out.add({static_cast<const std::byte*>(variable.tensor.data), bytes});
    out.add(std::span(kZeros).first(aligned(bytes) - bytes));
  }
  return out.entry(kValues);
}

}  // namespace

int64_t checkpoint_bytes(const std::vector<CheckpointSection>& sections,
                         const std::vector<CheckpointVariable>& variables) {
  uint64_t bytes = aligned(kHeaderBytes + (sections.size() + 2) * kEntryBytes);
  for (const CheckpointSection& section : sections) bytes += aligned(section.bytes.size());
  bytes += aligned(index_of(variables).size()) + values_bytes(variables);
  return static_cast<int64_t>(bytes);
}

void write_checkpoint(FileSystem& files, const Path& path,
                      const std::vector<CheckpointSection>& sections,
                      const std::vector<CheckpointVariable>& variables) {
  for (const CheckpointVariable& variable : variables) expect_finite(variable);
  const std::vector<std::byte> index = index_of(variables);
  write_atomically(files, path, [&](File& file) {
    std::vector<TableEntry> table;
    uint64_t offset = aligned(kHeaderBytes + (sections.size() + 2) * kEntryBytes);
    const auto add = [&](const std::string& name, std::span<const std::byte> bytes) {
      SectionWriter out(file, offset);
      out.add(bytes);
      table.push_back(out.entry(name));
      offset += aligned(bytes.size());
    };
    for (const CheckpointSection& section : sections) add(section.name, section.bytes);
    add(kVariables, index);
    table.push_back(write_values(file, offset, variables));
    offset += table.back().bytes;
    // A last section without bytes leaves the file short of its size.
    if (file.size() < static_cast<int64_t>(offset)) file.truncate(static_cast<int64_t>(offset));
    file.write_at(header_bytes(table, offset), 0);
  });
}

CheckpointFile::CheckpointFile(FileSystem& files, const Path& path)
    : file_(files.open(path, OpenMode::read)), bytes_(file_->size()) {
  std::vector<std::byte> fixed(std::min<int64_t>(bytes_, kHeaderBytes));
  file_->read_exactly_at(fixed, 0);
  const Header header = read_header(fixed, bytes_, where());
  std::vector<std::byte> all(kHeaderBytes + header.sections * kEntryBytes);
  file_->read_exactly_at(all, 0);
  for (TableEntry& entry : read_table(all, bytes_, where()))
    sections_.push_back({std::move(entry.name), entry.offset, entry.bytes, entry.checksum});
  read_lists();
}

void CheckpointFile::read_lists() {
  const std::vector<std::byte> index = section(kVariables);
  CheckpointInput in(index, where());
  const auto count = in.number<uint32_t>();
  const uint64_t room = find(kValues).bytes;
  for (uint32_t i = 0; i < count; ++i) {
    Variable variable{.name = in.text(), .type = in.text(), .offset = 0, .bytes = 0};
    variable.offset = in.number<uint64_t>();
    variable.bytes = in.number<uint64_t>();
    if (variable.offset > room || variable.bytes > room - variable.offset) {
      throw CorruptFile("{}: {} lies outside the file; take an older checkpoint", where(),
                        variable.name);
    }
    variables_.push_back(std::move(variable));
  }
}

bool CheckpointFile::has(std::string_view section) const {
  return std::ranges::find(sections_, section, &Section::name) != sections_.end();
}

const CheckpointFile::Section& CheckpointFile::find(std::string_view name) const {
  for (const Section& section : sections_) {
    if (section.name == name) return section;
  }
  throw CorruptFile(
      "{}: it has no section \"{}\"; it was written by another version of Snug, or by "
      "a run with other callbacks: go on with those",
      where(), name);
}

void CheckpointFile::check(const Section& section) const {
  Checksum sum;
  std::vector<std::byte> piece(std::min<uint64_t>(section.bytes, kPieceBytes));
  for (uint64_t done = 0; done < section.bytes; done += piece.size()) {
    const auto part =
        std::span(piece).first(std::min<uint64_t>(piece.size(), section.bytes - done));
    file_->read_exactly_at(part, static_cast<int64_t>(section.offset + done));
    sum.add(part);
  }
  if (sum.value() == section.checksum) return;
  throw CorruptFile(
      "{}: the section \"{}\" is damaged: its checksum is {:016x} instead of {:016x}; "
      "take an older checkpoint",
      where(), section.name, sum.value(), section.checksum);
}

void CheckpointFile::verify() const {
  for (const Section& section : sections_) check(section);
}

std::vector<std::byte> CheckpointFile::section(std::string_view name) const {
  const Section& section = find(name);
  std::vector<std::byte> bytes(section.bytes);
  file_->read_exactly_at(bytes, static_cast<int64_t>(section.offset));
  if (checksum(bytes) != section.checksum) check(section);
  return bytes;
}

std::string of_another_run(std::string_view variable, std::string_view there,
                           std::string_view here) {
  const std::string_view part = variable.substr(0, variable.find('/'));
  const std::string_view what = part == "optimizer" ? "optimizer"
                                : part == "metrics" ? "list of metrics"
                                                    : "model";
  return fmt::format(
      "it is of another {}: {} is {} there and {} here; resume with the {} that it "
      "was written with, or start anew without resume",
      what, variable, there, here, what);
}

namespace {

// What files of before have for it where the user gave the layer inside another one no name:
// block//kernel is block/dense/kernel now.
std::string without_layer(const std::string& name) {
  const size_t last = name.rfind('/');
  const size_t before = last == std::string::npos || last == 0 ? last : name.rfind('/', last - 1);
  return before == std::string::npos ? name : name.substr(0, before + 1) + name.substr(last);
}

}  // namespace

const CheckpointFile::Variable& CheckpointFile::find(const CheckpointVariable& wanted) const {
  auto at = std::ranges::find(variables_, wanted.name, &Variable::name);
  if (at == variables_.end()) {
    const std::string older = without_layer(wanted.name);
    if (std::ranges::count(variables_, older, &Variable::name) == 1)
      at = std::ranges::find(variables_, older, &Variable::name);
  }
  const std::string type = wanted.tensor.type.text();
  if (at != variables_.end() && at->type == type && at->bytes == wanted.tensor.bytes()) return *at;
  throw Error("{}: {}", where(),
              of_another_run(wanted.name, at == variables_.end() ? "missing" : at->type, type));
}

void CheckpointFile::expect(const std::vector<CheckpointVariable>& variables) const {
  for (const CheckpointVariable& variable : variables) find(variable);
}

void CheckpointFile::read_values(const std::vector<CheckpointVariable>& into) const {
  expect(into);
  const uint64_t values = find(kValues).offset;
  for (const CheckpointVariable& wanted : into) {
    const Variable& found = find(wanted);
    file_->read_exactly_at({static_cast<std::byte*>(wanted.tensor.data), found.bytes},
                           static_cast<int64_t>(values + found.offset));
  }
}

}  // namespace snug
