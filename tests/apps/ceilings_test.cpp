// `inferno ceilings`: its structure, and that a second run says the same. Never how fast.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "apps/ceilings_text.h"
#include "base/json.h"
#include "support/run_program.h"
#include "support/shared_data.h"

namespace inferno::test {
namespace {

class CeilingsCommand : public testing::Test {
 protected:
  Finished ceilings(const std::string& arguments, const std::string& environment = "") const {
    return run_program("inferno", "ceilings " + arguments, "",
                       "XDG_CACHE_HOME='" + cache_.string() + "' " + environment);
  }

  std::filesystem::path cache_ = scratch_dir("ceilings_command");
};

void expect_positive_figures(const Json& json) {
  EXPECT_FALSE(json["cpu"].get<std::string>().empty());
  EXPECT_GE(json["cores"], 1);
  EXPECT_GT(json["clock_ghz"], 0.0);
  EXPECT_GT(json["steadiness"], 0.0);
  EXPECT_LE(json["steadiness"], 1.0);
  const auto threads = json["threads"].get<size_t>();
  EXPECT_EQ(json["read_gb_per_s"].size(), threads);
  for (const Json& read : json["read_gb_per_s"]) EXPECT_GT(read, 0.0);
  std::set<std::string> kinds;
  for (const Json& peak : json["peaks"]) {
    EXPECT_GT(peak["gops"], 0.0);
    EXPECT_TRUE(peak["threads"] == 1 || peak["threads"] == threads) << peak;
    const std::string kind = fmt::format("{} {} {}", peak["arithmetic"].get<std::string>(),
                                         peak["isa"].get<std::string>(), peak["threads"].get<int>());
    EXPECT_TRUE(kinds.insert(kind).second) << kind;
  }
  EXPECT_TRUE(kinds.contains("fp32 generic 1"));
  EXPECT_TRUE(kinds.contains(fmt::format("fp32 generic {}", threads)));
}

// Of the lines from the one that begins with `head` to the next empty one: all as wide as the first.
void expect_lined_up(const std::string& out, const std::string& head) {
  const size_t start = out.find(head);
  ASSERT_NE(start, std::string::npos) << out;
  std::istringstream lines(out.substr(start, out.find("\n\n", start) - start));
  size_t n = 0;
  size_t width = 0;
  for (std::string line; std::getline(lines, line); ++n) {
    if (n == 0) width = line.size();
    EXPECT_EQ(line.size(), width) << line;
  }
  EXPECT_GE(n, 2u);
}

TEST_F(CeilingsCommand, MeasuresOnceForEachChoiceOfIsas) {
  const Json forced = parse_json(ceilings("--json", "INFERNO_FORCE_ISA=generic").out).value();
  expect_positive_figures(forced);
  EXPECT_EQ(forced["isa"], "generic");
  EXPECT_EQ(forced["cached"], false);
  for (const Json& peak : forced["peaks"]) EXPECT_EQ(peak["isa"], "generic");

  // The best ISA's figures are others, unless it is the same one.
  Json first = parse_json(ceilings("--json").out).value();
  expect_positive_figures(first);
  EXPECT_EQ(first["cached"], first["isa"] == "generic");
  Json second = parse_json(ceilings("--json").out).value();
  EXPECT_EQ(second["cached"], true);
  first.erase("cached");
  second.erase("cached");
  EXPECT_EQ(first, second);

  // And those of the first choice are still there.
  EXPECT_EQ(parse_json(ceilings("--json", "INFERNO_FORCE_ISA=generic").out).value()["cached"], true);

  const Finished table = ceilings("");
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_EQ(table.err, "");
  const std::string header = "measured " + first["measured_at"].get<std::string>() + ", from the cache";
  EXPECT_NE(table.out.find(header), std::string::npos) << table.out;
  expect_lined_up(table.out, "  read memory");
  expect_lined_up(table.out, "  multiply-adds");
}

TEST_F(CeilingsCommand, MeasuresAnewWhenAsked) {
  const std::string generic = "INFERNO_FORCE_ISA=generic ";
  ASSERT_EQ(ceilings("", generic).exit_code, 0);
  EXPECT_EQ(parse_json(ceilings("--json", generic).out).value()["cached"], true);
  EXPECT_EQ(parse_json(ceilings("--json --fresh", generic).out).value()["cached"], false);
  EXPECT_EQ(parse_json(ceilings("--json", generic + "INFERNO_CEILINGS=fresh").out).value()["cached"], false);
}

TEST_F(CeilingsCommand, AnAbsentIsaOrAWrongValueIsUsage) {
  const Finished unknown = ceilings("", "INFERNO_FORCE_ISA=avx3");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_EQ(unknown.out, "");
  EXPECT_NE(unknown.err.find("INFERNO_FORCE_ISA: expected one of generic"), std::string::npos) << unknown.err;
  EXPECT_TRUE(unknown.err.ends_with("`inferno help environment` tells of it\n")) << unknown.err;
#if defined(__x86_64__)
  EXPECT_EQ(ceilings("", "INFERNO_FORCE_ISA=neon").exit_code, 2);
#endif
  const Finished value = ceilings("", "INFERNO_CEILINGS=old");
  EXPECT_EQ(value.exit_code, 2);
  EXPECT_NE(value.err.find("INFERNO_CEILINGS: expected fresh, found \"old\""), std::string::npos)
      << value.err;
  EXPECT_EQ(run_program("inferno", "generate", "", "INFERNO_FORCE_ISA=avx3").exit_code, 2);
  const Finished before_any_work = run_program("inferno", "generate -n 2", "", "INFERNO_CEILINGS=old");
  EXPECT_EQ(before_any_work.exit_code, 2);
  EXPECT_EQ(before_any_work.out, "");
  EXPECT_EQ(run_program("inferno", "--version", "", "INFERNO_CEILINGS=old").exit_code, 0);
}

TEST_F(CeilingsCommand, ATerminalSeesThatItIsMeasuring) {
  const std::string environment = "INFERNO_FORCE_ISA=generic XDG_CACHE_HOME='" + cache_.string() + "'";
  const auto says_so = [&](const std::string& arguments) {
    const std::string shown = run_in_terminal("inferno", arguments, environment).out;
    return shown.find("\rmeasuring what memory and processor can give") != std::string::npos;
  };
  EXPECT_TRUE(says_so("ceilings"));
  EXPECT_FALSE(says_so("ceilings")) << "they are known";
  EXPECT_FALSE(says_so("generate Once 2"));
  EXPECT_TRUE(says_so("ceilings --fresh"));
}

TEST_F(CeilingsCommand, AFolderThatCannotBeWrittenIsAWarning) {
  std::ofstream(cache_ / "inferno") << "a file where the folder should be";
  const Finished finished = ceilings("--json", "INFERNO_FORCE_ISA=generic");
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.err,
            "warning: the machine's ceilings are measured anew by each run: cannot keep them in " +
                (cache_ / "inferno" / "ceilings.json").string() + "\n");
  EXPECT_EQ(parse_json(finished.out).value()["cached"], false);
}

TEST_F(CeilingsCommand, AGenerationSaysThatItsPeakWasMeasuredOnABusyMachine) {
  ASSERT_EQ(ceilings("--json").exit_code, 0);
  const auto path = cache_ / "inferno" / "ceilings.json";
  Json remembered = parse_json(read_file(path)).value();
  ASSERT_TRUE(remembered.at("entries").at(0).at("ceilings").contains("steadiness")) << remembered;
  for (const double steadiness : {0.95, 0.5}) {
    remembered["entries"][0]["ceilings"]["steadiness"] = steadiness;
    std::ofstream(path) << json_text(remembered);
    const Finished finished =
        run_program("inferno", "generate 'Once upon' -n 4", "", "XDG_CACHE_HOME='" + cache_.string() + "'");
    ASSERT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_NE(finished.err.find("can read from memory"), std::string::npos) << finished.err;
    EXPECT_EQ(finished.err.find("(measured on a busy machine; anew: inferno ceilings --fresh)") !=
                  std::string::npos,
              steadiness < 0.9)
        << finished.err;
    std::istringstream text(finished.err);
    for (std::string line; std::getline(text, line);) {
      if (line.find("model:") == std::string::npos) {
        EXPECT_LE(line.size(), 100u) << line;
      }
    }
  }
}

TEST(CeilingsText, SaysWhyThereIsNoReadBandwidthWhereMemoryIsScarce) {
  backend::Ceilings ceilings;
  ceilings.clock_ghz = 4;
  ceilings.peaks = {{"fp32", "generic", 1, 60}};
  const std::string scarce = apps::ceilings_text(ceilings, {}, "generic");
  EXPECT_NE(scarce.find("\n  read memory: not measured, since the memory that is available could lie in the "
                        "caches\n"),
            std::string::npos)
      << scarce;
  EXPECT_NE(scarce.find("60.0"), std::string::npos) << "the peaks are there all the same: " << scarce;
  ceilings.read_gb_per_s = {10};
  EXPECT_EQ(apps::ceilings_text(ceilings, {}, "generic").find("not measured"), std::string::npos);
}

TEST(CeilingsText, WarnsOfABusyMachine) {
  backend::Ceilings ceilings;
  ceilings.read_gb_per_s = {10};
  ceilings.steadiness = 0.95;
  EXPECT_EQ(apps::ceilings_text(ceilings, {}, "generic").find("warning"), std::string::npos);
  ceilings.steadiness = 0.62;
  const std::string busy = apps::ceilings_text(ceilings, {}, "generic");
  EXPECT_NE(busy.find("\nwarning: the machine was busy meanwhile"), std::string::npos) << busy;
  EXPECT_NE(busy.find(" 62 % "), std::string::npos) << busy;
  EXPECT_NE(busy.find("inferno ceilings --fresh"), std::string::npos) << busy;
}

}  // namespace
}  // namespace inferno::test
