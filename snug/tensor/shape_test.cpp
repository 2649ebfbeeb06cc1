#include "snug/tensor/shape.h"

#include <gtest/gtest.h>

#include "snug/base/error.h"

namespace snug {
namespace {

TEST(Shape, TextNamesTheOpenExtent) {
  EXPECT_EQ((Shape{kRows, 28, 1}.text()), "[rows, 28, 1]");
  EXPECT_EQ((Shape{Extent(4, true), 2}.text()), "[rows*4, 2]");
  EXPECT_EQ(Shape{}.text(), "[]");
}

TEST(Shape, BecomesConcreteAtANumberOfRows) {
  const Shape shape{Extent(4, true), 2};
  EXPECT_TRUE(shape.is_symbolic());
  EXPECT_EQ(shape.at(3), (Shape{12, 2}));
  EXPECT_EQ(shape.size_per_row(), 8);
  EXPECT_THROW(shape.size(), InternalError);
}

TEST(Shape, BroadcastsLikeNumPy) {
  EXPECT_EQ(broadcast(Shape{kRows, 3}, Shape{3}, "add"), (Shape{kRows, 3}));
  EXPECT_EQ(broadcast(Shape{2, 1}, Shape{1, 5}, "add"), (Shape{2, 5}));
  EXPECT_EQ(broadcast(Shape{}, Shape{1, 5}, "add"), (Shape{1, 5}));
}

TEST(Shape, RefusesShapesThatDoNotBroadcast) {
  try {
    broadcast(Shape{kRows, 3}, Shape{4}, "add");
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(),
                 "add: the shapes [rows, 3] and [4] do not broadcast: axis 1 is 3 and 4; they must "
                 "be equal or 1");
  }
}

TEST(Shape, RefusesAnAxisThatIsNotThere) {
  EXPECT_EQ(normalised_axis(-1, 3, "sum"), 2);
  EXPECT_THROW(normalised_axis(3, 3, "sum"), ShapeError);
}

TEST(Shape, RefusesMoreElementsThanCanBeCounted) {
  const int64_t large = int64_t{1} << 31;
  EXPECT_THROW((void)Shape({large, large}).size(), ShapeError);
  EXPECT_THROW((void)Shape({kRows, large, large}).size_per_row(), ShapeError);
  EXPECT_THROW((void)Shape({Extent(large, true)}).at(int64_t{1} << 40), ShapeError);
}

TEST(Shape, RefusesANinthAxis) {
  Shape shape;
  for (int i = 0; i < 8; ++i) shape.push_back(1);
  EXPECT_THROW(shape.push_back(1), ShapeError);
}

}  // namespace
}  // namespace snug
