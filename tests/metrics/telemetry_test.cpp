#include "metrics/telemetry.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>
#include <vector>

#include "base/json.h"
#include "support/fake_clock.h"
#include "support/shared_data.h"

namespace inferno::telemetry {
namespace {

using namespace std::chrono_literals;

// Telemetry is the process's: each test starts and ends with none.
class Telemetry : public ::testing::Test {
 protected:
  Telemetry() {
    clear();
    set_clock(clock_);
    set_enabled(true);
  }
  ~Telemetry() override {
    set_enabled(false);
    set_clock(steady_clock());
    set_max_spans(kMaxSpans);
    clear();
  }

  void span(const char* stage, test::FakeClock::Duration duration) {
    const ScopedCounter counter(stage);
    clock_.advance(duration);
  }
  std::string csv() {
    const std::string path = (folder_ / "spans.csv").string();
    const Status status = flush_csv(path);
    EXPECT_TRUE(status) << status.error().message;
    return test::read_file(path);
  }
  Json trace() {
    const std::string path = (folder_ / "trace.json").string();
    const Status status = write_trace(path);
    EXPECT_TRUE(status) << status.error().message;
    return parse_json(test::read_file(path)).value();
  }

  test::FakeClock clock_;
  std::filesystem::path folder_ = test::scratch_dir("telemetry");
};

size_t n_files(const std::filesystem::path& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST_F(Telemetry, ARowForEachScopeInOrderOfClosing) {
  {
    const ScopedCounter outer("Scheduler::DispatchNext");
    clock_.advance(2us);
    span("tokenizer::EncodeBatch", 1500ns);
    span("model::Forward", 40us);
  }
  span("sampling::Sample", 3ns);
  EXPECT_EQ(csv(),
            "stage,elapsed_us\n"
            "tokenizer::EncodeBatch,1.500\n"
            "model::Forward,40.000\n"
            "Scheduler::DispatchNext,43.500\n"
            "sampling::Sample,0.003\n");
  EXPECT_EQ(csv(), "stage,elapsed_us\n") << "flushing forgets what it wrote";
}

TEST_F(Telemetry, TheMetricsNotesNameIsTheSameNamespace) {
  {
    const infeng::telemetry::ScopedCounter counter("CpuLoraEngine::Decode");
    clock_.advance(1us);
  }
  EXPECT_EQ(csv(), "stage,elapsed_us\nCpuLoraEngine::Decode,1.000\n");
}

TEST_F(Telemetry, OffNothingIsRecordedOrAllocated) {
  set_enabled(false);
  const size_t before = usage().bytes;
  size_t during = 0;
  std::thread([&] {  // a thread that has no buffer yet
    for (int i = 0; i < 1000; ++i) span("stage", 1us);
    during = usage().bytes;
  })
      .join();
  EXPECT_EQ(during, before);
  EXPECT_EQ(usage().spans, 0u);
  EXPECT_TRUE(summarize().empty());
}

TEST_F(Telemetry, AScopeCountsIfTelemetryWasOnWhenItBegan) {
  set_enabled(false);
  {
    const ScopedCounter begun_off("begun off");
    set_enabled(true);
    const ScopedCounter begun_on("begun on");
    const ScopedCounter unnamed(nullptr);
    set_enabled(false);
  }
  EXPECT_EQ(csv(), "stage,elapsed_us\nbegun on,0.000\n");
}

TEST_F(Telemetry, SpansInTicksAreWrittenInMicrosecondsOfTheSteadyClock) {
  set_clock(steady_clock());
  set_enabled(true);  // takes the processor's counter, if it has one
  const auto begin = steady_clock().now();
  record("before", begin - 1ms, begin);
  {
    const ScopedCounter counter("inside");
    std::this_thread::sleep_for(3ms);
  }
  const auto end = steady_clock().now();
  const Json events = trace();
  const double start_us = events[events.size() - 1]["ts"], duration_us = events[events.size() - 1]["dur"];
  EXPECT_EQ(events[events.size() - 1]["name"], "inside");
  EXPECT_EQ(events[events.size() - 2]["name"], "before");
  const auto us = [](auto duration) { return std::chrono::duration<double, std::micro>(duration).count(); };
  constexpr double kSlack = 10;  // microseconds
  EXPECT_GE(duration_us, 3000 - kSlack);
  EXPECT_GE(start_us, us(begin.time_since_epoch()) - kSlack);
  EXPECT_LE(start_us + duration_us, us(end.time_since_epoch()) + kSlack);
}

TEST_F(Telemetry, StageNamesAreQuotedWhereTheyMustBe) {
  span("a,\"b\"\n", 1us);
  EXPECT_EQ(trace().back()["name"], "a,\"b\"\n");
  EXPECT_EQ(csv(), "stage,elapsed_us\n\"a,\"\"b\"\"\n\",1.000\n");
}

TEST_F(Telemetry, AllSpansOfAllThreadsAreThereAndInTheirOrder) {
  static constexpr std::array kStages = {"thread 0", "thread 1", "thread 2", "thread 3"};
  constexpr int kThreads = kStages.size();
  constexpr int kSpans = 3000;  // more than a thread's buffer holds
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      const char* stage = kStages[static_cast<size_t>(t)];
      for (int i = 1; i <= kSpans; ++i) {
        const auto start = clock_.now();
        record(stage, start, start + std::chrono::microseconds(i));
      }
    });
  }
  // Somebody looks meanwhile.
  while (usage().spans < kThreads * kSpans / 2) EXPECT_EQ(usage().dropped, 0u);
  for (std::thread& thread : threads) thread.join();
  std::istringstream rows(csv());
  std::string row;
  std::getline(rows, row);
  std::map<std::string, std::vector<double>> durations;
  while (std::getline(rows, row)) {
    const size_t comma = row.find(',');
    durations[row.substr(0, comma)].push_back(std::stod(row.substr(comma + 1)));
  }
  ASSERT_EQ(durations.size(), static_cast<size_t>(kThreads));
  for (const auto& [stage, values] : durations) {
    ASSERT_EQ(values.size(), static_cast<size_t>(kSpans)) << stage;
    for (int i = 0; i < kSpans; ++i) ASSERT_EQ(values[static_cast<size_t>(i)], i + 1.0) << stage;
  }
}

