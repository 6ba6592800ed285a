#include "bench/report/log.h"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "bench/report/html.h"
#include "support/bench_reports.h"
#include "support/shared_data.h"

namespace inferno::test {
namespace {

TEST(BenchLog, ALineHoldsTheMediansOfARun) {
  const bench::LogEntry entry = bench::log_entry(make_report());
  const std::string line = bench::to_json_line(entry);
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  const auto read = bench::log_entry_from_json(line);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(bench::to_json_line(*read), line);
  EXPECT_EQ(read->model, "tiny-1b");
  EXPECT_EQ(read->git_revision, "0123abc");
  EXPECT_EQ(read->threads, 2u);
  ASSERT_EQ(read->configs.size(), 2u);
  EXPECT_NEAR(*read->configs[0].decode_tps, 1e6 / 1100, 1e-9);
  EXPECT_TRUE(read->configs[0].decode_pct_of_ceiling);
  EXPECT_EQ(read->configs[0].decode_bound, "memory");
}

TEST(BenchLog, HoldsDecodeAsIfTheWholeHeadWasRead) {
  bench::Report report = make_report();
  for (bench::Trial& trial : report.results[0].trials)
    trial.head_screen = {.passes = 4, .screened = 4, .head_bytes = 4'000'000, .read_bytes = 2'000'000};
  std::string line = bench::to_json_line(bench::log_entry(report));
  const auto read = bench::log_entry_from_json(line).value();
  EXPECT_GT(read.configs[0].decode_pct_of_all_bytes.value_or(0), *read.configs[0].decode_pct_of_ceiling);
  EXPECT_FALSE(read.configs[1].decode_pct_of_all_bytes);
  EXPECT_EQ(bench::to_json_line(read), line);
}

TEST(BenchLog, HoldsWhatIsLeftOfAPromptBesideMatricesAndAttention) {
  bench::Report report = make_report();
  for (bench::Trial& trial : report.results[0].trials)
    trial.prompt_parts = {milliseconds(6), milliseconds(3), milliseconds(1), 0};
  std::string line = bench::to_json_line(bench::log_entry(report));
  const auto read = bench::log_entry_from_json(line).value();
  EXPECT_DOUBLE_EQ(read.configs[0].prefill_rest_pct.value_or(0), 10);
  EXPECT_FALSE(read.configs[1].prefill_rest_pct);
  // A line from before it was measured.
  for (const char* key : {"\"prefill_rest_pct\":10.0", "\"prefill_rest_pct\":null"}) {
    const size_t at = line.find(key);
    ASSERT_NE(at, std::string::npos) << line;
    line.replace(at, std::string_view(key).size(), "\"other\":0");
  }
  const auto old = bench::log_entry_from_json(line);
  ASSERT_TRUE(old.ok()) << old.error().message;
  EXPECT_FALSE(old->configs[0].prefill_rest_pct);
}

TEST(BenchLog, HoldsTheFiguresOfEachPlaceWhereTheHostHadTheProcessors) {
  bench::Report report = make_report();
  report.results[0] = make_result_of_two_places("short");
  const std::string line = bench::to_json_line(bench::log_entry(report));
  const auto read = bench::log_entry_from_json(line).value();
  ASSERT_EQ(read.configs[0].places.size(), 2u);
  EXPECT_TRUE(read.configs[1].places.empty());
  const bench::LogEntry::Place& far = read.configs[0].places[1];
  EXPECT_EQ(far.line_trip_ns, 320);
  EXPECT_EQ(far.trials, 1);
  EXPECT_EQ(far.read_gb_per_s, 2.0);
  EXPECT_DOUBLE_EQ(*read.configs[0].places[0].decode_pct_of_ceiling, 2 * *far.decode_pct_of_ceiling);
  EXPECT_EQ(bench::to_json_line(read), line);
  // A line from before they were told apart.
  std::string old = line;
  for (size_t at = 0; (at = old.find("\"places\"", at)) != std::string::npos;)
    old.replace(at, 8, "\"others\"");
  EXPECT_TRUE(bench::log_entry_from_json(old).value().configs[0].places.empty());
}

TEST(BenchLog, ACutRowIsLoggedAsOneAndChartedApart) {
  bench::Report cut = make_report();
  cut.results = {make_result("short", {microseconds(1000)})};
  cut.results[0].cut = true;
  cut.results[0].note = "cut by --max-seconds at 9 of 64 new tokens";
  cut.results[0].trials = {make_trial(64, 9, microseconds(1000))};
  const auto read = bench::log_entry_from_json(bench::to_json_line(bench::log_entry(cut))).value();
  EXPECT_EQ(read.configs[0].generated_tokens, 9);
  EXPECT_EQ(read.configs[0].asked_prompt_tokens, 64);
  EXPECT_EQ(read.configs[0].asked_new_tokens, 64);
  EXPECT_TRUE(read.configs[0].cut);
  EXPECT_EQ(read.configs[0].note, cut.results[0].note);
  const auto lines = [](std::vector<bench::LogEntry> history) {
    const std::string page = bench::html({{}, {}, std::move(history), {}});
    size_t n = 0;
    for (size_t at = page.find("<figure>"); at != std::string::npos; at = page.find("class='line", at + 1))
      ++n;
    return n - 1;  // the figure itself
  };
  cut.results[0].trials = {make_trial(64, 64, microseconds(1000))};
  const bench::LogEntry full = bench::log_entry(cut);
  EXPECT_EQ(lines({full, full, full}), 1u);
  EXPECT_EQ(lines({full, read, full, read}), 2u);
}

TEST(BenchLog, GrowsByWholeLines) {
  const auto path = (scratch_dir("bench_log") / "log.jsonl").string();
  const bench::LogEntry entry = bench::log_entry(make_report());
  for (int i = 0; i < 2; ++i) {
    const Status status = bench::append_to_log(path, entry);
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
  EXPECT_EQ(read_file(path), bench::to_json_line(entry) + bench::to_json_line(entry));
}

TEST(BenchLog, WritersDoNotMixTheirLines) {
  const auto path = (scratch_dir("bench_log_threads") / "log.jsonl").string();
  const bench::LogEntry entry = bench::log_entry(make_report());
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([&] {
      for (int j = 0; j < 10; ++j) EXPECT_TRUE(bench::append_to_log(path, entry).ok());
    });
  }
  for (std::thread& writer : writers) writer.join();
  const auto log = bench::read_log(path).value();
  EXPECT_EQ(log.entries.size(), 40u);
  EXPECT_TRUE(log.warnings.empty());
}

TEST(BenchLog, ForeignLinesAreNamedAndLeftOut) {
  const auto path = (scratch_dir("bench_log_foreign") / "log.jsonl").string();
  const std::string line = bench::to_json_line(bench::log_entry(make_report()));
  std::ofstream(path) << "# a comment\n" << line << "\n  \n{\"model\":7}\n" << line << "{\"cut\":";
  // What was left without its end stays a line of its own.
  ASSERT_TRUE(bench::append_to_log(path, bench::log_entry(make_report())).ok());
  const auto log = bench::read_log(path).value();
  EXPECT_EQ(log.entries.size(), 3u);
  ASSERT_EQ(log.warnings.size(), 3u);
  EXPECT_EQ(log.warnings[0], path + ":1: expected JSON, found none at byte 1");
  EXPECT_EQ(log.warnings[1], path + ":5: timestamp: expected a string, found nothing");
  EXPECT_TRUE(log.warnings[2].starts_with(path + ":7: "));
}

TEST(BenchLog, WhetherItCanGrowIsKnownWithoutWriting) {
  const auto dir = scratch_dir("bench_log_check");
  EXPECT_TRUE(bench::check_log((dir / "new.jsonl").string()));
  EXPECT_TRUE(std::filesystem::is_empty(dir));
  EXPECT_TRUE(bench::check_log("/dev/null"));
  std::ofstream(dir / "file") << "x";
  const Status foreign = bench::check_log((dir / "file").string());
  ASSERT_FALSE(foreign);
  EXPECT_NE(foreign.error().message.find("expected a history of runs"), std::string::npos)
      << foreign.error().message;
  EXPECT_EQ(read_file(dir / "file"), "x");
  std::ofstream(dir / "log.jsonl") << bench::to_json_line(bench::log_entry(make_report()));
  EXPECT_TRUE(bench::check_log((dir / "log.jsonl").string()));
  std::ofstream(dir / "report.json") << "{\n  \"timestamp\": 1\n}\n";
  EXPECT_FALSE(bench::check_log((dir / "report.json").string()));
  std::ofstream(dir / "empty").flush();
  EXPECT_TRUE(bench::check_log((dir / "empty").string()));
  const std::string path = (dir / "no" / "log.jsonl").string();
  const Status missing = bench::check_log(path);
  ASSERT_FALSE(missing);
  EXPECT_TRUE(missing.error().message.starts_with(path + ": its folder ")) << missing.error().message;
  EXPECT_FALSE(bench::check_log((dir / "file" / "log.jsonl").string()));
  EXPECT_FALSE(bench::check_log(dir.string()));
}

TEST(BenchLog, WhatCannotBeWrittenIsAnError) {
  const auto dir = scratch_dir("bench_log_errors");
  std::ofstream(dir / "file") << "x";
  const bench::LogEntry entry = bench::log_entry(make_report());
  for (const std::string& path :
       {dir.string(), (dir / "file" / "log.jsonl").string(), std::string("/dev/full")}) {
    const Status status = bench::append_to_log(path, entry);
    ASSERT_FALSE(status.ok()) << path;
    EXPECT_EQ(status.error().code, ErrorCode::kIo);
    EXPECT_TRUE(status.error().message.starts_with(path + ": cannot")) << status.error().message;
  }
  EXPECT_EQ(bench::append_to_log("/dev/full", entry).error().message,
            "/dev/full: cannot write it: No space left on device");
  EXPECT_TRUE(bench::append_to_log("/dev/null", entry).ok());
  EXPECT_FALSE(bench::read_log((dir / "nothing").string()).ok());
}

}  // namespace
}  // namespace inferno::test
