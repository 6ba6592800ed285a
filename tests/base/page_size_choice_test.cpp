#include "base/page_size_choice.h"

#include <gtest/gtest.h>

namespace inferno {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::microseconds kFast = 200us, kSlow = 6ms;

TEST(PageSizeChoice, HugePagesAreTakenWhileTheyAreFast) {
  PageSizeChoice choice;
  EXPECT_TRUE(choice.huge_are_wanted());
  for (int i = 0; i < 100; ++i) choice.count(true, kFast);
  EXPECT_TRUE(choice.huge_are_wanted());
}

TEST(PageSizeChoice, OneSlowPageAmongOthersDoesNotMatter) {
  PageSizeChoice choice;
  for (int i = 0; i < 100; ++i) {
    choice.count(true, i % 4 == 0 ? kSlow : kFast);
    EXPECT_TRUE(choice.huge_are_wanted()) << i;
  }
}

TEST(PageSizeChoice, TwoSlowOnesInARowAreEnough) {
  PageSizeChoice choice;
  for (int i = 0; i < 100; ++i) choice.count(true, kFast);
  choice.count(true, kSlow);
  EXPECT_TRUE(choice.huge_are_wanted());
  choice.count(true, kSlow);
  EXPECT_FALSE(choice.huge_are_wanted());
}

TEST(PageSizeChoice, SoAreMoreThanAThird) {
  PageSizeChoice choice;
  for (int i = 0; i < 10; ++i) choice.count(true, i % 2 == 0 ? kSlow : kFast);
  EXPECT_FALSE(choice.huge_are_wanted());
}

TEST(PageSizeChoice, HugePagesAreTakenWhereSmallOnesAreNotFasterEither) {
  PageSizeChoice choice;
  for (int i = 0; i < 2; ++i) choice.count(true, kSlow);
  for (int i = 0; i < 7; ++i) choice.count(false, kSlow);
  EXPECT_FALSE(choice.huge_are_wanted()) << "that few may be slow for other reasons";
  choice.count(false, kSlow);
  EXPECT_TRUE(choice.huge_are_wanted());
  for (int i = 0; i < 9; ++i) choice.count(false, kFast);
  EXPECT_FALSE(choice.huge_are_wanted()) << "most small ones are fast";
}

TEST(PageSizeChoice, HugePagesAreTakenWhereSmallOnesAreSlowToRead) {
  PageSizeChoice choice;
  for (int i = 0; i < 2; ++i) choice.count(true, kSlow);
  choice.count_first_reading(100ns);
  EXPECT_FALSE(choice.huge_are_wanted());
  choice.count_first_reading(3500ns);
  EXPECT_TRUE(choice.huge_are_wanted());
}

}  // namespace
}  // namespace inferno