TEST_F(Telemetry, SpansOfAThreadThatRunsAreFlushedOnce) {
  constexpr size_t kSpans = 50'000;
  std::atomic<bool> done = false;
  std::thread worker([&] {
    for (size_t i = 0; i < kSpans; ++i) record("stage", clock_.now(), clock_.now());
    done = true;
  });
  size_t flushed = 0;
  const auto count_rows = [&] {
    const std::string text = csv();
    flushed += static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) - 1;
  };
  while (!done) count_rows();
  worker.join();
  count_rows();
  EXPECT_EQ(flushed, kSpans);
}

TEST_F(Telemetry, BeyondTheLimitSpansAreCountedAsDropped) {
  set_max_spans(300);
  for (int i = 0; i < 1000; ++i) span("stage", 1us);
  const Json events = trace();
  EXPECT_EQ(events.back()["name"], "700 spans dropped");
  EXPECT_EQ(events.back()["ph"], "i");
  EXPECT_EQ(usage().spans, 300u);
  EXPECT_EQ(usage().dropped, 700u);
  const std::string text = csv();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 302);
  EXPECT_TRUE(text.ends_with("stage,1.000\ntelemetry::dropped_spans,700\n")) << text.substr(text.size() - 80);
  EXPECT_EQ(usage().dropped, 0u);
  span("stage", 1us);
  EXPECT_EQ(csv(), "stage,elapsed_us\nstage,1.000\n") << "there is room again after a flush";
}

TEST_F(Telemetry, MemoryIsBounded) {
  set_max_spans(1000);
  span("stage", 1us);
  for (int i = 0; i < 1000; ++i) span("stage", 1us);
  static_cast<void>(summarize());
  const size_t full = usage().bytes;
  for (int i = 0; i < 5000; ++i) span("stage", 1us);
  EXPECT_LE(usage().bytes, full);
}

