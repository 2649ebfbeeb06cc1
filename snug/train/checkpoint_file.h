// A checkpoint as a file: sections of bytes, each with its checksum, and the values of variables.
// docs/checkpoint_format.md has every byte.
#pragma once

#include <string>
#include <vector>

#include "snug/base/file.h"
#include "snug/tensor/tensor.h"

namespace snug {

struct CheckpointSection {
  std::string name;  // At most 31 bytes.
  std::vector<std::byte> bytes;
};

// A variable's place in memory, under a name that is unique in the file.
struct CheckpointVariable {
  std::string name;
  Tensor tensor;
};

// The size of the file that these make.
int64_t checkpoint_bytes(const std::vector<CheckpointSection>& sections,
                         const std::vector<CheckpointVariable>& variables);

// Writes a whole file in the place of `path`, in one step (write_atomically). Values go from where
// they stand to the file, at most 1 MiB at a time. Throws FileError; NumericsError, which names the
// variable, where a value is not finite: then nothing is changed.
void write_checkpoint(FileSystem& files, const Path& path,
                      const std::vector<CheckpointSection>& sections,
                      const std::vector<CheckpointVariable>& variables);

// Why a run cannot go on from a checkpoint whose variable is of another type, or "missing".
std::string of_another_run(std::string_view variable, std::string_view there,
                           std::string_view here);

class CheckpointFile {
 public:
  struct Section {
    std::string name;
    uint64_t offset = 0, bytes = 0, checksum = 0;
  };
  struct Variable {
    std::string name, type;          // "float32[3, 4]"
    uint64_t offset = 0, bytes = 0;  // Within the section of values.
  };

  // Reads the header and the lists. Throws FileError, and CorruptFile where they are damaged or of
  // another version.
  CheckpointFile(FileSystem& files, const Path& path);

  const Path& path() const { return file_->path(); }
  int64_t bytes() const { return bytes_; }
  const std::vector<Section>& sections() const { return sections_; }
  const std::vector<Variable>& variables() const { return variables_; }
  bool has(std::string_view section) const;
  // Throws CorruptFile where there is no such section.
  void expect(std::string_view section) const { find(section); }

  // All checksums. Throws CorruptFile, which names the section.
  void verify() const;
  // The bytes of a section, its checksum compared. Throws CorruptFile where there is none.
  std::vector<std::byte> section(std::string_view name) const;
  // Throws Error, which names the first of these that the file does not have just so.
  void expect(const std::vector<CheckpointVariable>& variables) const;
  // Fills in all of these; throws as expect() does, before anything is written. verify() first: a
  // file that is damaged later is not noticed.
  void read_values(const std::vector<CheckpointVariable>& into) const;

 private:
  const Section& find(std::string_view name) const;
  const Variable& find(const CheckpointVariable& wanted) const;
  void read_lists();
  void check(const Section& section) const;
  std::string where() const { return path().string(); }

  std::unique_ptr<File> file_;
  int64_t bytes_ = 0;
  std::vector<Section> sections_;
  std::vector<Variable> variables_;
};

}  // namespace snug
