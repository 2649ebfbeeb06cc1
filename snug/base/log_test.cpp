#include "snug/base/log.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace snug {
namespace {

class LogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    former_ = set_log_sink([this](LogLevel level, std::string_view message) {
      messages_.push_back(std::string(name(level)) + ": " + std::string(message));
    });
  }
  void TearDown() override { set_log_sink(former_); }

  std::vector<std::string> messages_;
  LogSink former_;
};

TEST_F(LogTest, TheSinkGetsLevelAndText) {
  log_message(LogLevel::warning, "{} of {} rows", 3, 7);
  log_message(LogLevel::debug, "done");
  EXPECT_EQ(messages_, (std::vector<std::string>{"warning: 3 of 7 rows", "debug: done"}));
}

TEST_F(LogTest, WithoutASinkNothingIsFormattedOrPrinted) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const LogSink sink = set_log_sink(nullptr);
  EXPECT_FALSE(log_is_on());
  log_message(LogLevel::error, "nobody hears it");
  send_to_log(LogLevel::error, "nor this");
  EXPECT_EQ(::testing::internal::GetCapturedStdout() + ::testing::internal::GetCapturedStderr(),
            "");
  EXPECT_TRUE(messages_.empty());
  EXPECT_TRUE(sink);
}

TEST_F(LogTest, AMessageFromInsideTheSinkIsDropped) {
  int calls = 0;
  set_log_sink([&](LogLevel, std::string_view) {
    ++calls;
    log_message(LogLevel::info, "again");
  });
  log_message(LogLevel::info, "once");
  EXPECT_EQ(calls, 1);
}

TEST_F(LogTest, ThreadsTakeTurns) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 500; ++i) log_message(LogLevel::info, "message {}", i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(messages_.size(), 2000u);
}

}  // namespace
}  // namespace snug