TEST_F(Telemetry, TheTraceHoldsTheSameSpansNested) {
  {
    const ScopedCounter outer("outer");
    clock_.advance(10us);
    span("inner", 5500ns);
  }
  const Json events = trace();
  ASSERT_TRUE(events.is_array());
  std::map<std::string, Json> spans;
  std::map<std::string, Json> names;
  for (const Json& event : events) (event["ph"] == "X" ? spans : names)[event["name"]] = event;
  ASSERT_EQ(spans.size(), 2u);
  const Json& outer = spans["outer"];
  const Json& inner = spans["inner"];
  EXPECT_EQ(outer["dur"], 15.5);
  EXPECT_EQ(inner["dur"], 5.5);
  EXPECT_EQ(inner["ts"].get<double>() - outer["ts"].get<double>(), 10.0);
  EXPECT_EQ(inner["tid"], outer["tid"]);
  EXPECT_EQ(inner["pid"], outer["pid"]);
  EXPECT_EQ(names["process_name"]["args"]["name"], "inferno");
  EXPECT_EQ(names["thread_name"]["args"]["name"], "main");
  EXPECT_EQ(names["thread_name"]["tid"], outer["tid"]);
  EXPECT_EQ(csv(), "stage,elapsed_us\ninner,5.500\nouter,15.500\n") << "a trace forgets nothing";
}

TEST_F(Telemetry, AnEmptyTraceIsValidToo) {
  const Json events = trace();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["name"], "process_name");
}

TEST_F(Telemetry, TheParentFolderIsMade) {
  span("stage", 1us);
  const auto path = folder_ / "new" / "deeper" / "spans.csv";
  ASSERT_TRUE(flush_csv(path.string()));
  EXPECT_EQ(test::read_file(path), "stage,elapsed_us\nstage,1.000\n");
  ASSERT_TRUE(write_trace((folder_ / "other" / "trace.json").string()));
}

TEST_F(Telemetry, AFileThatCannotBeWrittenLeavesNothingBehindAndForgetsNothing) {
  span("stage", 1us);
  std::ofstream(folder_ / "file") << "old";
  for (const char* path : {"file/spans.csv", "."}) {
    const Status status = flush_csv((folder_ / path).string());
    ASSERT_FALSE(status) << path;
    EXPECT_EQ(status.error().code, ErrorCode::kIo);
    EXPECT_FALSE(write_trace((folder_ / path).string()));
  }
  EXPECT_EQ(n_files(folder_), 1u);
  EXPECT_EQ(test::read_file(folder_ / "file"), "old");
  EXPECT_EQ(csv(), "stage,elapsed_us\nstage,1.000\n");
}

TEST_F(Telemetry, SummarizesByStageTheLargestTotalFirst) {
  for (int i = 1; i <= 5; ++i) span("short", std::chrono::microseconds(i));
  span("long", 1ms);
  const std::vector<StageSummary> stages = summarize();
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(stages[0].stage, "long");
  EXPECT_EQ(stages[1].stage, "short");
  EXPECT_EQ(stages[1].count, 5u);
  EXPECT_DOUBLE_EQ(stages[1].total_us, 15.0);
  EXPECT_DOUBLE_EQ(stages[1].median_us, 3.0);
  EXPECT_DOUBLE_EQ(stages[1].p95_us, 4.8);
}

TEST_F(Telemetry, TheEnvironmentTurnsItOnAndOff) {
  const auto configure = [](const char* value) {
    EXPECT_EQ(::setenv("INFENG_ENABLE_TELEMETRY", value, 1), 0);
    const Status status = configure_from_environment();
    ::unsetenv("INFENG_ENABLE_TELEMETRY");
    return status;
  };
  EXPECT_TRUE(configure("0"));
  EXPECT_FALSE(enabled());
  EXPECT_TRUE(configure("1"));
  EXPECT_TRUE(enabled());
  EXPECT_TRUE(configure(""));
  EXPECT_TRUE(enabled()) << "unset changes nothing";
  const Status wrong = configure("yes");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "INFENG_ENABLE_TELEMETRY: expected 0 or 1, found \"yes\"");
  EXPECT_TRUE(enabled());
}

}  // namespace
}  // namespace inferno::telemetry
