// A disk that fails while rows are packed, inflated or written down: an error that says so, and
// nothing left behind that a later run would take for whole.

#include <gtest/gtest.h>

#include "snug/data/csv.h"
#include "snug/data/gzip_testing.h"
#include "snug/data/idx.h"
#include "snug/data/source_testing.h"
#include "snug/testing/faulty_file.h"
#include "snug/testing/memory_files.h"

namespace snug::testing {
namespace {

std::string table() {
  std::string text = "a,b,y\n";
  for (int i = 0; i < 2000; ++i) {
    text += i % 100 == 3 ? "oops,x,1\n" : fmt::format("{},c{},{}\n", i, i % 5, i % 2);
  }
  return text;
}

data::CsvOptions options_for(FileSystem& files, BadRowPolicy policy) {
  data::CsvOptions options;
  options.files = {"t.csv"};
  options.wishes.labels = {"y"};
  options.bad_rows = {.policy = policy, .most = 1, .rejected = "rejected.csv"};
  options.cache = "cache";
  options.most_in_memory = 1000;
  options.file_system = &files;
  return options;
}

// The calls that a function makes on a disk that works.
template <typename Function>
int64_t calls_of(const Function& function) {
  MemoryFiles memory;
  FaultyFiles files(memory);
  function(files);
  return files.calls();
}

void read_table(FileSystem& files, BadRowPolicy policy) {
  const data::CsvData csv = data::csv(options_for(files, policy));
  ASSERT_EQ(csv.source->rows(), 1980);
  EXPECT_EQ(csv.bad_rows, 20);
  EXPECT_EQ(csv.source->place(0, 1979), "t.csv: line 2001");
}

TEST(FullDisk, WhilePacking) {
  for (const BadRowPolicy policy : {BadRowPolicy::skip, BadRowPolicy::quarantine}) {
    const auto prepared = [](FileSystem& files) { write_text(files, "t.csv", table()); };
    const int64_t before = calls_of(prepared);
    const int64_t after = calls_of([&](FileSystem& files) {
      prepared(files);
      read_table(files, policy);
    });
    ASSERT_GT(after, before);
    for (const Fault fault : {Fault::no_space, Fault::input_output}) {
      for (int64_t call = 1; call <= after - before; ++call) {
        MemoryFiles memory;
        prepared(memory);
        FaultyFiles files(memory);
        files.fail_call(call, fault);
        try {
          data::csv(options_for(files, policy));
        } catch (const FileError& error) {
          EXPECT_FALSE(std::string(error.what()).empty());
        }
        // The next run finds what is whole, or does it again.
        memory.remove("rejected.csv");
        read_table(memory, policy);
      }
    }
  }
}

TEST(FullDisk, AShortWriteIsGoneOnWith) {
  MemoryFiles memory;
  write_text(memory, "t.csv", table());
  FaultyFiles files(memory);
  for (int64_t call = 1; call <= 12; ++call) {
    memory.remove("rejected.csv");
    for (const std::string& name : call > 1 ? memory.list("cache") : std::vector<std::string>()) {
      memory.remove(Path("cache") / name);
    }
    files.fail_call(call, Fault::short_write);
    read_table(files, BadRowPolicy::skip);
  }
}

TEST(FullDisk, WhileInflating) {
  const std::string idx = std::string("\0\0\x08\x01\0\0\x10\0", 8) + std::string(4096, 'x');
  for (int64_t call = 1; call <= 8; ++call) {
    MemoryFiles memory;
    write_text(memory, "t.idx.gz", gzipped(idx));
    FaultyFiles files(memory);
    files.fail_call(call, Fault::no_space);
    const auto read = [&](FileSystem& from) {
      return data::idx({.x = {"t.idx.gz"}, .y = {}, .files = &from, .cache = "cache"})->rows();
    };
    try {
      EXPECT_EQ(read(files), 4096);
    } catch (const FileError& error) {
      EXPECT_FALSE(std::string(error.what()).empty());
    }
    EXPECT_EQ(read(memory), 4096);
  }
}

}  // namespace
}  // namespace snug::testing
