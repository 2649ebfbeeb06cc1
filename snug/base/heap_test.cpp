#include "snug/base/heap.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "snug/base/memory.h"
#include "snug/testing/sanitized.h"

namespace snug {
namespace {

// Blocks of a size that the heap keeps when they are freed.
std::vector<std::unique_ptr<char[]>> blocks() {
  std::vector<std::unique_ptr<char[]>> all;
  for (int i = 0; i < 4000; ++i) {
    all.push_back(std::make_unique<char[]>(10'000));
    for (int at = 0; at < 10'000; at += 1000) all.back()[at] = 1;
  }
  return all;
}

TEST(Heap, GivesBackWhatIsFree) {
  if (testing::kSanitized) GTEST_SKIP() << "the sanitizer keeps what is freed";
  auto all = blocks();
  const auto last = std::move(all.back());  // Keeps the end of the heap where it is.
  const int64_t before = resident_bytes();
  all.clear();
  release_free_heap();
  EXPECT_LT(resident_bytes(), before - (30 << 20));
}

TEST(Heap, GivesBackOnlyWhatIsMuch) {
  if (testing::kSanitized) GTEST_SKIP() << "the sanitizer keeps what is freed";
  auto all = blocks();
  const auto last = std::move(all.back());
  release_free_heap();
  const int64_t before = resident_bytes();
  all.resize(all.size() - 30);
  release_large_free_heap();
  EXPECT_GT(resident_bytes(), before - (100 << 10)) << "300 KB are not much";
  all.clear();
  release_large_free_heap();
  EXPECT_LT(resident_bytes(), before - (30 << 20));
}

// Between blocks that are freed for good: each would hold its page.
TEST(Heap, GivesBackWhatThisThreadKeepsForItself) {
  if (testing::kSanitized) GTEST_SKIP() << "the sanitizer keeps what is freed";
  release_free_heap();
  const int64_t before = resident_bytes();
  std::vector<std::unique_ptr<char[]>> small, large;
  for (size_t bytes = 16; bytes <= 1024; bytes += 16) {
    for (int i = 0; i < 7; ++i) {
      small.push_back(std::make_unique<char[]>(bytes));
      large.push_back(std::make_unique<char[]>(8000));
    }
  }
  const auto last = std::make_unique<char[]>(8000);
  EXPECT_GT(resident_bytes(), before + (3 << 20));
  large.clear();
  small.clear();
  release_free_heap();
  EXPECT_LT(resident_bytes(), before + (1 << 19));
}

// Free blocks between others hold pages, or take what comes next: neither changes what is in use.
TEST(Heap, WhatIsInUseDoesNotDependOnWhatIsFree) {
  if (testing::kSanitized) GTEST_SKIP() << "the sanitizer does not say what is in use";
  release_free_heap();
  const int64_t before = resident_in_use();
  auto all = blocks();
  const int64_t full = resident_in_use();
  EXPECT_NEAR(full - before, 40'000'000, 500'000);
  for (size_t i = 0; i < all.size(); i += 2) all[i].reset();
  EXPECT_NEAR(resident_in_use() - before, 20'000'000, 500'000);
  EXPECT_GT(resident_bytes(), full - (8 << 20));  // Most pages are still there.
  std::vector<std::unique_ptr<char[]>> others;
  for (int i = 0; i < 1000; ++i) others.push_back(std::make_unique<char[]>(5'000));
  EXPECT_NEAR(resident_in_use() - before, 25'000'000, 500'000);
}

// How many heaps there are after a thread has taken memory.
int heaps_with_a_thread() {
  std::thread([] { blocks(); }).join();
  char* text = nullptr;
  size_t size = 0;
  std::FILE* file = open_memstream(&text, &size);
  malloc_info(0, file);
  std::fclose(file);
  const std::string report(text, size);
  std::free(text);  // NOLINT(cppcoreguidelines-no-malloc)
  int heaps = 0;
  for (size_t at = 0; (at = report.find("<heap nr", at)) != std::string::npos; ++at) ++heaps;
  return heaps;
}

// A new process for the test below: what others have begun here cannot be taken back.
TEST(Heap, DISABLED_OfANewProcess) {
  const bool one = std::getenv("SNUG_ONE_HEAP") != nullptr;
  if (one) use_one_heap();
  EXPECT_EQ(heaps_with_a_thread(), one ? 1 : 2);
}

TEST(Heap, IsOneForAllThreads) {
  if (testing::kSanitized) GTEST_SKIP() << "the sanitizer has a heap of its own";
  const std::string command = std::filesystem::read_symlink("/proc/self/exe").string() +
                              " --gtest_also_run_disabled_tests --gtest_brief=1"
                              " --gtest_filter=Heap.DISABLED_OfANewProcess > /dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(std::system(("SNUG_ONE_HEAP=1 " + command).c_str()), 0);
}

TEST(Heap, ForgetsThePeak) {
  if (testing::kSanitized) GTEST_SKIP() << "the sanitizer keeps what is freed";
  blocks();
  release_free_heap();
  const int64_t before = peak_resident_bytes();
  forget_peak();
  EXPECT_LE(peak_resident_bytes(), before);
  EXPECT_LT(peak_resident_bytes(), resident_bytes() + (8 << 20));
}

}  // namespace
}  // namespace snug
