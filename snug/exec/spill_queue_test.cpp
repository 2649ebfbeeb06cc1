#include "snug/exec/spill_queue.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <random>
#include <thread>

#include "snug/exec/spill_file.h"
#include "snug/plan/plan.h"
#include "snug/tensor/arena.h"
#include "snug/testing/faulty_file.h"
#include "snug/testing/memory_files.h"
#include "snug/testing/temp_dir.h"

namespace snug {
namespace {

using testing::Fault;
using testing::FaultyFiles;
using testing::MemoryFiles;
using testing::TempDir;

constexpr int kValues = 8;
constexpr int64_t kBytes = 2 * (1 << 20) + kPageBytes;  // Several chunks and a rest.

// Values of their own bytes, which go to the file, are destroyed, and come back. It outlives the
// queue, which may have transfers under way when it throws.
class Traffic {
 public:
  Traffic() : arena_(kValues * kBytes) {}

  void run(SpillQueue& queue, int rounds = 3) {
    queue.reserve(2 * kValues);
    for (int round = 0; round < rounds; ++round) {
      for (int v = 0; v < kValues; ++v) {
        std::fill_n(words(v), kBytes / 8, word(v, round));
        queue.start(2 * v, op(v, true));
      }
      for (int v = 0; v < kValues; ++v) {
        queue.wait(2 * v);
        std::fill_n(words(v), kBytes / 8, 0);
        queue.poll();
      }
      for (int v = kValues; v-- > 0;) queue.start(2 * v + 1, op(v, false));
      for (int v = kValues; v-- > 0;) {
        queue.wait(2 * v + 1);
        wrong_ += std::any_of(words(v), words(v) + kBytes / 8,
                              [&](uint64_t w) { return w != word(v, round); });
      }
    }
  }

  int wrong() const { return wrong_; }

 private:
  uint64_t* words(int v) { return reinterpret_cast<uint64_t*>(arena_.data() + v * kBytes); }
  static uint64_t word(int v, int round) { return 1000003ULL * v + round + 1; }
  SpillOp op(int v, bool writes) {
    return {.writes = writes,
            .memory = reinterpret_cast<std::byte*>(words(v)),
            .bytes = kBytes,
            .offset = v * kBytes};
  }

  Arena arena_;
  int wrong_ = 0;
};

constexpr int64_t kFileBytes = kValues * kBytes;
constexpr int kTrips = 2 * kValues;

TEST(SpillQueue, ARingBringsBackWhatItTook) {
  Traffic traffic;
  SpillFile file(real_files(), spill_folder(real_files(), {}), kFileBytes);
  traffic.run(file.queue());
  EXPECT_EQ(traffic.wrong(), 0);
}

TEST(SpillQueue, AThreadBringsBackWhatItTook) {
  Traffic traffic;
  SpillFile file(real_files(), spill_folder(real_files(), {}), kFileBytes, false);
  EXPECT_FALSE(file.has_ring());
  traffic.run(file.queue());
  EXPECT_EQ(traffic.wrong(), 0);
}

// Every call to the file fails once, in every way: an error that names the file, or no harm.
TEST(SpillQueue, AThreadsFaultsAreErrorsOrNoHarm) {
  for (const Fault fault : {Fault::no_space, Fault::input_output, Fault::short_write}) {
    for (int call = 1; call <= kTrips; call += 3) {
      Traffic traffic;
      MemoryFiles memory;
      FaultyFiles files(memory);
      files.set_count_reads(true);
      SpillFile file(files, "folder", kFileBytes);
      files.fail_call(call, fault);
      try {
        traffic.run(file.queue(), 1);
        EXPECT_EQ(fault, Fault::short_write);
      } catch (const FileError& error) {
        EXPECT_NE(std::string(error.what()).find("folder"), std::string::npos);
      }
      EXPECT_EQ(traffic.wrong(), 0);
      file.queue().settle();
      EXPECT_NO_THROW(traffic.run(file.queue(), 1)) << "after it has settled";
      EXPECT_EQ(traffic.wrong(), 0);
    }
  }
}

// A kernel that does what it is told, in another order than it was asked, and fails on demand.
class FakeRing final : public Ring {
 public:
  explicit FakeRing(std::function<std::optional<int>(const SpillOp&)> fault)
      : disk_(kFileBytes), fault_(std::move(fault)), random_(7) {}

