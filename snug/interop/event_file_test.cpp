#include "snug/interop/event_file.h"

#include <gtest/gtest.h>

#include "snug/testing/memory_files.h"

namespace snug::testing {
namespace {

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<uint8_t>(c));
  return text;
}

// TensorFlow reads and writes these bytes (keras.md 3.7 and 3.8).
TEST(EventFile, HasTensorFlowsBytes) {
  EXPECT_EQ(hex(tf_record("")), "000000000000000029039807d8ea82a2");
  EXPECT_EQ(hex(tf_record(version_event(1.7e9))),
            "1800000000000000a37f4b220900000040fc54d9411a0d627261696e2e4576656e743a32eced8f9d");
  EXPECT_EQ(hex(scalar_event(1.7e9, 3, "epoch_loss", 0.25f)),
            "0900000040fc54d94110032a290a270a0a65706f63685f6c6f73734a0d0a090a077363616c617273200142"
            "0a080112002a040000803e");
}

// The text of a deep model is megabytes: it is not copied where it has room.
TEST(EventFile, IsMadeOfTheTextOfAModel) {
  std::string json(100'000, 'j');
  json.reserve(json.size() + 200);
  const char* place = json.data();
  const std::string event = model_event(1.7e9, std::move(json));
  EXPECT_EQ(event.data(), place);
  EXPECT_EQ(hex(event.substr(0, event.size() - 100'000)),
            "0900000040fc54d9412ad18d060acd8d060a056b657261734a180a160a1167726170685f6b657261735f6d"
            "6f64656c12013142a88d060807120042a08d06");
  EXPECT_EQ(event.substr(event.size() - 100'000), std::string(100'000, 'j'));
}

TEST(EventFile, CountsValuesInBuckets) {
  const std::vector<float> values = {0, 1, 2, 3, NAN, INFINITY}, equal = {2, 2};
  const std::string many = histogram_event(1, 1, "w", values);
  EXPECT_NE(many.find("histograms"), std::string::npos);
  double total = 0;
  const size_t at = many.find(std::string("\x22\xd0\x05", 3)) + 3;  // 30 rows of 3 doubles.
  for (size_t i = 0; i < 30; ++i) {
    double count = 0;
    many.copy(reinterpret_cast<char*>(&count), 8, at + 24 * i + 16);
    total += count;
  }
  EXPECT_EQ(total, 4);
  EXPECT_NE(histogram_event(1, 1, "w", equal).find(std::string("\x22\x18", 2)), std::string::npos);
  EXPECT_NE(histogram_event(1, 1, "w", {}).find(std::string("\x22\x00", 2)), std::string::npos);
}

TEST(EventFile, GrowsByWholeRecords) {
  MemoryFiles files;
  GrowingFile one = new_event_file("logs/train", files), two = new_event_file("logs/train", files);
  EXPECT_NE(one.path(), two.path());
  one.flush();
  two.flush();
  one.add(tf_record(scalar_event(1, 2, "a", 3)));
  EXPECT_EQ(files.size(one.path()), files.size(two.path()));
  one.flush();
  EXPECT_EQ(*files.size(one.path()) - *files.size(two.path()),
            std::ssize(tf_record(scalar_event(1, 2, "a", 3))));
}

}  // namespace
}  // namespace snug::testing
