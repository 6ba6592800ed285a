#include "bench/report/markdown.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

#include "bench/figures.h"
#include "bench/report/markdown_table.h"
#include "support/bench_reports.h"

namespace inferno::test {
namespace {

// The table below a heading, paragraphs between skipped.
std::string table_below(const std::string& text, const std::string& heading) {
  std::istringstream lines(text.substr(std::min(text.find("### " + heading + "\n"), text.size())));
  std::string table;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('|')) table += line + "\n";
    if (!line.starts_with('|') && !table.empty()) break;
  }
  return table;
}

std::vector<bench::Report> three_models() {
  std::vector<bench::Report> reports;
  for (const auto& [model, us] :
       {std::pair{"Alpha", 1000}, std::pair{"Beta", 2000}, std::pair{"Gamma", 4000}}) {
    bench::Report report{make_setting(model), {}};
    for (const bench::Config& config : bench::configs()) {
      report.results.push_back(make_result(config.key.c_str(), {microseconds(us)}));
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

TEST(Markdown, HasTheTablesOfTheSeedsLog) {
  const std::string text = bench::markdown(three_models());
  EXPECT_EQ(table_below(text, "Per-step decode latency (ms)"),
            "| Config    | Alpha P50 | Alpha P95 | Beta P50 | Beta P95 | Gamma P50 | Gamma P95 |\n"
            "|-----------|----------:|----------:|---------:|---------:|----------:|----------:|\n"
            "| short     |       1.0 |       1.0 |      2.0 |      2.0 |       4.0 |       4.0 |\n"
            "| medium    |       1.0 |       1.0 |      2.0 |      2.0 |       4.0 |       4.0 |\n"
            "| prefill   |       1.0 |       1.0 |      2.0 |      2.0 |       4.0 |       4.0 |\n"
            "| decode    |       1.0 |       1.0 |      2.0 |      2.0 |       4.0 |       4.0 |\n"
            "| long      |       1.0 |       1.0 |      2.0 |      2.0 |       4.0 |       4.0 |\n"
            "| sampled   |       1.0 |       1.0 |      2.0 |      2.0 |       4.0 |       4.0 |\n"
            "| full-pipe |       1.0 |       1.0 |      2.0 |      2.0 |       4.0 |       4.0 |\n");
  EXPECT_EQ(table_below(text, "TTFT / prefill (ms)"),
            "| Config  | Alpha | Beta | Gamma |\n"
            "|---------|------:|-----:|------:|\n"
            "| short   |  10.1 | 20.2 |  40.4 |\n"
            "| medium  |  10.1 | 20.2 |  40.4 |\n"
            "| prefill |  10.1 | 20.2 |  40.4 |\n"
            "| long    |  10.1 | 20.2 |  40.4 |\n");
  EXPECT_TRUE(table_below(text, "E2E throughput (tok/s)")
                  .starts_with("| Config    | Alpha |  Beta | Gamma |\n"
                               "|-----------|------:|------:|------:|\n"
                               "| short     | 863.1 | 434.5 | 218.0 |\n"))
      << text;
  EXPECT_EQ(
      table_below(text, "KV cache memory (MB) and peak memory of the process (GiB)").substr(0, 96),
      "| Config  | Alpha cache | Alpha peak | Beta cache | Beta peak | Gamma cache | Gamma peak |\n|----");
}

TEST(Markdown, ShowsDecodeByEveryDefinitionTheHonestOneFirst) {
  const std::string text = bench::markdown(three_models());
  // 63 steps of 1 ms; 63 passes of 0.85 ms; 64 tokens over those.
  const std::string table = table_below(text, "Decode throughput (tok/s)");
  EXPECT_TRUE(table.starts_with("| Config    |  Alpha | Alpha forward | Alpha N/(N-1) |")) << table;
  EXPECT_NE(table.find("| short     | 1000.0 |        1176.5 |        1195.1 |"), std::string::npos) << table;
}

TEST(Markdown, ShowsPrefillAndQuartiles) {
  bench::Report report = make_report("Alpha", {microseconds(1000), microseconds(2000), microseconds(4000)});
  const std::string text = bench::markdown({&report, 1});
  // 64 and 256 tokens in ten steps of 2 ms.
  EXPECT_EQ(table_below(text, "Prefill throughput (tok/s)"),
            "| Config |   Alpha |\n"
            "|--------|--------:|\n"
            "| short  |  3200.0 |\n"
            "| medium | 12800.0 |\n");
  const std::string quartiles = table_below(text, "Spread over trials (quartiles)");
  EXPECT_NE(quartiles.find("|   decode tok/s |     prefill tok/s |      TTFT ms |"), std::string::npos)
      << quartiles;
  EXPECT_NE(quartiles.find(" 375.0 to 750.0 |  2400.0 to 4800.0 | 15.1 to 30.3 |"), std::string::npos)
      << quartiles;
}

TEST(Markdown, ShowsCeilingsAndSharesOfTime) {
  const std::string text = bench::markdown(three_models());
  EXPECT_NE(table_below(text, "Share of the ceiling that binds (%)").find("memory"), std::string::npos)
      << text;
  EXPECT_NE(text.find("ceilings: 40.0 GB/s read, 300.0 G int8 operations/s"), std::string::npos) << text;
  EXPECT_NE(table_below(text, "Where the wall time goes (%)").find("Alpha detok"), std::string::npos) << text;
}

TEST(Markdown, TellsCeilingsBesideTrialsFromThoseThatAreRemembered) {
  bench::Report report = make_report("Alpha", {microseconds(1000)});
  EXPECT_EQ(bench::markdown({&report, 1}).find("as remembered"), std::string::npos);
  report.results[0].trials[0].ceilings = {33.5, 901, "int8"};
  EXPECT_NE(bench::markdown({&report, 1}).find("int8 operations/s as remembered (trials are held against"),
            std::string::npos);
}

TEST(Markdown, TellsWhyMoreThanMemoryGivesIsRead) {
  const std::string why = "Above 100 % of memory: the caches hold much of what is read";
  bench::Report report = make_report("Alpha", {microseconds(1000)});
  EXPECT_EQ(bench::markdown({&report, 1}).find(why), std::string::npos);
  report.results[0].trials[0].ceilings = {0.01, 901, "int8"};
  EXPECT_NE(bench::markdown({&report, 1}).find(why), std::string::npos);
}

TEST(Markdown, ShowsDecodeAsIfAllBytesWereReadWhereTheyWereNot) {
  bench::Report report = make_report("Alpha", {microseconds(1000)});
  const std::string heading = "Share of the ceiling that binds (%)";
  EXPECT_EQ(bench::markdown({&report, 1}).find("all bytes"), std::string::npos);
  for (bench::Trial& trial : report.results[0].trials) {  // as much again in each pass
    const uint64_t unread = trial.decode_cost.bytes() / trial.steps.size();
    trial.head_screen = {.passes = 64, .screened = 64, .head_bytes = 128 * unread, .read_bytes = 64 * unread};
  }
  const auto figures = bench::figures(report.results[0], report.setting);
  const std::string twice = fmt::format(" {:.1f} memory |\n", 2 * figures->decode->of_ceiling->pct);
  const std::string text = bench::markdown({&report, 1});
  const std::string table = table_below(text, heading);
  EXPECT_NE(table.find(" decode GB/s | decode, all bytes |"), std::string::npos) << table;
  EXPECT_NE(table.find(twice), std::string::npos) << twice << table;
  EXPECT_TRUE(table.ends_with(" — |\n")) << "the other row has no screen\n" << table;
  EXPECT_NE(text.find("- `decode` counts the bytes that were read; `decode, all bytes` is "),
            std::string::npos)
      << text;
}

TEST(Markdown, TellsTrialsByWhereTheHostHadTheProcessors) {
  const std::string heading = "By where the processors were";
  bench::Report report = make_report("Alpha", {microseconds(1000)});
  EXPECT_EQ(bench::markdown({&report, 1}).find(heading), std::string::npos);
  report.results[1] = make_result_of_two_places("medium");
  bench::Report near = report;
  near.results[1].trials.pop_back();  // the one that is far
  EXPECT_EQ(bench::markdown({&near, 1}).find(heading), std::string::npos)
      << "one place has no table of its own";
  const std::string table = table_below(bench::markdown({&report, 1}), heading);
  EXPECT_TRUE(table.starts_with("| Config | trip ns | trials | memory GB/s | prefill tok/s |")) << table;
  EXPECT_NE(table.find("| medium |      60 |      2 |         1.0 |       25600.0 |     25.4 memory |"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("| medium |     320 |      1 |         2.0 |       25600.0 | 17.1 arithmetic |"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("|       1000.0 |  120.5 memory |"), std::string::npos) << table;
  EXPECT_NE(table.find("|       1000.0 |   60.2 memory |"), std::string::npos) << table;
  bench::Report other = report;
  other.setting.model = "Beta";
  EXPECT_NE(table_below(bench::markdown(std::vector{report, other}), heading).find("\n| Beta, medium  |"),
            std::string::npos);
}

TEST(Markdown, ShowsWhereTheTimeOfAPromptGoesWhereItIsKnown) {
  bench::Report report = make_report("Alpha", {microseconds(1000)});
  const std::string heading = "Where the time of a prompt goes (%)";
  EXPECT_EQ(bench::markdown({&report, 1}).find(heading), std::string::npos);
  bench::Trial& trial = report.results[1].trials[0];
  trial.prefill_cost.attention_flops = 10'000'000;
  trial.prompt_parts = {milliseconds(7), milliseconds(2), milliseconds(1), 1'050'000'000};
  trial.ceilings = {40, 300, "int8", 50, 0, 200, 4};
  EXPECT_EQ(table_below(bench::markdown({&report, 1}), heading),
            "| Config | matrices |     of peak | attention |      of fp32 | rest |\n"
            "|--------|---------:|------------:|----------:|-------------:|-----:|\n"
            "| short  |        — |           — |         — |            — |    — |\n"
            "| medium |     70.0 | 50.0 (75.0) |      20.0 | 10.0 (125.0) | 10.0 |\n");
}

TEST(Markdown, ComparesWithThePreviousReportOfTheSameModel) {
  const std::vector<bench::Report> now = {make_report("Alpha", {microseconds(500)}), make_report("Beta")};
  std::vector<bench::Report> before = {make_report("Alpha", {microseconds(1000)})};
  before[0].setting.git_revision = "0ld";
  const std::string text = bench::markdown(now, before);
  EXPECT_EQ(table_below(text, "Speedup vs 0ld"),
            "| Model          | Previous decode |       Decode | Speedup | Step latency reduction |\n"
            "|----------------|----------------:|-------------:|--------:|-----------------------:|\n"
            "| Alpha (medium) |    1000.0 tok/s | 2000.0 tok/s |   2.00x |  1.0ms → 0.500ms (50%) |\n");
  EXPECT_EQ(bench::markdown(now).find("Speedup"), std::string::npos);
}

TEST(Markdown, LabelsWhatItIs) {
  bench::Report report = make_report();
  report.results[0].peak_gpu_bytes = uint64_t{2} << 30;
  report.results[0].note = "cut by --max-seconds at 9 of 64 tokens";
  report.results[1].trials.clear();
  report.setting.ceilings.peaks.clear();
  const std::string text = bench::markdown({&report, 1});
  EXPECT_NE(text.find("peak GPU allocation (GiB)"), std::string::npos);
  EXPECT_NE(text.find("**tiny-1b, short**: cut by --max-seconds at 9 of 64 tokens"), std::string::npos)
      << text;
  EXPECT_NE(text.find("other ceiling was not measured"), std::string::npos) << text;
  EXPECT_NE(text.find("| medium |"), std::string::npos);
}

TEST(Markdown, HasTheCopyBandwidthOfADevice) {
  bench::Report report = make_report();
  EXPECT_EQ(bench::markdown({&report, 1}).find("GB/s copy"), std::string::npos);
  report.setting.ceilings.copy_gb_per_s = 36;
  EXPECT_NE(bench::markdown({&report, 1}).find("ceilings: 40.0 GB/s read, 36.0 GB/s copy, 300.0 G int8"),
            std::string::npos);
}

TEST(Markdown, OneNoteOfSeveralRowsIsOneLine) {
  bench::Report report = make_report();
  report.results.push_back(report.results[0]);
  report.results[2].config.key = "decode";
  report.results[0].note = report.results[2].note = "not run: no time";
  report.results[1].note = "cut";
  EXPECT_NE(bench::markdown({&report, 1})
                .find("\n- **tiny-1b, short, decode**: not run: no time\n- **tiny-1b, medium**: cut\n"),
            std::string::npos)
      << bench::markdown({&report, 1});
}

TEST(Markdown, SaysWhereTheMachineChanged) {
  bench::Report report = make_report();
  for (bench::Trial& trial : report.results[0].trials) trial.ceilings = {30, 300, "int8"};
  report.results[0].trials[1].ceilings = {60, 301, "int8"};
  EXPECT_NE(
      bench::markdown({&report, 1})
          .find(
              "- **tiny-1b, short**: the machine's speed changed meanwhile: memory gave 30.0 to 60.0 GB/s."),
      std::string::npos)
      << bench::markdown({&report, 1});
}

TEST(Markdown, NothingOfAFileReachesTheTerminalRaw) {
  bench::Report report = make_report();
  const std::string evil = "a\n## b\x1b[2J\u009b2J\x7f" + std::string(200, 'x');
  report.results[0].note = report.results[1].config.key = report.results[1].config.purpose = evil;
  report.results[1].note = "cut";
  report.setting.model = report.setting.dtype = report.setting.device_name = evil;
  const std::string text = bench::markdown({&report, 1}, {&report, 1});
  for (const char* raw : {"\n## b", "\x1b", "\u009b", "\x7f"}) EXPECT_EQ(text.find(raw), std::string::npos);
  EXPECT_NE(text.find("**: a\\n## b\\u{1b}[2J\\u{9b}2J\\u{7f}" + std::string(200, 'x') + "\n"),
            std::string::npos)
      << text;
}

TEST(Markdown, ColumnsAreNamedApart) {
  std::vector<bench::Report> reports = {make_report(), make_report()};
  reports[1].setting.dtype = "F16";
  EXPECT_EQ(bench::column_names(reports), (std::vector<std::string>{"tiny-1b Q8_0", "tiny-1b F16"}));
  reports[1].setting.dtype = "Q8_0";
  const auto names = bench::column_names(reports);
  EXPECT_TRUE(names[0].ends_with(" #1") && names[1].ends_with(" #2")) << names[0];
}

TEST(MarkdownTable, EscapesCells) {
  bench::MarkdownTable table({{"a|b", bench::MarkdownTable::Align::kLeft}});
  table.add_row({"x\n\x1b\u009b|"});
  EXPECT_EQ(table.text(), "| a\\|b              |\n|-------------------|\n| x\\n\\u{1b}\\u{9b}\\| |\n");
  EXPECT_EQ(bench::fixed(std::nullopt, 1), "—");
  EXPECT_EQ(bench::fixed(std::numeric_limits<double>::infinity(), 1), "—");
}

}  // namespace
}  // namespace inferno::test
