#include "snug/plan/curve.h"

#include <gtest/gtest.h>

namespace snug {
namespace {

const std::vector<CurvePoint> kCurve = {
    {1000, 100e6, 4, 0}, {2000, 40e6, 0, 7}, {3000, 30e6, 0, 2}, {4000, 29e6, 0, 0}};

TEST(Curve, FindsTheKnee) { EXPECT_EQ(knee_of(kCurve), 1U); }

TEST(Curve, SaysHowEachPointIsReached) {
  const std::string text = curve_text(kCurve);
  EXPECT_NE(text.find("parts of 4 rows"), std::string::npos) << text;
  EXPECT_NE(text.find("7 nodes computed again  <- the knee"), std::string::npos) << text;
  EXPECT_NE(text.find("as it runs best"), std::string::npos) << text;
}

TEST(Curve, SaysWhatWaitsOnTheDisk) {
  const std::vector<CurvePoint> curve = {
      {.budget_bytes = 1000, .step_ns = 5e6, .spilled_bytes = 3 << 20, .node_by_node = true}};
  const std::string text = curve_text(curve);
  EXPECT_NE(text.find("node by node, 3.0 MiB to the disk and back"), std::string::npos) << text;
}

// Budgets of a few KiB apart beside 16 MiB of the process are not all "16.0 MiB".
TEST(Curve, TellsBudgetsApart) {
  std::vector<CurvePoint> curve = kCurve;
  for (CurvePoint& point : curve) point.budget_bytes += int64_t{16} << 20;
  const std::string text = curve_text(curve);
  EXPECT_NE(text.find("16.0010 MiB"), std::string::npos) << text;
  EXPECT_NE(text.find("16.0020 MiB"), std::string::npos) << text;
  EXPECT_NE(curve_text(kCurve).find("2.0 KiB"), std::string::npos) << curve_text(kCurve);
}

TEST(Curve, DrawsAPointForEachBudget) {
  const std::string svg = curve_svg(kCurve, "a < b");
  EXPECT_NE(svg.find("a &lt; b"), std::string::npos);
  size_t circles = 0;
  for (size_t at = svg.find("<circle"); at != std::string::npos; at = svg.find("<circle", at + 1))
    ++circles;
  EXPECT_EQ(circles, kCurve.size());
}

TEST(Curve, OfNothing) {
  EXPECT_EQ(curve_text({}), "no budget works\n");
  EXPECT_NE(curve_svg({}, "none").find("</svg>"), std::string::npos);
}

}  // namespace
}  // namespace snug
