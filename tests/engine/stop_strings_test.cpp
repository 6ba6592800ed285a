#include "engine/stop_strings.h"

#include <gtest/gtest.h>

namespace inferno::engine {
namespace {

// Feeds the text in pieces of n bytes; what was shown, and whether it stopped.
std::pair<std::string, bool> feed(const std::vector<std::string>& stops, const std::string& text, size_t n) {
  StopStrings watcher(stops);
  std::string shown;
  for (size_t i = 0; i < text.size(); i += n) shown += watcher.push(text.substr(i, n));
  const bool stopped = watcher.stopped();
  return {shown + watcher.flush(), stopped};
}

TEST(StopStrings, CutsBeforeTheFirstStopHoweverTheTextArrives) {
  const std::vector<std::string> stops = {"\n\n", "END", "ENDING"};
  for (size_t n = 1; n <= 12; ++n) {
    EXPECT_EQ(feed(stops, "one\ntwo EN three END four", n),
              std::pair(std::string("one\ntwo EN three "), true))
        << n;
    EXPECT_EQ(feed(stops, "one\n\ntwo END", n), std::pair(std::string("one"), true)) << n;
    EXPECT_EQ(feed(stops, "never EN", n), std::pair(std::string("never EN"), false)) << n;
  }
}

TEST(StopStrings, HoldsBackOnlyWhatMayBecomeAStop) {
  const std::vector<std::string> stops = {"abab"};
  StopStrings watcher(stops);
  EXPECT_EQ(watcher.push("xab"), "x");
  EXPECT_EQ(watcher.push("a"), "");
  EXPECT_EQ(watcher.push("c"), "abac");
  EXPECT_EQ(watcher.push("aba"), "");
  EXPECT_EQ(watcher.push("b"), "");
  EXPECT_TRUE(watcher.stopped());
  EXPECT_EQ(watcher.push("more"), "");
  EXPECT_EQ(watcher.flush(), "");
}

TEST(StopStrings, EmptyStringsNeverStop) {
  EXPECT_EQ(feed({""}, "text", 1), std::pair(std::string("text"), false));
}

}  // namespace
}  // namespace inferno::engine
