#include "bench/peers.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "backend/ceilings.h"
#include "base/cpu_topology.h"
#include "base/memory.h"
#include "support/fake_clock.h"
#include "support/load.h"
#include "support/shared_data.h"
#include "support/tiny_model.h"

namespace inferno::bench {
namespace {

class Peers : public testing::Test {
 protected:
  void SetUp() override {
    bytes_ = test::TinyModel({}).bytes();
    loaded_ = test::load_bytes(bytes_);
  }
  // A program that answers `body`, after noting its arguments.
  std::string program(const std::string& body) {
    const auto folder = test::scratch_dir("peers");
    const std::string path = (folder / "llama-bench").string();
    arguments_ = (folder / "arguments").string();
    std::ofstream(path) << "#!/bin/sh\necho \"$@\" >> '" << arguments_ << "'\n" << body;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  Result<PeerComparison> compare(const std::string& path) {
    PeerOptions options;
    options.program = path;
    options.model_path = "model.gguf";
    options.prompt_tokens = 4;
    options.generated_tokens = 3;
    options.rounds = 2;
    options.numa = numa_;
    options.limits = limits_;
    options.measures_ceilings = measures_ceilings_;
    return compare_with_peer(loaded_, options, {}, nullptr, clock_);
  }

  std::vector<std::byte> bytes_;
  model::LoadedModel loaded_;
  test::TickingClock clock_;
  std::string numa_;
  Limits limits_;
  bool measures_ceilings_ = false;
  std::string arguments_;
};

TEST_F(Peers, SpeedsStandSideBySide) {
  const auto comparison =
      compare(program("echo '[{\"build_number\": 7, \"build_commit\": \"abc\", \"n_prompt\": 4, \"n_gen\": "
                      "0, \"avg_ts\": 2000},"
                      "{\"build_number\": 7, \"build_commit\": \"abc\", \"n_prompt\": 0, \"n_gen\": 3, "
                      "\"avg_ts\": 500}]'\n"));
  ASSERT_TRUE(comparison.ok()) << comparison.error().message;
  EXPECT_EQ(comparison->peer, "llama-bench build 7 (abc)");
  ASSERT_EQ(comparison->rows.size(), 2u);
  // The ticking clock: the prompt's pass takes one millisecond, and so does each token's.
  EXPECT_EQ(comparison->rows[0].test, "pp4");
  EXPECT_DOUBLE_EQ(comparison->rows[0].ours.p50, 4000);
  EXPECT_DOUBLE_EQ(comparison->rows[0].peer.p50, 2000);
  EXPECT_DOUBLE_EQ(comparison->rows[0].ratio.p50, 2);
  EXPECT_EQ(comparison->rows[1].test, "tg3");
  EXPECT_DOUBLE_EQ(comparison->rows[1].ours.p50, 1000);
  EXPECT_DOUBLE_EQ(comparison->rows[1].ratio.p50, 2);
  EXPECT_EQ(comparison->rows[1].ratio.n, 2u) << "the first round does not count";
  std::ifstream in(arguments_);
  std::string line;
  ASSERT_TRUE(std::getline(in, line));
  EXPECT_EQ(line, "-m model.gguf -p 4 -n 3 -t 1 -r 1 -ngl 0 -o json");
}

constexpr const char* kAnswer =
    "echo '[{\"n_prompt\": 4, \"n_gen\": 0, \"avg_ts\": 2000},"
    "{\"n_prompt\": 0, \"n_gen\": 3, \"avg_ts\": 500}]'\n";

TEST_F(Peers, BothStandBesideTheSameCeiling) {
  const auto unknown = compare(program(kAnswer));
  ASSERT_TRUE(unknown.ok()) << unknown.error().message;
  EXPECT_FALSE(unknown->rows[0].ours_of_ceiling);
  EXPECT_NE(peer_table(*unknown).find("—"), std::string::npos);

  limits_.read_gb_per_s = 1;
  const auto comparison = compare(program(kAnswer));
  ASSERT_TRUE(comparison.ok()) << comparison.error().message;
  for (const PeerRow& row : comparison->rows) {
    ASSERT_TRUE(row.ours_of_ceiling && row.peer_of_ceiling);
    EXPECT_GT(row.peer_of_ceiling->pct, 0);
    EXPECT_NEAR(row.ours_of_ceiling->pct / row.peer_of_ceiling->pct, row.ratio.p50, 1e-9);
    EXPECT_EQ(row.peer_of_ceiling->ceiling, "1.0 GB/s read");
  }
  // Three tokens read every weight three times, four tokens of a prompt once; a millisecond each.
  const double weights = static_cast<double>(loaded_.model->weights().bytes());
  EXPECT_GT(comparison->rows[1].ours_of_ceiling->pct, 100 * 0.5 * weights / 1e9 / 0.001);
  EXPECT_LT(comparison->rows[1].ours_of_ceiling->pct, 100 * 2 * weights / 1e9 / 0.001);
  const std::string table = peer_table(*comparison);
  EXPECT_NE(table.find("| 1.0 GB/s read "), std::string::npos) << table;
  EXPECT_NE(table.find("*: the other ceiling was not measured"), std::string::npos) << table;
}

TEST_F(Peers, CeilingsAreThoseBesideTheRuns) {
  if (!backend::read_buffer_bytes(0, cpu_topology().l3_bytes, available_memory()))
    GTEST_SKIP() << "too little memory to measure how fast it is read";
  limits_ = {.read_gb_per_s = 1e-9, .gops = 1e-9, .arithmetic = "int8", .fp32_gops = 1e-9};
  measures_ceilings_ = true;
  const auto comparison = compare(program(kAnswer));
  ASSERT_TRUE(comparison.ok()) << comparison.error().message;
  for (const PeerRow& row : comparison->rows) {
    ASSERT_TRUE(row.ours_of_ceiling && row.peer_of_ceiling);
    EXPECT_LT(row.ours_of_ceiling->pct, 1e6) << row.ours_of_ceiling->ceiling;
    EXPECT_LT(row.peer_of_ceiling->pct, 1e6) << row.peer_of_ceiling->ceiling;
  }
}

TEST_F(Peers, ThePeerIsToldWhatToDoWithNumaNodes) {
  numa_ = "distribute";
  ASSERT_TRUE(compare(program(kAnswer)).ok());
  std::ifstream in(arguments_);
  std::string line;
  ASSERT_TRUE(std::getline(in, line));
  EXPECT_EQ(line, "-m model.gguf -p 4 -n 3 -t 1 -r 1 -ngl 0 -o json --numa distribute");
}

TEST_F(Peers, WhatIsNotUnderstoodIsAnError) {
  for (const char* body : {"echo hello\n", "echo '[]'\n", "echo '{\"avg_ts\": 3}'\n", "echo '[1, null]'\n"}) {
    const auto comparison = compare(program(body));
    ASSERT_FALSE(comparison.ok()) << body;
    EXPECT_EQ(comparison.error().code, ErrorCode::kRuntime);
  }
  const auto failed = compare(program("exit 4\n"));
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().message.find("ended with exit code 4"), std::string::npos);
}

TEST_F(Peers, APeerThatIsNotThereIsSaidToBe) {
  const auto comparison = compare("no-such-llama-bench");
  ASSERT_FALSE(comparison.ok());
  EXPECT_EQ(comparison.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(find_peer("/bin/sh").value(), "/bin/sh");
  for (const char* path : {"a/path", "/bin", "/dev/null"}) {
    const auto found = find_peer(path);
    ASSERT_FALSE(found.ok()) << path;
    EXPECT_EQ(found.error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(found.error().message,
              std::string(path) +
                  ": expected llama.cpp's llama-bench, found no executable file; --program names it");
  }
}

}  // namespace
}  // namespace inferno::bench
