// The page as text, and as a browser sees it where one is installed.
#include "bench/report/html.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include "bench/report/svg_chart.h"
#include "support/bench_reports.h"
#include "support/shared_data.h"

namespace inferno::test {
namespace {

// Latency that grows a little with the position and scatters.
bench::Report full_report(const std::string& model, int us) {
  bench::Report report{make_setting(model), {}};
  report.setting.suite = "full";
  for (const bench::Config& config : bench::configs()) {
    bench::ConfigResult result = make_result(
        config.key.c_str(), {microseconds(us), microseconds(us + us / 50), microseconds(us + us / 25)});
    for (bench::Trial& trial : result.trials) {
      for (size_t i = 0; i < trial.steps.size(); ++i) {
        trial.steps[i] += microseconds(us * static_cast<int>(i) / 8000 + static_cast<int>(i * 7919 % 100));
      }
    }
    report.results.push_back(std::move(result));
  }
  return report;
}

bench::Page full_page() {
  bench::Page page;
  page.reports = {full_report("Alpha-1B", 12000), full_report("Beta-2B", 25000)};
  page.ladders = {make_ladder()};
  // Of 13 runs the last is named, at the end of the axis.
  for (int i = 0; i < 13; ++i) {
    bench::LogEntry entry =
        bench::log_entry(full_report(i % 3 == 0 ? "Beta-2B" : "Alpha-1B", 30000 - 1500 * i));
    entry.timestamp = fmt::format("2026-01-{:02}T03:04:05Z", i + 1);
    page.history.push_back(std::move(entry));
  }
  page.warnings = {"log.jsonl:3: <no> & entry"};
  return page;
}

size_t count(const std::string& text, const std::string& what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(Html, HasASectionForWhatThereIsAndNoneForTheRest) {
  const std::string all = bench::html(full_page());
  for (const char* id : {"summary", "ladder", "steps", "roofline", "history", "warnings"}) {
    EXPECT_EQ(count(all, fmt::format("<section id='{}'", id)), 1u) << id;
    EXPECT_EQ(count(all, fmt::format("href='#{}'", id)), 1u) << id;
  }
  // Steps and history: a panel for each configuration; a roofline for each report; the ladder's passes.
  EXPECT_EQ(count(all, "<svg class='chart'"), 7u + 7u + 2u + 1u);
  EXPECT_EQ(count(all, "<svg class='chart'"), count(all, "<desc>"));
  EXPECT_EQ(count(all, "<tr><th scope='row' class='left'>SIMD</th>"), 1u);
  const std::string ladder = bench::html({{}, {make_ladder()}, {}, {}});
  EXPECT_EQ(count(ladder, "<section"), 1u);
  EXPECT_EQ(count(bench::html({}), "<section"), 0u);
}

TEST(Html, TellsTrialsByWhereTheHostHadTheProcessors) {
  bench::Page page;
  page.reports = {full_report("Alpha-1B", 12000)};
  const std::string caption = "<caption>The host moved the processors between trials";
  EXPECT_EQ(count(bench::html(page), caption), 0u);
  page.reports[0].results[0] = make_result_of_two_places("short");
  EXPECT_EQ(count(bench::html(page), caption), 1u);
  EXPECT_EQ(count(bench::html(page), "<td>320</td><td>1</td><td>2.0</td>"), 1u);
}

TEST(Html, FetchesNothingAndRunsNothing) {
  const std::string text = bench::html(full_page());
  for (const char* word : {"http:", "https:", "//cdn", "<script", "@import", "url(", " src="}) {
    EXPECT_EQ(count(text, word), 0u) << word;
  }
}

TEST(Html, EscapesWhatFilesSay) {
  bench::Page page = full_page();
  const std::string evil = "</style><script>alert('x')</script>\"\x1b\xc2\x9b";
  page.reports[0].setting.model = page.reports[0].setting.device_name = evil;
  page.reports[0].results[0].config.key = evil;
  page.ladders[0].model = page.ladders[0].rows[0].name = page.ladders[0].rows[2].absent = evil;
  page.history[0].model = page.history[0].timestamp = page.history[0].configs[0].key = evil;
  page.warnings = {evil};
  const std::string text = bench::html(page);
  EXPECT_EQ(count(text, "<script"), 0u);
  EXPECT_EQ(count(text, "\x1b"), 0u);
  EXPECT_EQ(count(text, "\xc2\x9b"), 0u);
  EXPECT_EQ(count(text, "</style>"), 1u);
}

TEST(Html, OfRunsWithoutACacheThereIsNoCacheMemory) {
  bench::Report report = make_report();
  const auto cells = [&] { return count(bench::html({{report}, {}, {}, {}}), "<td>none</td></tr>"); };
  EXPECT_EQ(cells(), 0u);
  report.setting.use_kv_cache = false;
  EXPECT_EQ(cells(), 2u);
}

TEST(Html, ControlCharactersBecomeVisible) {
  EXPECT_EQ(bench::html_escaped("\x1b[2J \x7f"), "\\x1b[2J \\x7f");
  EXPECT_EQ(bench::html_escaped("\u0080\u009b\u009f"), "\\u{80}\\u{9b}\\u{9f}");
  EXPECT_EQ(bench::html_escaped("\u00a0é–"), "\u00a0é–");
  EXPECT_EQ(bench::html_escaped("\xc2"), "\xc2");
}

// The labels of the history's first chart.
std::vector<std::string> run_labels(const std::vector<std::string>& timestamps) {
  bench::Page page;
  for (const std::string& timestamp : timestamps) {
    page.history.push_back(bench::log_entry(make_report()));
    page.history.back().timestamp = timestamp;
  }
  const std::string text = bench::html(page);
  const std::string chart = text.substr(0, text.find("</svg>", text.find("<svg class='chart'")));
  std::vector<std::string> labels;
  for (size_t end = chart.find("</text>"); end != std::string::npos; end = chart.find("</text>", end + 1)) {
    const size_t begin = chart.rfind('>', end) + 1;
    labels.push_back(chart.substr(begin, end - begin));
  }
  return labels;
}

TEST(Html, RunsOfOneDayAreToldApartByTheirTime) {
  const auto has = [](const std::vector<std::string>& labels, const std::string& label) {
    return std::count(labels.begin(), labels.end(), label);
  };
  const auto days = run_labels({"2026-01-01T03:04:05Z", "2026-01-02T03:04:05Z"});
  EXPECT_EQ(has(days, "2026-01-01"), 1);
  EXPECT_EQ(has(days, "2026-01-02"), 1);
  const auto times = run_labels({"2026-01-01T03:04:05Z", "2026-01-01T13:04:05Z"});
  EXPECT_EQ(has(times, "03:04"), 1);
  EXPECT_EQ(has(times, "13:04"), 1);
  EXPECT_EQ(has(times, "runs of 2026-01-01 (UTC) in order of time"), 1);
  const auto seconds = run_labels({"2026-01-01T03:04:05Z", "2026-01-01T03:04:45Z"});
  EXPECT_EQ(has(seconds, "03:04:05"), 1);
  EXPECT_EQ(has(seconds, "03:04:45"), 1);
  const auto both = run_labels({"2026-01-01T03:04:05Z", "2026-01-01T03:05:05Z", "2026-01-02T03:04:05Z"});
  EXPECT_EQ(has(both, "01-01 03:04"), 1);
  EXPECT_EQ(has(both, "01-01 03:05"), 1);
  EXPECT_EQ(has(both, "01-02 03:04"), 1);
}

TEST(SvgChart, AxesEndAtRoundNumbers) {
  const bench::Axis linear = bench::Axis::fit("ms", {3, 47.5}, false);
  EXPECT_EQ(linear.min, 0);
  EXPECT_EQ(linear.max, 50);
  EXPECT_EQ(linear.ticks.size(), 6u);
  EXPECT_EQ(linear.ticks.back().label, "50");
  const bench::Axis log = bench::Axis::fit("GFLOP/s", {0, 3, 47.5, std::nan("")}, true);
  EXPECT_EQ(log.min, 1);
  EXPECT_EQ(log.max, 100);
  EXPECT_DOUBLE_EQ(log.at(10), 0.5);
  const bench::Axis span = bench::Axis::span("tokens", {1024, 1088});
  EXPECT_EQ(span.min, 1020);
  EXPECT_EQ(span.max, 1100);
  EXPECT_FALSE(bench::Axis::fit("", {}, true).ticks.empty());
  EXPECT_LT(bench::Axis::span("", {1e15, 1e15}).ticks.size(), 10u);
  EXPECT_LT(bench::Axis::span("", {-1e30, 1e30}).ticks.size(), 12u);
  EXPECT_EQ(bench::short_number(12345), "12.3k");
  EXPECT_EQ(bench::short_number(1088), "1088");
  EXPECT_EQ(bench::short_number(2.5e9), "2.5G");
  EXPECT_EQ(bench::short_number(0.05), "0.05");
}

// In the page itself, appended by the test: overlaps and overflows end up in an attribute.
constexpr const char* kInspector = R"(<script>
const faults = [];
addEventListener('error', event => faults.push('error ' + event.message));
addEventListener('load', () => {
  if (document.documentElement.scrollWidth > innerWidth) faults.push('the page is wider than the window');
  for (const svg of document.querySelectorAll('svg.chart')) {
    const title = svg.querySelector('title').textContent, outer = svg.getBoundingClientRect();
    const boxes = [...svg.querySelectorAll('text')].map(text => [text.textContent, text.getBoundingClientRect(),
                                                                text.classList.contains('limit-label')]);
    boxes.forEach(([text, box, limit], i) => {
      if (box.left < outer.left - 1 || box.right > outer.right + 1 || box.top < outer.top - 1 ||
          box.bottom > outer.bottom + 1) faults.push(title + ': "' + text + '" leaves the chart');
      for (const [other, its, turned] of boxes.slice(i + 1)) {
        if (limit || turned) continue;  // along sloping lines: their boxes are larger than their text
        if (box.left < its.right - 1 && its.left < box.right - 1 && box.top < its.bottom - 2 &&
            its.top < box.bottom - 2) faults.push(title + ': "' + text + '" covers "' + other + '"');
      }
    });
  }
  const cells = [...document.querySelectorAll('td, th')].filter(cell => cell.scrollWidth > cell.clientWidth + 1);
  for (const cell of cells) faults.push('a cell overflows: ' + cell.textContent);
  document.body.setAttribute('data-faults', faults.length + ' ' + faults.join('; '));
});
</script>)";

TEST(Html, LooksRightInABrowser) {
  const char* const browser = std::getenv("INFERNO_TEST_BROWSER");
  const std::string program = browser != nullptr ? browser : "chromium";
  if (std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) != 0) {
    GTEST_SKIP() << "needs " << program;
  }
  const auto dir = scratch_dir("html");
  std::string text = bench::html(full_page());
  text.insert(text.find("</head>"), kInspector);
  std::ofstream(dir / "page.html") << text;
  for (const char* size : {"1400,1000", "950,1000", "700,1000"}) {
    const std::string command = fmt::format(
        "HOME='{0}' {1} --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --window-size={2} "
        "--user-data-dir='{0}/profile' --virtual-time-budget=2000 --dump-dom 'file://{0}/page.html' "
        ">'{0}/dom' 2>'{0}/err'",
        dir.string(), program, size);
    ASSERT_EQ(std::system(command.c_str()), 0) << read_file(dir / "err");
    const std::string dom = read_file(dir / "dom");
    EXPECT_EQ(count(dom, "<svg class=\"chart\""), 17u) << size;
    const size_t faults = dom.find("data-faults=\"");
    ASSERT_NE(faults, std::string::npos) << size;
    EXPECT_TRUE(dom.substr(faults + 13).starts_with("0 ")) << size << ": " << dom.substr(faults, 2000);
    EXPECT_EQ(count(read_file(dir / "err"), "CONSOLE"), 0u) << read_file(dir / "err");
  }
}

}  // namespace
}  // namespace inferno::test
