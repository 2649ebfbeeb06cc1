// Every allocation may fail: a small run that is planned, bound, trained and saved ends with an
// error of the user's kind, and harms no file.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "snug/base/error.h"
#include "snug/data/arrays.h"
#include "snug/nn/dense.h"
#include "snug/nn/dropout.h"
#include "snug/nn/normalization.h"
#include "snug/testing/sanitized.h"
#include "snug/testing/temp_dir.h"
#include "snug/train/callbacks.h"
#include "snug/train/checkpoint_store.h"
#include "snug/train/model.h"

namespace {

// The one that fails, counted down; 0: none.
std::atomic<int64_t> left{0};

void* allocate(size_t bytes, size_t alignment) {
  if (left.load() > 0 && left.fetch_sub(1) == 1) throw std::bad_alloc();
  void* memory = alignment > 16 ? std::aligned_alloc(
                                      alignment, (bytes + alignment - 1) / alignment * alignment)
                                : std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// Ours come from malloc, which g++ does not see where it inlines only one of them.
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(size_t bytes) { return allocate(bytes, 0); }
void* operator new[](size_t bytes) { return allocate(bytes, 0); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<size_t>(alignment));
}
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<size_t>(alignment));
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return allocate(bytes, 0);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace snug {
namespace {

struct SmallRun {
  std::vector<float> x = std::vector<float>(60, 0.5f), y = std::vector<float>(20, 1);
  SourcePtr data = data::arrays(Array(x.data(), {20, 3}), Array(y));
  Sequential model =
      Sequential({Input({3}), Dense(4, "relu"), BatchNormalization(), Dropout(0.2), Dense(1)});

  SmallRun() { model.compile({.optimizer = Adam(), .loss = "mse", .metrics = {"mae"}}); }

  // Lets the n-th allocation fail; returns how many there were.
  int64_t fit(const Path& directory, int64_t failing) {
    constexpr int64_t kMany = int64_t{1} << 40;
    FitOptions options{.batch_size = 8,
                       .epochs = 2,
                       .callbacks = {EarlyStopping({.monitor = "loss", .patience = 9})},
                       .verbose = 0,
                       .threads = 1,
                       .checkpoint = {.directory = directory, .every_seconds = 0, .every_steps = 2},
                       .resume = true};
    left = failing > 0 ? failing : kMany;
    try {
      model.fit(data, options);
    } catch (...) {
      left = 0;
      throw;
    }
    const int64_t rest = left.exchange(0);
    return failing > 0 ? 0 : kMany - rest;
  }
};

void fail(int64_t n) {
  const testing::TempDir folder;
  SmallRun run;
  try {
    run.fit(folder.path(), n);
  } catch (const InternalError& error) {
    ADD_FAILURE() << "allocation " << n << ": " << error.what();
  } catch (const Error&) {
  } catch (const std::exception& error) {
    ADD_FAILURE() << "allocation " << n << ": " << error.what();
  }
  for (const Path& path : CheckpointStore({.directory = folder.path()}).newest_first())
    CheckpointFile(real_files(), path).verify();
  // The disk is as good as ever: the run comes to its end.
  SmallRun again;
  again.fit(folder.path(), 0);
  EXPECT_EQ(again.model.compiled().iterations(), 6) << "allocation " << n;
}

int64_t allocations() {
  const testing::TempDir folder;
  return SmallRun().fit(folder.path(), 0);
}

TEST(EveryAllocation, MayFail) {
  const int64_t all = allocations();
  // Under a sanitizer, which takes ten times as long, one in eight of them.
  for (int64_t n = 1; n <= all; n += (n < 2000 ? 1 : 50) * (testing::kSanitized ? 8 : 1)) fail(n);
}

// The long form: --gtest_also_run_disabled_tests --gtest_filter=*Each*. In parts, so that it can be
// run piece by piece.
constexpr int64_t kParts = 20;
class DISABLED_Part : public ::testing::TestWithParam<int64_t> {};

TEST_P(DISABLED_Part, EachMayFail) {
  const int64_t all = allocations();
  for (int64_t n = 1 + GetParam(); n <= all; n += kParts) fail(n);
}

INSTANTIATE_TEST_SUITE_P(EveryAllocation, DISABLED_Part, ::testing::Range(int64_t{0}, kParts));

}  // namespace
}  // namespace snug
