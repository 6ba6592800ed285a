#include "bench/ladder_rows.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "bench/report/html.h"
#include "support/bench_reports.h"

namespace inferno::test {
namespace {

TEST(LadderRows, SpeedUpIsOverTheLastMeasuredRung) {
  const bench::Ladder ladder = make_ladder();
  EXPECT_FALSE(bench::speed_up(ladder.rows, 0));
  EXPECT_DOUBLE_EQ(*bench::speed_up(ladder.rows, 1), 4);
  EXPECT_FALSE(bench::speed_up(ladder.rows, 2));
  EXPECT_DOUBLE_EQ(*bench::speed_up(ladder.rows, 3), 40);  // over the KV cache: SIMD is not there
}

TEST(LadderRows, SpeedUpOverACutRungIsThatOfTheTokensThatBothGenerated) {
  bench::Ladder ladder = make_ladder();
  bench::LadderRow& cut = ladder.rows[0];
  cut.note = "cut by --max-seconds at 2 of 4 new tokens";
  cut.generated_tokens = 2;
  cut.per_token_ms = {80000, 6000};
  EXPECT_DOUBLE_EQ(*bench::speed_up(ladder.rows, 1), 3);  // 6000 ms after 2000, whatever decode_tps say
  EXPECT_NE(bench::ladder_table(ladder).find("\nscalar: cut by --max-seconds at 2 of 4 new tokens\n"),
            std::string::npos);
  EXPECT_TRUE(
      bench::ladder_table(ladder).ends_with("\nSpeed-up of a row that was cut, and over it: by the time of "
                                            "the tokens after the first that both rows "
                                            "generated; — where there are none.\n"))
      << bench::ladder_table(ladder);
  EXPECT_NE(bench::html({{}, {ladder}, {}, {}}).find("<li>scalar: cut by --max-seconds"), std::string::npos);
  const std::string text = bench::to_json(ladder);
  const auto again = bench::ladder_from_json(text).value();
  EXPECT_EQ(again.rows[0].note, cut.note);
  EXPECT_EQ(bench::to_json(again), text);
  cut.generated_tokens = 1;
  cut.per_token_ms = {80000};
  EXPECT_FALSE(bench::speed_up(ladder.rows, 1));
  cut.generated_tokens = 3;
  EXPECT_EQ(bench::ladder_from_json(bench::to_json(ladder)).error().message,
            "rungs[0].generated_tokens: expected as many as there are per_token_ms, found 3");
}

TEST(LadderRows, EveryRungHasTheSameKeys) {
  const auto rungs = parse_json(bench::to_json(make_ladder())).value().at("rungs");
  EXPECT_EQ(rungs[2].size(), rungs[0].size());
  EXPECT_TRUE(rungs[2].at("decode_tps").is_null());
  EXPECT_TRUE(rungs[0].at("absent").is_null());
}

TEST(LadderRows, JsonReadsBack) {
  const std::string text = bench::to_json(make_ladder());
  const auto ladder = bench::ladder_from_json(text);
  ASSERT_TRUE(ladder.ok()) << ladder.error().message;
  EXPECT_EQ(bench::to_json(*ladder), text);
  EXPECT_EQ(bench::ladder_table(*ladder), bench::ladder_table(make_ladder()));
  std::string hostile = text;
  hostile.replace(hostile.find("\"decode_tps\": 0.125"), 19, "\"decode_tps\": -1e30");
  EXPECT_EQ(bench::ladder_from_json(hostile).error().message,
            "rungs[0].decode_tps: expected a number from 0 to 1e+15, found -1e+30");
  EXPECT_EQ(bench::ladder_from_json("{\"model\":1}").error().message, "model: expected a string, found 1");
  EXPECT_FALSE(bench::ladder_from_json("[").ok());
}

TEST(LadderRows, ARungOnAnotherDeviceHasItsName) {
  bench::Ladder ladder = make_ladder();
  ladder.rows[3].backend = "cuda";
  ladder.rows[3].device = "NVIDIA H200";
  const auto again = bench::ladder_from_json(bench::to_json(ladder)).value();
  EXPECT_EQ(again.rows[3].device, "NVIDIA H200");
  EXPECT_EQ(again.rows[0].device, "");
  EXPECT_NE(bench::ladder_table(again).find("| cuda, NVIDIA H200 |"), std::string::npos);
  EXPECT_NE(bench::html({{}, {again}, {}, {}}).find("cuda, NVIDIA H200</td>"), std::string::npos);
}

TEST(LadderRows, TableSaysWhyARungIsNotThere) {
  EXPECT_EQ(bench::ladder_table(make_ladder()),
            "| Rung     | Backend  | Weights | KV   | MB/token | TTFT ms | Decode tok/s | Speed-up | Ceiling "
            "        |\n"
            "|----------|----------|---------|------|---------:|--------:|-------------:|---------:|---------"
            "--------|\n"
            "| scalar   | scalar   | F32     | none |   4000.0 | 80000.0 |         0.12 |        — | 0.0 % "
            "of memory |\n"
            "| KV cache | scalar   | F32     | F16  |   4000.0 | 20000.0 |         0.50 |    4.00x | 0.1 % "
            "of memory |\n"
            "| SIMD     | simd     | F32     | F16  |        — |       — |            — |        — | —       "
            "        |\n"
            "| Q8_0     | parallel | Q8_0    | F16  |   4000.0 |   500.0 |        20.00 |   40.00x | 2.0 % "
            "of memory |\n"
            "\n"
            "SIMD: not in this build: no kernels for this CPU\n");
}

}  // namespace
}  // namespace inferno::test
