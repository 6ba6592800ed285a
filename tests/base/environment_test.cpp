#include "base/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/check.h"

namespace inferno {
namespace {

TEST(Environment, GivesTheValueOfAVariable) {
  ASSERT_EQ(::setenv("INFERNO_LOG", "info", 1), 0);
  EXPECT_EQ(environment::get("INFERNO_LOG"), "info");
  ASSERT_EQ(::unsetenv("INFERNO_LOG"), 0);
}

TEST(Environment, EmptyIsTheSameAsUnset) {
  ASSERT_EQ(::setenv("INFERNO_LOG", "", 1), 0);
  EXPECT_EQ(environment::get("INFERNO_LOG"), std::nullopt);
  ASSERT_EQ(::unsetenv("INFERNO_LOG"), 0);
  EXPECT_EQ(environment::get("INFERNO_LOG"), std::nullopt);
}

TEST(Environment, KnowsOnlyListedVariables) {
  EXPECT_THROW(environment::get("INFERNO_NOT_IN_THE_LIST"), InternalError);
  for (const environment::Variable& variable : environment::variables()) {
    EXPECT_NO_THROW(environment::get(variable.name));
    EXPECT_FALSE(variable.meaning.empty()) << variable.name;
  }
}

TEST(Environment, ASwitchIsZeroOrOne) {
  const auto with = [](const char* value) {
    EXPECT_EQ(::setenv("INFENG_TOKEN_CACHE", value, 1), 0);
    auto result = environment::get_switch("INFENG_TOKEN_CACHE");
    ::unsetenv("INFENG_TOKEN_CACHE");
    return result;
  };
  EXPECT_EQ(*with(""), std::nullopt);
  EXPECT_EQ(*with("0"), false);
  EXPECT_EQ(*with("1"), true);
  const auto wrong = with("true");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "INFENG_TOKEN_CACHE: expected 0 or 1, found \"true\"");
  EXPECT_EQ(wrong.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace inferno
