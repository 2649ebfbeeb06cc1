#include "snug/data/file_chain.h"

#include <gtest/gtest.h>

#include "snug/data/arrays.h"
#include "snug/data/gzip_testing.h"
#include "snug/data/source_testing.h"
#include "snug/testing/memory_files.h"

namespace snug::testing {
namespace {

TEST(FileChain, RowsFollowOneAnother) {
  std::vector<std::vector<float>> values;
  std::vector<SourcePtr> sources;
  for (int i = 0; i < 7; ++i) {
    values.emplace_back();
    for (int row = 0; row < i + 1; ++row) values[i].push_back(static_cast<float>(10 * i + row));
  }
  for (const std::vector<float>& part : values) sources.push_back(data::arrays(Array(part)));
  const SourcePtr all = data::concatenated(sources);
  EXPECT_EQ(*all->rows(), 28);
  EXPECT_EQ(read_rows(*all, 0, {27, 0, 3, 20}), (std::vector<float>{66, 0, 20, 55}));
  expect_random_source(*all);
  EXPECT_EQ(data::concatenated(std::span(sources).first(1)), sources[0]);
}

TEST(FileChain, CompressedFilesAreInflatedOnce) {
  MemoryFiles files;
  write_text(files, "plain", "hello");
  write_text(files, "d.npy.gz", gzipped("hello"));
  EXPECT_EQ(data::plain_file(files, "plain", "cache"), "plain");
  const Path inflated = data::plain_file(files, "d.npy.gz", "cache");
  EXPECT_EQ(read_text(files, inflated), "hello");
  write_text(files, inflated, "used again");
  EXPECT_EQ(read_text(files, data::plain_file(files, "d.npy.gz", "cache")), "used again");
  write_text(files, "d.npy.gz", gzipped("another"));
  EXPECT_EQ(read_text(files, data::plain_file(files, "d.npy.gz", "cache")), "another");
  expect_within(message_of<DataError>([&] { data::plain_file(files, "d.npy.gz", ""); }),
                "give a cache folder");
}

}  // namespace
}  // namespace snug::testing
