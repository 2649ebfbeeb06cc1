#include "snug/train/checkpoint_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "snug/base/error.h"
#include "snug/data/source_testing.h"
#include "snug/testing/faulty_file.h"
#include "snug/testing/memory_files.h"
#include "snug/train/state_bytes.h"

namespace snug::testing {
namespace {

// Two variables and a section of numbers.
struct Contents {
  std::vector<float> weights = {1, 2, 3, 4, 5, 6};
  std::vector<int64_t> count = {7};
  int64_t epoch = 3;
  double rate = 0.25;
  std::string text = "hello";
  std::vector<double> losses = {1, INFINITY};

  std::vector<CheckpointVariable> variables() {
    return {{"weights/a", {{DType::float32, {2, 3}}, weights.data()}},
            {"optimizer/count", {{DType::int64, {1}}, count.data()}}};
  }
  void visit(StateVisitor& visitor) {
    visitor.visit("epoch", epoch);
    visitor.visit("rate", rate);
    visitor.visit("text", text);
    visitor.visit("losses", losses);
  }
  std::vector<CheckpointSection> sections() {
    StateWriter writer;
    visit(writer);
    return {{"progress", writer.take()}, {"empty", {}}};
  }
  void write(FileSystem& files) { write_checkpoint(files, "a.ckpt", sections(), variables()); }
  void read(FileSystem& files) {
    const CheckpointFile file(files, "a.ckpt");
    file.verify();
    file.read_values(variables());
    StateReader reader(file.section("progress"), "a.ckpt");
    visit(reader);
  }
  void clear() {
    weights.assign(6, 0);
    count = {0};
    epoch = 0;
    rate = 0;
    text.clear();
    losses.clear();
  }
  friend bool operator==(const Contents&, const Contents&) = default;
};

// A layer inside another one had no name in files of before, where the user gave it none.
TEST(CheckpointFile, FindsWhatHadNoLayersName) {
  MemoryFiles files;
  std::vector<float> kernel = {1, 2}, other = {3}, read = {0, 0};
  const std::vector<CheckpointVariable> written = {
      {"weights/block//kernel", {{DType::float32, {2}}, kernel.data()}},
      {"weights/twice//bias", {{DType::float32, {1}}, other.data()}},
      {"weights/twice//bias", {{DType::float32, {1}}, other.data()}}};
  write_checkpoint(files, "a.ckpt", {}, written);
  const CheckpointFile file(files, "a.ckpt");
  file.read_values({{"weights/block/dense/kernel", {{DType::float32, {2}}, read.data()}}});
  EXPECT_EQ(read, kernel);
  const std::string missing = message_of([&] {
    file.read_values({{"weights/twice/dense/bias", {{DType::float32, {1}}, read.data()}}});
  });
  expect_within(missing, "weights/twice/dense/bias is missing there");
}

TEST(CheckpointFile, GivesBackWhatWasWritten) {
  MemoryFiles files;
  Contents contents, again;
  contents.write(files);
  EXPECT_EQ(files.size("a.ckpt"), checkpoint_bytes(contents.sections(), contents.variables()));
  EXPECT_EQ(files.list(""), std::vector<std::string>{"a.ckpt"});
  again.clear();
  again.read(files);
  EXPECT_EQ(again, contents);
}

TEST(CheckpointFile, RefusesWhatIsNotFinite) {
  MemoryFiles files;
  Contents contents;
  contents.write(files);
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    Contents spoiled;
    spoiled.weights[4] = bad;
    expect_within(message_of<NumericsError>([&] { spoiled.write(files); }), "weights/a holds");
  }
  contents.clear();
  contents.read(files);
  EXPECT_EQ(contents, Contents());
}

TEST(CheckpointFile, NamesAnotherModel) {
  MemoryFiles files;
  Contents contents;
  contents.write(files);
  const CheckpointFile file(files, "a.ckpt");
  auto other = contents.variables();
  other[0].tensor.type = {DType::float32, {3, 2}};
  const std::string message = message_of([&] { file.read_values(other); });
  expect_within(message, "weights/a is float32[2, 3] there and float32[3, 2] here");
  other = contents.variables();
  other[1].name = "optimizer/other";
  expect_within(message_of([&] { file.read_values(other); }), "optimizer/other is missing there");
  expect_within(message_of<CorruptFile>([&] { file.section("guard"); }), "no section \"guard\"");
}

TEST(CheckpointFile, RefusesOtherFilesAndVersions) {
  MemoryFiles files;
  write_text(files, "a.ckpt", "epoch,loss\n");
  expect_within(message_of<CorruptFile>([&] { CheckpointFile(files, "a.ckpt"); }), "is it one?");
  write_text(files, "a.ckpt", "");
  expect_within(message_of<CorruptFile>([&] { CheckpointFile(files, "a.ckpt"); }), "is it one?");
  Contents().write(files);
  std::string text = read_text(files, "a.ckpt");
  text[8] = 2;
  write_text(files, "a.ckpt", text);
  expect_within(message_of<CorruptFile>([&] { CheckpointFile(files, "a.ckpt"); }),
                "version 2, and this Snug reads version 1");
}

// 10,000 flips and cuts: each is refused, or the state loads equal.
TEST(CheckpointFile, DamageIsFound) {
  MemoryFiles files;
  Contents().write(files);
  const std::string good = read_text(files, "a.ckpt");
  std::mt19937_64 random(1);
  int refused = 0;
  for (int i = 0; i < 10'000; ++i) {
    std::string bad = good;
    if (random() % 10 == 0) {
      bad.resize(random() % good.size());
    } else {
      for (uint64_t flips = 1 + random() % 3; flips > 0; --flips)
        bad[random() % bad.size()] ^= static_cast<char>(1 << random() % 8);
    }
    write_text(files, "a.ckpt", bad);
    Contents contents;
    contents.clear();
    try {
      contents.read(files);
      EXPECT_EQ(contents, Contents()) << "damage " << i;
    } catch (const InternalError& error) {
      ADD_FAILURE() << error.what();
    } catch (const FileError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 6'000);
}

// Every call fails once, in every way: the old file or the new one is there, whole.
TEST(CheckpointFile, EveryWriteMayFail) {
  for (const Fault fault :
       {Fault::no_space, Fault::input_output, Fault::short_write, Fault::crash}) {
    for (int64_t call = 1;; ++call) {
      MemoryFiles disk;
      Contents old, next;
      next.weights[0] = 9;
      old.write(disk);
      FaultyFiles files(disk);
      files.fail_call(call, fault);
      bool failed = false;
      try {
        next.write(files);
      } catch (const FileError&) {
        failed = true;
      } catch (const Crash&) {
        failed = true;
      }
      if (files.calls() < call) break;
      for (uint64_t seed = 0; seed < 5; ++seed) {
        const auto after = fault == Fault::crash ? disk.after_crash(seed) : nullptr;
        Contents found;
        found.clear();
        found.read(after ? *after : disk);
        const bool is_new = found == next;
        EXPECT_TRUE(is_new || found == old) << "call " << call << " seed " << seed;
        EXPECT_TRUE(is_new || failed);
      }
    }
  }
}

TEST(StateBytes, NamesWhatIsMissingOrOfAnotherKind) {
  Contents contents;
  StateWriter writer;
  contents.visit(writer);
  StateReader reader(writer.take(), "a.ckpt: progress");
  int64_t number = 0;
  double real = 0;
  expect_within(message_of<CorruptFile>([&] { reader.visit("step", number); }),
                "a.ckpt: progress: it has no \"step\"");
  expect_within(message_of<CorruptFile>([&] { reader.visit("epoch", real); }), "no \"epoch\"");
  EXPECT_EQ(reader.lines()[0], "epoch = 3");
  EXPECT_EQ(reader.lines()[3], "losses = 2 numbers");
}

// Arrays are variables of the file; nothing of them is copied.
TEST(StateBytes, HandsArraysOn) {
  float values[2] = {1, 2};
  const Tensor tensor{{DType::float32, {2}}, values};
  StateWriter writer;
  writer.visit_values("best", tensor);
  ASSERT_EQ(writer.values().size(), 1);
  EXPECT_EQ(writer.values()[0].first, "best");
  EXPECT_EQ(writer.values()[0].second.data, values);
  EXPECT_TRUE(writer.take().empty());
  StateReader reader({}, "a.ckpt", [](const std::string& name, const Tensor& into) {
    EXPECT_EQ(name, "best");
    into.as<float>()[1] = 7;
  });
  reader.visit_values("best", tensor);
  EXPECT_EQ(values[1], 7);
}

}  // namespace
}  // namespace snug::testing