  void add(const SpillOp& op, int tag) override { added_.push_back({op, tag}); }
  void flush() override {
    under_way_.insert(under_way_.end(), added_.begin(), added_.end());
    added_.clear();
  }
  std::optional<Result> poll() override {
    return under_way_.size() < kRingDepth / 2 ? std::nullopt : std::optional(wait());
  }
  Result wait() override {
    const size_t at = random_() % under_way_.size();
    const auto [op, tag] = under_way_[at];
    under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(at));
    const int64_t moved = fault_(op).value_or(static_cast<int>(op.bytes));
    if (moved > 0) {
      std::byte* place = disk_.data() + op.offset;
      std::memcpy(op.writes ? place : op.memory, op.writes ? op.memory : place,
                  static_cast<size_t>(moved));
    }
    return {tag, static_cast<int>(moved)};
  }

 private:
  std::vector<std::byte> disk_;
  std::function<std::optional<int>(const SpillOp&)> fault_;
  std::mt19937 random_;
  std::deque<std::pair<SpillOp, int>> added_, under_way_;
};

int wrong_with(const std::function<std::optional<int>(const SpillOp&)>& fault) {
  Traffic traffic;
  const auto queue = make_ring_queue(std::make_unique<FakeRing>(fault), "file");
  try {
    traffic.run(*queue, 2);
  } catch (...) {
    EXPECT_EQ(traffic.wrong(), 0);
    throw;
  }
  return traffic.wrong();
}

TEST(SpillQueue, ARingInAnyOrder) {
  EXPECT_EQ(wrong_with([](const SpillOp&) { return std::nullopt; }), 0);
}

TEST(SpillQueue, ARingThatIsCutShortGoesOn) {
  std::mt19937 random(3);
  EXPECT_EQ(wrong_with([&](const SpillOp& op) -> std::optional<int> {
              if (random() % 2 == 0 || op.bytes <= 512) return std::nullopt;
              return static_cast<int>(op.bytes / 1024 * 512);
            }),
            0);
}

TEST(SpillQueue, ARingThatIsInterruptedTriesAgain) {
  int count = 0;
  EXPECT_EQ(wrong_with([&](const SpillOp&) -> std::optional<int> {
              ++count;
              if (count % 3 == 0) return -EAGAIN;
              return count % 5 == 0 ? std::optional(-EINTR) : std::nullopt;
            }),
            0);
}

TEST(SpillQueue, ARingsFaultsAreErrors) {
  for (const int result : {-EIO, -ENOSPC, 0}) {
    for (const int at : {1, 7, 30, 50}) {
      int count = 0;
      const auto fault = [&](const SpillOp&) -> std::optional<int> {
        return ++count == at ? std::optional(result) : std::nullopt;
      };
      EXPECT_THROW(wrong_with(fault), FileError) << result << " at " << at;
    }
  }
}

// A disk that does nothing for two seconds.
class StallingFile final : public File {
 public:
  explicit StallingFile(std::unique_ptr<File> inner) : File("stalls"), inner_(std::move(inner)) {}
  int64_t size() override { return inner_->size(); }
  void truncate(int64_t size) override { inner_->truncate(size); }
  void sync() override {}
  void close() override {}
  bool has_stalled() const { return calls_ >= 5; }

 protected:
  size_t read_some(std::span<std::byte> into, int64_t offset) override {
    if (++calls_ == 5) std::this_thread::sleep_for(std::chrono::seconds(2));
    return inner_->read_at(into, offset);
  }
  size_t write_some(std::span<const std::byte> from, int64_t offset) override {
    inner_->write_at(from, offset);
    return from.size();
  }
  size_t append_some(std::span<const std::byte>) override { return 0; }

 private:
  std::unique_ptr<File> inner_;
  int calls_ = 0;
};

TEST(SpillQueue, ADiskThatStallsIsWaitedFor) {
  MemoryFiles memory;
  StallingFile file(memory.open("f", OpenMode::scratch));
  Traffic traffic;
  const auto queue = make_thread_queue(file);
  traffic.run(*queue, 1);
  EXPECT_EQ(traffic.wrong(), 0);
  EXPECT_TRUE(file.has_stalled());
}

}  // namespace
}  // namespace snug
