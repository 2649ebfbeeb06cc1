// Files that h5py wrote in all its ways (tests/data/make_hdf5.py) give their rows.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "snug/data/hdf5.h"
#include "snug/data/source_testing.h"
#include "snug/testing/memory_files.h"

namespace snug::testing {
namespace {

const std::vector<std::string> kVersions = {"earliest.h5", "v108.h5", "latest.h5"};

Path file_of(const std::string& name) { return Path(HDF5_FOLDER) / name; }

std::string bytes_of(const std::string& name) {
  std::ifstream file(file_of(name), std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

std::vector<float> wanted() {
  std::vector<float> values;
  for (int i = 0; i < 600; ++i) values.push_back(static_cast<float>(7 * i % 101));
  return values;
}

std::vector<float> all_rows(Source& source, int field = 0) {
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < *source.rows(); ++row) rows.push_back(row);
  return read_rows(source, field, rows);
}

TEST(Hdf5Files, EveryTypeAndLayout) {
  for (const std::string& file : kVersions) {
    for (const char* name : {"float16",       "float32",
                             "float64",       "int8",
                             "int16",         "int32",
                             "int64",         "uint8",
                             "uint16",        "uint32",
                             "uint64",        "big_f4",
                             "big_f8",        "big_i2",
                             "big_i8",        "chunks",
                             "edges",         "gzip",
                             "shuffled",      "checked",
                             "single",        "single_gzip",
                             "growing",       "growing_gzip",
                             "growing_twice", "growing_twice_gzip"}) {
      SCOPED_TRACE(file + " " + name);
      const SourcePtr source =
          data::hdf5({.file = file_of(file), .x = {name}, .y = {"labels"}, .buffer_bytes = 100});
      EXPECT_EQ(source->fields()[0].row, (Shape{3, 4}));
      EXPECT_EQ(all_rows(*source), wanted());
      expect_random_source(*source);
    }
  }
}

TEST(Hdf5Files, OthersThanPlainNumbers) {
  for (const std::string& file : kVersions) {
    SCOPED_TRACE(file);
    const auto open = [&](const std::string& name) {
      return data::hdf5({.file = file_of(file), .x = {name}});
    };
    const std::vector<float> truths = all_rows(*open("bool"));
    for (size_t i = 0; i < truths.size(); ++i) EXPECT_EQ(truths[i], 7 * i % 101 % 3 == 0);
    const std::vector<float> hole = all_rows(*open("hole"));
    EXPECT_EQ(hole[239], wanted()[239]);
    EXPECT_EQ(hole[240], 5);
    EXPECT_EQ(hole[599], 5);
    std::vector<float> first = wanted();
    first.resize(12);
    EXPECT_EQ(all_rows(*open("compact")), first);
    EXPECT_EQ(all_rows(*open("many/array_057")), (std::vector<float>{57, 57}));
    EXPECT_EQ(all_rows(*open("/many/array_000")), (std::vector<float>{0, 0}));
    expect_within(message_of([&] { open("scalar"); }), "is a single number");
    expect_within(message_of([&] { open("texts"); }), "no numbers");
    expect_within(message_of([&] { open("lzf"); }), "the filter 32000 (lzf)");
    expect_within(message_of([&] { open("gone"); }), "there is no array \"gone\"; it has big_f4");
    expect_within(message_of([&] { data::hdf5({.file = file_of(file)}); }), "which array is x?");
  }
}

TEST(Hdf5Files, ListsItsArrays) {
  const std::vector<data::Hdf5Array> arrays = data::hdf5_arrays(file_of("small.h5"));
  ASSERT_EQ(arrays.size(), 5u);
  EXPECT_EQ(arrays[0].name, "nan");
  EXPECT_EQ(arrays[0].text, "float32[3]");
  EXPECT_FALSE(arrays[0].role);
  expect_within(arrays[2].not_read, "holds no numbers");
  EXPECT_EQ(arrays[3].role, FieldRole::input);
  EXPECT_EQ(arrays[4].role, FieldRole::target);
  const std::vector<data::Hdf5Array> many = data::hdf5_arrays(file_of("latest.h5"));
  EXPECT_EQ(many.back().name, "many/array_059");
  EXPECT_FALSE(std::ranges::any_of(many, [](const auto& array) { return array.role.has_value(); }))
      << "labels are targets only beside inputs";
}

// MATLAB puts a block of its own before the file.
TEST(Hdf5Files, ABlockOfTheUsersBefore) {
  for (const char* name : {"gzip", "float64"}) {
    const SourcePtr source = data::hdf5({.file = file_of("matlab.h5"), .x = {name}});
    EXPECT_EQ(all_rows(*source), wanted());
  }
}

// Rows that are spread over the chunks, through caches of one chunk and of all.
TEST(Hdf5Files, PackedChunksAreKeptWithinABound) {
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < 50; ++i) rows.push_back(i * 17 % 50);
  for (const int64_t bytes : {int64_t{1}, int64_t{1} << 20}) {
    const SourcePtr source =
        data::hdf5({.file = file_of("latest.h5"), .x = {"shuffled"}, .chunk_cache_bytes = bytes});
    const std::vector<float> values = read_rows(*source, 0, rows);
    for (size_t i = 0; i < rows.size(); ++i)
      EXPECT_EQ(values[i * 12 + 5], wanted()[static_cast<size_t>(rows[i]) * 12 + 5]);
    EXPECT_LT(source->buffer_bytes(), kRowBufferBytes + 10'000);
  }
}

TEST(Hdf5Files, PackedArraysAreUnpackedOnceToTheCache) {
  MemoryFiles files;
  write_text(files, "d.h5", bytes_of("v108.h5"));
  const data::Hdf5Options options{
      .file = "d.h5", .x = {"shuffled"}, .cache = "cache", .files = &files};
  EXPECT_EQ(all_rows(*data::hdf5(options)), wanted());
  ASSERT_EQ(files.list("cache").size(), 1u);
  const Path kept = Path("cache") / files.list("cache")[0];
  EXPECT_EQ(*files.size(kept), 2400);
  // What is there is used, and the chunks are not looked at again.
  write_text(files, kept, std::string(2400, '\0'));
  EXPECT_EQ(all_rows(*data::hdf5(options)), std::vector<float>(600));
}

// Every cut, and a change of every byte of the descriptions: refused, or read.
TEST(Hdf5Files, NothingCrashesIt) {
  for (const std::string& file : kVersions) {
    const std::string good = bytes_of(file);
    for (size_t i = 0; i < good.size(); i += 997) {
      MemoryFiles files;
      std::string changed = good;
      changed[i] = static_cast<char>(changed[i] ^ (i % 2 == 0 ? 0xff : 0x11));
      const std::string cut = good.substr(0, i);
      for (const std::string& bytes : {changed, cut}) {
        write_text(files, "d.h5", bytes);
        for (const char* name : {"shuffled", "growing_gzip", "growing_twice_gzip", "edges"}) {
          try {
            all_rows(*data::hdf5({.file = "d.h5", .x = {name}, .files = &files}));
          } catch (const InternalError&) {
            throw;
          } catch (const Error&) {
            continue;
          }
        }
      }
    }
  }
}

// A link, or an array whose type is an object of its own, does not keep others from being read.
TEST(Hdf5Files, WhatLeadsElsewhereTroublesNobodyElse) {
  for (const std::string name : {"links_earliest.h5", "links_latest.h5"}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(all_rows(*data::hdf5({.file = file_of(name), .x = {"group/x"}})), wanted());
    for (const char* array : {"soft", "other"}) {
      expect_within(message_of([&] { data::hdf5({.file = file_of(name), .x = {array}}); }),
                    fmt::format("\"{}\" is a link to elsewhere, which is not read", array));
    }
    expect_within(message_of([&] { data::hdf5({.file = file_of(name), .x = {"named"}}); }),
                  "\"named\" shares a part with another object, which is not read");
  }
}

TEST(Hdf5Files, ALinkInATableOfSymbolsTroublesNobodyElse) {
  const Path file = file_of("links_old.h5");
  EXPECT_EQ(all_rows(*data::hdf5({.file = file, .x = {"group/x"}})), wanted());
  expect_within(message_of([&] { data::hdf5({.file = file, .x = {"soft"}}); }),
                "\"soft\" is a link to elsewhere, which is not read");
}

// Arrays in one piece, and those that are unpacked into the cache, are read ahead and by twins;
// what stands in chunks is not.
TEST(Hdf5Files, ArraysInOnePieceAreReadAhead) {
  MemoryFiles files;
  write_text(files, "d.h5", bytes_of("latest.h5"));
  const auto open = [&](const std::string& name, const Path& cache) {
    return data::hdf5(
        {.file = "d.h5", .x = {name}, .y = {"labels"}, .cache = cache, .files = &files});
  };
  for (const SourcePtr& source : {open("float32", ""), open("big_f8", ""), open("gzip", "cache"),
                                  open("shuffled", "cache")}) {
    EXPECT_NE(source->batches_ahead(), 0);
    const SourcePtr twin = source->twin();
    ASSERT_NE(twin, nullptr);
    EXPECT_EQ(all_rows(*twin), wanted());
    EXPECT_EQ(all_rows(*twin, 1), all_rows(*source, 1));
  }
  const SourcePtr chunked = open("gzip", "");
  EXPECT_EQ(chunked->twin(), nullptr);
  EXPECT_EQ(all_rows(*chunked), wanted());
}

// Rows that stand in the array's own header, in the other byte order.
TEST(Hdf5Files, HeldRowsAreTurned) {
  const SourcePtr source = data::hdf5({.file = file_of("compact_big.h5"), .x = {"compact"}});
  std::vector<float> first = wanted();
  first.resize(12);
  EXPECT_EQ(all_rows(*source), first);
}

// In one piece and in chunks, which are read in two ways.
TEST(Hdf5Files, AFileThatChangesIsToldSo) {
  for (const char* name : {"float32", "gzip"}) {
    MemoryFiles files;
    write_text(files, "d.h5", bytes_of("latest.h5"));
    const SourcePtr source = data::hdf5({.file = "d.h5", .x = {name}, .files = &files});
    EXPECT_NO_THROW(source->begin_pass(0));
    write_text(files, "d.h5", bytes_of("latest.h5") + "x");
    expect_within(message_of<FileError>([&] { source->begin_pass(1); }), "changed during the run");
  }
}

}  // namespace
}  // namespace snug::testing
