#include "bench/ladder_rows.h"

#include <gtest/gtest.h>

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

TEST(LadderRows, JsonReadsBack) {
  const std::string text = bench::to_json(make_ladder());
  const auto ladder = bench::ladder_from_json(text);
  ASSERT_TRUE(ladder.ok()) << ladder.error().message;
  EXPECT_EQ(bench::to_json(*ladder), text);
  EXPECT_EQ(bench::ladder_table(*ladder), bench::ladder_table(make_ladder()));
  EXPECT_EQ(bench::ladder_from_json("{\"model\":1}").error().message, "model: expected a string, found 1");
  EXPECT_FALSE(bench::ladder_from_json("[").ok());
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
