#include "snug/cli/class_names.h"

#include <gtest/gtest.h>

#include <cmath>

#include "snug/data/columns.h"

namespace snug::cli {
namespace {

using Names = std::vector<std::string>;

TEST(ClassNames, AreTheCategoriesOfTheLabel) {
  Columns columns{.columns = {{.name = "age", .use = ColumnUse::standardise},
                              {.name = "y", .use = ColumnUse::index, .vocabulary = {"no", "yes"}}},
                  .labels = {"y"}};
  EXPECT_EQ(class_names_of(columns.json()), (Names{"no", "yes"}));
  columns.labels = {"age"};
  EXPECT_TRUE(class_names_of(columns.json()).empty());
}

TEST(ClassNames, AreKeptOfPicturesAndTexts) {
  EXPECT_EQ(class_names_of(fitted_to_classes({"cat", "dog"})), (Names{"cat", "dog"}));
  EXPECT_EQ(fitted_to_classes({}), "");
  for (const char* other : {"", "[1]", "{}", "{\"class_names\": [1]}", "no json"})
    EXPECT_TRUE(class_names_of(other).empty()) << other;
}

TEST(NamedClasses, AreFoundInARow) {
  const float three[] = {0.2F, 0.7F, 0.1F};
  const NamedClasses each({"a", "b", "c"}, 3, 0.5F);
  EXPECT_EQ(each.of(three), "b");
  EXPECT_EQ(each.columns(), (Names{"a", "b", "c"}));
  const NamedClasses two({"no", "yes"}, 1, 0);
  const float logit = 0.1F, other = -0.1F;
  EXPECT_EQ(two.of(&logit), "yes");
  EXPECT_EQ(two.of(&other), "no");
  EXPECT_EQ(two.columns(), Names{"yes"});
  const float half = 0.5F;
  EXPECT_EQ(NamedClasses({"no", "yes"}, 1, 0.5F).of(&half), "no") << "as accuracy counts it";
  const float none[] = {0.2F, NAN, 0.1F};
  EXPECT_EQ(each.of(none), "");
  EXPECT_EQ(two.of(&none[1]), "");
  EXPECT_FALSE(NamedClasses({"a", "b", "c"}, 4, 0));
  EXPECT_FALSE(NamedClasses({"a", "b", "c"}, 1, 0));
  EXPECT_FALSE(NamedClasses());
}

}  // namespace
}  // namespace snug::cli
