#include "base/log.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace inferno {
namespace {

using log::Level;

class Log : public testing::Test {
 protected:
  Log() {
    log::set_program("model-generate");
    log::set_sink([this](std::string_view line) { lines_.emplace_back(line); });
  }
  ~Log() override {
    ::unsetenv("INFERNO_LOG");
    ::unsetenv("RUST_LOG");
    static_cast<void>(log::configure(""));
    log::set_sink({});
    log::set_program("inferno");
  }

  // The one line that `event` wrote, without its time.
  template <class... Args>
  std::string line_of(Args&&... args) {
    lines_.clear();
    log::event(std::forward<Args>(args)...);
    if (lines_.size() != 1) return fmt::format("({} lines)", lines_.size());
    return lines_[0].substr(sizeof "2026-05-19T22:14:03Z");
  }

  // The text with each digit as a 9: its shape.
  static std::string with_nines(std::string text) {
    for (char& c : text) c = c >= '0' && c <= '9' ? '9' : c;
    return text;
  }

  static std::string configure_error(std::string_view spec) {
    const Status status = log::configure(spec);
    if (status) return "";
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
    return status.error().message;
  }

  std::vector<std::string> lines_;
};

TEST_F(Log, IsOffByDefault) {
  for (const Level level : {Level::kTrace, Level::kInfo, Level::kError, Level::kOff}) {
    EXPECT_FALSE(log::enabled(level, "inferno::decode"));
  }
  log::event(Level::kError, "inferno::decode", "lost");
  EXPECT_TRUE(lines_.empty());
}

TEST_F(Log, WritesALineAsTheSeedShowsIt) {
  ASSERT_TRUE(log::configure("info"));
  log::event(Level::kInfo, "inferno::decode", "",
             {{"step", 1}, {"token_id", 11}, {"prob", "46.2"}, {"token", ","}});
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_EQ(with_nines(lines_[0].substr(0, 20)), "9999-99-99T99:99:99Z");
  EXPECT_EQ(lines_[0].substr(20), "  INFO model-generate: step=1 token_id=11 prob=46.2 token=,");
  EXPECT_EQ(line_of(Level::kInfo, "inferno::decode", "[EOS reached]"), " INFO model-generate: [EOS reached]");
  EXPECT_EQ(line_of(Level::kError, "inferno", "failed", std::initializer_list<log::Field>{{"code", 1}}),
            "ERROR model-generate: failed code=1");
}

TEST_F(Log, QuotesValuesThatWouldNotStandAlone) {
  ASSERT_TRUE(log::configure("info"));
  const auto value = [this](std::string_view text) {
    return line_of(Level::kInfo, "m", "", std::initializer_list<log::Field>{{"v", text}})
        .substr(std::string_view(" INFO model-generate: v=").size());
  };
  EXPECT_EQ(value(","), ",");
  EXPECT_EQ(value("東京"), "東京");
  EXPECT_EQ(value(" there"), "\" there\"");
  EXPECT_EQ(value("a=b"), "\"a=b\"");
  EXPECT_EQ(value("say \"hi\""), R"("say \"hi\"")");
  EXPECT_EQ(value("\""), R"("\"")");
  EXPECT_EQ(value(""), "\"\"");
  EXPECT_EQ(value("\xf0\x9f"), R"("\xf0\x9f")");
}

TEST_F(Log, NoValueOrMessageForgesALine) {
  ASSERT_TRUE(log::configure("info"));
  const std::string line = line_of(Level::kInfo, "m", "first\nsecond",
                                   std::initializer_list<log::Field>{{"v", "\n2026 ERROR forged\x1b[2J"}});
  EXPECT_EQ(line, R"( INFO model-generate: first\nsecond v="\n2026 ERROR forged\u{1b}[2J")");
}

TEST_F(Log, BlockPrintsItsLinesBelowTheEvent) {
  ASSERT_TRUE(log::configure("trace"));
  log::block(Level::kTrace, "inferno::profile", "operations", "matmul  90 %\nrope    10 %\n");
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_TRUE(lines_[0].ends_with("TRACE model-generate: operations\nmatmul  90 %\nrope    10 %"))
      << lines_[0];
  log::block(Level::kOff, "inferno::profile", "operations", "x");
  EXPECT_EQ(lines_.size(), 1u);
}

TEST_F(Log, ALevelLetsThroughItselfAndWhatIsMoreSevere) {
  ASSERT_TRUE(log::configure("WARN"));
  EXPECT_FALSE(log::enabled(Level::kTrace, "m"));
  EXPECT_FALSE(log::enabled(Level::kInfo, "m"));
  EXPECT_TRUE(log::enabled(Level::kWarn, "m"));
  EXPECT_TRUE(log::enabled(Level::kError, "m"));
  EXPECT_FALSE(log::enabled(Level::kOff, "m"));
}

TEST_F(Log, TheLongestModuleOnABoundaryWins) {
  ASSERT_TRUE(log::configure("warn, inferno::decode=trace ,inferno=Info,inferno::decode::quiet=off,"));
  EXPECT_TRUE(log::enabled(Level::kTrace, "inferno::decode"));
  EXPECT_TRUE(log::enabled(Level::kTrace, "inferno::decode::deep"));
  EXPECT_FALSE(log::enabled(Level::kError, "inferno::decode::quiet"));
  EXPECT_FALSE(log::enabled(Level::kDebug, "inferno::decoder"));  // no "::" after "decode": falls to inferno
  EXPECT_TRUE(log::enabled(Level::kInfo, "inferno::decoder"));
  EXPECT_FALSE(log::enabled(Level::kInfo, "infernal"));
  EXPECT_TRUE(log::enabled(Level::kWarn, "infernal"));
}

TEST_F(Log, ABareModuleMeansTraceAndTheLastOfTwoDirectivesCounts) {
  ASSERT_TRUE(log::configure("inferno::gguf,inferno=debug,inferno=error"));
  EXPECT_TRUE(log::enabled(Level::kTrace, "inferno::gguf"));
  EXPECT_FALSE(log::enabled(Level::kWarn, "inferno"));
  EXPECT_TRUE(log::enabled(Level::kError, "inferno"));
  EXPECT_FALSE(log::enabled(Level::kError, "other"));
  ASSERT_TRUE(log::configure("inferno"));
  EXPECT_TRUE(log::enabled(Level::kTrace, "inferno::gguf"));
}

TEST_F(Log, AMalformedFilterIsNamedAndChangesNothing) {
  ASSERT_TRUE(log::configure("error"));
  EXPECT_EQ(configure_error("warn,inferno=loud"),
            "log filter: cannot read \"inferno=loud\"; expected error|warn|info|debug|trace|off, module or "
            "module=level, where module is inferno or inferno::NAME");
  EXPECT_TRUE(configure_error("inof").ends_with("inferno or inferno::NAME; did you mean info?"));
  EXPECT_TRUE(
      configure_error("nonsense").starts_with("log filter: cannot read \"nonsense\"; expected error|"));
  EXPECT_NE(configure_error("nonsense=debug"), "");
  EXPECT_NE(configure_error("infernal::decode=debug"), "");
  EXPECT_TRUE(configure_error("m=debugg").ends_with("; did you mean debug?"));
  EXPECT_NE(configure_error("=info"), "");
  EXPECT_NE(configure_error("info warn"), "");
  EXPECT_NE(configure_error("m="), "");
  EXPECT_NE(configure_error("a=b=info"), "");
  EXPECT_TRUE(log::enabled(Level::kError, "m"));
  EXPECT_FALSE(log::enabled(Level::kWarn, "m"));
}

TEST_F(Log, RustLogIsReadOnlyWithoutInfernoLog) {
  ::setenv("RUST_LOG", "trace", 1);
  ASSERT_TRUE(log::configure_from_environment());
  EXPECT_TRUE(log::enabled(Level::kTrace, "m"));
  ::setenv("INFERNO_LOG", "error", 1);
  ASSERT_TRUE(log::configure_from_environment());
  EXPECT_FALSE(log::enabled(Level::kWarn, "m"));
  ::unsetenv("INFERNO_LOG");
  ::unsetenv("RUST_LOG");
  ASSERT_TRUE(log::configure_from_environment());
  EXPECT_FALSE(log::enabled(Level::kError, "m"));
}

TEST_F(Log, RustLogMayNameOtherProgramsModules) {
  ::setenv("RUST_LOG", "hyper=info,warp,inferno=debug", 1);
  ASSERT_TRUE(log::configure_from_environment());
  EXPECT_TRUE(log::enabled(Level::kDebug, "inferno::decode"));
  EXPECT_FALSE(log::enabled(Level::kError, "other"));
}

TEST_F(Log, AMalformedVariableIsNamed) {
  ::setenv("RUST_LOG", "inferno=loud", 1);
  Status status = log::configure_from_environment();
  ASSERT_FALSE(status);
  EXPECT_TRUE(status.error().message.starts_with("RUST_LOG: log filter: cannot read \"inferno=loud\""));
  ::setenv("INFERNO_LOG", "verbose=1", 1);
  status = log::configure_from_environment();
  ASSERT_FALSE(status);
  EXPECT_TRUE(status.error().message.starts_with("INFERNO_LOG: log filter: cannot read \"verbose=1\""));
}

TEST_F(Log, LinesOfSeveralThreadsStayWhole) {
  ASSERT_TRUE(log::configure("info"));
  constexpr int kThreads = 4;
  constexpr int kLines = 200;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < kLines; ++i) log::event(Level::kInfo, "m", "", {{"thread", t}, {"i", i}});
    });
  }
  for (int i = 0; i < kLines; ++i)
    static_cast<void>(log::configure(i % 2 == 0 ? "info,inferno::x=warn" : "info"));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lines_.size(), static_cast<size_t>(kThreads * kLines));
  std::set<std::string> shapes;
  for (const std::string& text : lines_) shapes.insert(with_nines(text));
  EXPECT_EQ(shapes, (std::set<std::string>{"9999-99-99T99:99:99Z  INFO model-generate: thread=9 i=9",
                                           "9999-99-99T99:99:99Z  INFO model-generate: thread=9 i=99",
                                           "9999-99-99T99:99:99Z  INFO model-generate: thread=9 i=999"}));
}

TEST_F(Log, GoesToStderrWithoutASink) {
  log::set_sink({});
  ASSERT_TRUE(log::configure("info"));
  testing::internal::CaptureStderr();
  log::event(Level::kInfo, "m", "100% {} %v");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(text.ends_with("Z  INFO model-generate: 100% {} %v\n")) << text;
}

}  // namespace
}  // namespace inferno
