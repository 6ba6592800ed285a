// `inferno ceilings`: its structure, and that a second run says the same. Never how fast.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "support/run_program.h"
#include "support/shared_data.h"

namespace inferno::test {
namespace {

using Json = nlohmann::json;

class CeilingsCommand : public testing::Test {
 protected:
  Finished ceilings(const std::string& arguments, const std::string& environment = "") const {
    return run_program("inferno", "ceilings " + arguments, "",
                       "XDG_CACHE_HOME='" + cache_.string() + "' " + environment);
  }

  std::filesystem::path cache_ = scratch_dir("ceilings_command");
};

TEST_F(CeilingsCommand, PrintsOneJsonObjectOfPositiveFigures) {
  const Finished finished = ceilings("--json");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json json = Json::parse(finished.out);
  EXPECT_FALSE(json["cpu"].get<std::string>().empty());
  EXPECT_GE(json["cores"], 1);
  EXPECT_GT(json["clock_ghz"], 0.0);
  EXPECT_EQ(json["cached"], false);
  const auto threads = json["threads"].get<size_t>();
  ASSERT_EQ(json["read_gb_per_s"].size(), threads);
  for (const Json& read : json["read_gb_per_s"]) EXPECT_GT(read, 0.0);
  std::set<std::string> kinds;
  for (const Json& peak : json["peaks"]) {
    EXPECT_GT(peak["gops"], 0.0);
    EXPECT_TRUE(peak["threads"] == 1 || peak["threads"] == threads) << peak;
    EXPECT_TRUE(kinds
                    .insert(fmt::format("{} {} {}", peak["arithmetic"].get<std::string>(),
                                        peak["isa"].get<std::string>(), peak["threads"].get<int>()))
                    .second)
        << peak;
  }
  EXPECT_TRUE(kinds.contains("fp32 generic 1"));
  EXPECT_TRUE(kinds.contains(fmt::format("fp32 generic {}", threads)));
}

TEST_F(CeilingsCommand, ASecondRunTakesTheFiguresOfTheFirst) {
  Json first = Json::parse(ceilings("--json").out);
  Json second = Json::parse(ceilings("--json").out);
  EXPECT_EQ(first["cached"], false);
  EXPECT_EQ(second["cached"], true);
  first.erase("cached");
  second.erase("cached");
  EXPECT_EQ(first, second);

  const Finished table = ceilings("");
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_NE(table.out.find("measured " + first["measured_at"].get<std::string>() + ", from the cache"),
            std::string::npos)
      << table.out;
  EXPECT_EQ(Json::parse(ceilings("--json --fresh").out)["cached"], false);
  EXPECT_EQ(Json::parse(ceilings("--json", "INFERNO_CEILINGS=fresh").out)["cached"], false);
}

TEST_F(CeilingsCommand, TheTableLinesUp) {
  const std::string out = ceilings("").out;
  const size_t head = out.find("  multiply-adds");
  ASSERT_NE(head, std::string::npos) << out;
  const std::string rows = out.substr(head, out.find("\n\n", head) - head);
  size_t width = 0;
  size_t n = 0;
  for (size_t begin = 0; begin < rows.size(); ++n) {
    const size_t end = std::min(rows.find('\n', begin), rows.size());
    if (n == 0) width = end - begin;
    EXPECT_EQ(end - begin, width) << rows;
    begin = end + 1;
  }
  EXPECT_GE(n, 2u);
  EXPECT_NE(out.find("read memory  GB/s"), std::string::npos) << out;
}

TEST_F(CeilingsCommand, AForcedIsaIsTheOnlyOneBesidesWhatItExtends) {
  const Json json = Json::parse(ceilings("--json", "INFERNO_FORCE_ISA=generic").out);
  EXPECT_EQ(json["isa"], "generic");
  for (const Json& peak : json["peaks"]) EXPECT_EQ(peak["isa"], "generic");
  // And its figures are not taken for those of the best.
  EXPECT_EQ(Json::parse(ceilings("--json").out)["cached"], false);
}

TEST_F(CeilingsCommand, AnAbsentIsaOrAWrongValueIsUsage) {
  const Finished unknown = ceilings("", "INFERNO_FORCE_ISA=avx3");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_EQ(unknown.out, "");
  EXPECT_NE(unknown.err.find("INFERNO_FORCE_ISA: expected one of generic"), std::string::npos) << unknown.err;
#if defined(__x86_64__)
  EXPECT_EQ(ceilings("", "INFERNO_FORCE_ISA=neon").exit_code, 2);
#endif
  const Finished value = ceilings("", "INFERNO_CEILINGS=old");
  EXPECT_EQ(value.exit_code, 2);
  EXPECT_NE(value.err.find("INFERNO_CEILINGS: expected fresh, found \"old\""), std::string::npos)
      << value.err;
  EXPECT_EQ(run_program("inferno", "generate", "", "INFERNO_FORCE_ISA=avx3").exit_code, 2);
}

TEST_F(CeilingsCommand, AFolderThatCannotBeWrittenIsNoError) {
  std::ofstream(cache_ / "inferno") << "a file where the folder should be";
  const Finished finished = ceilings("--json");
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.err, "");
  EXPECT_EQ(Json::parse(finished.out)["cached"], false);
}

}  // namespace
}  // namespace inferno::test
