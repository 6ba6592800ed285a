// `inferno bench`: compare and report as their users call them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "bench/report/log.h"
#include "bench/report/report_json.h"
#include "support/bare_model.h"
#include "support/bench_reports.h"
#include "support/run_program.h"
#include "support/shared_data.h"

namespace inferno::test {
namespace {

class Bench : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (dir_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  std::string report(const std::string& name, int us) const {
    const std::vector<microseconds> steps = {microseconds(us), microseconds(us + 1), microseconds(us + 2)};
    return write(name, bench::to_json(make_report("tiny-1b", steps)));
  }
  size_t files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(dir_), {}));
  }

  std::filesystem::path dir_ = scratch_dir("bench");
};

TEST_F(Bench, CompareExitsWithOneOnARegressionBeyondTheGate) {
  const std::string a = report("a.json", 1000);
  const std::string b = report("b.json", 1050);
  const Finished failed = run_program("inferno", "bench compare " + a + " " + b);
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_EQ(failed.err, "");
  EXPECT_NE(failed.out.find("| slower |"), std::string::npos) << failed.out;
  EXPECT_NE(failed.out.find("regression: short: decode tok/s is 4.8 % worse"), std::string::npos)
      << failed.out;
  EXPECT_TRUE(failed.out.ends_with("gate of 3 %: failed\n")) << failed.out;
  EXPECT_EQ(run_program("inferno", "bench compare " + a + " " + b + " --gate 6%").exit_code, 0);
  EXPECT_EQ(run_program("inferno", "bench compare " + a + " " + b + " --gate 6").exit_code, 0);
  EXPECT_EQ(run_program("inferno", "bench compare " + b + " " + a + " --gate 0%").exit_code, 0);
  EXPECT_EQ(run_program("inferno", "bench compare " + a + " " + a).exit_code, 0);
}

TEST_F(Bench, CompareSaysWhatToDoWhenTheGateFailsAndTheTestShowsNothing) {
  const auto one_trial = [&](const char* name, int us) {
    return write(name, bench::to_json(make_report("tiny-1b", {microseconds(us)})));
  };
  const Finished finished =
      run_program("inferno", "bench compare " + one_trial("a.json", 1000) + " " + one_trial("b.json", 1100));
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_EQ(finished.out.find("regression"), std::string::npos) << finished.out;
  EXPECT_NE(
      finished.out.find("undecided: short: decode tok/s is 9.1 % worse: 909.09 after 1000.00, perhaps by "
                        "chance: too few trials\n"),
      std::string::npos)
      << finished.out;
  EXPECT_NE(finished.out.find("gate of 3 %: failed\nWhat is undecided fails the gate too: "),
            std::string::npos)
      << finished.out;
}

TEST_F(Bench, CompareFailsTheGateOnAReportThatLacksARow) {
  const std::string a = report("a.json", 1000);
  bench::Report less = make_report();
  less.results.pop_back();
  const std::string b = write("b.json", bench::to_json(less));
  const Finished lacking = run_program("inferno", "bench compare " + a + " " + b + " --gate 50%");
  EXPECT_EQ(lacking.exit_code, 1) << lacking.err;
  EXPECT_TRUE(lacking.out.ends_with("\nmissing: medium is not in the second report\ngate of 50 %: failed\n"))
      << lacking.out;
  EXPECT_EQ(run_program("inferno", "bench compare " + b + " " + a + " --gate 50%").exit_code, 0);
  less.setting.use_kv_cache = false;
  const std::string uncached = write("uncached.json", bench::to_json(less));
  const Finished other = run_program("inferno", "bench compare " + a + " " + uncached);
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.err.find("cannot compare: the decoding"), std::string::npos) << other.err;
}

TEST_F(Bench, CompareRefusesWhatCannotBeCompared) {
  const std::string a = report("a.json", 1000);
  const std::string other = write("other.json", bench::to_json(make_report("another")));
  const Finished refused = run_program("inferno", "bench compare " + a + " " + other);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("cannot compare: the model"), std::string::npos) << refused.err;
  EXPECT_EQ(run_program("inferno", "bench compare " + a + " " + path("nothing.json")).exit_code, 1);
  const Finished damaged = run_program("inferno", "bench compare " + a + " " + write("x.json", "{"));
  EXPECT_EQ(damaged.exit_code, 1);
  EXPECT_NE(damaged.err.find(path("x.json") + ": expected JSON"), std::string::npos) << damaged.err;
  EXPECT_EQ(run_program("inferno", "bench compare " + a + " " + a + " --gate much").exit_code, 2);
  EXPECT_EQ(run_program("inferno", "bench compare " + a).exit_code, 2);
}

TEST_F(Bench, AModelGivenAsAReportIsSaidToBeOne) {
  const std::string model = write_bare_model(scratch_dir("bench_model"));
  const std::string report_of_it = report("a.json", 1000);
  for (const std::string& arguments :
       {"compare " + model + " " + report_of_it, "compare " + report_of_it + " " + model,
        "report " + model + " -o " + path("page.html"),
        "report --log " + model + " -o " + path("page.html")}) {
    const Finished finished = run_program("inferno", "bench " + arguments);
    EXPECT_EQ(finished.exit_code, 1) << arguments;
    EXPECT_EQ(finished.err,
              fmt::format(
                  "error: {0}: expected what `inferno bench` has written, found a GGUF model; `inferno bench "
                  "generation --model` writes its report\n",
                  model));
  }
  EXPECT_FALSE(std::filesystem::exists(path("page.html")));
}

TEST_F(Bench, ReportMakesAPage) {
  const std::string log = path("log.jsonl");
  ASSERT_TRUE(bench::append_to_log(log, bench::log_entry(make_report())).ok());
  std::ofstream(log, std::ios::app) << "no entry\n";
  const std::string files =
      report("a.json", 1000) + " " + write("ladder.json", bench::to_json(make_ladder()));
  const Finished made =
      run_program("inferno", "bench report --log " + log + " " + files + " -o " + path("page.html"));
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(made.out, "");
  EXPECT_NE(made.err.find("log.jsonl:2: expected JSON"), std::string::npos) << made.err;
  EXPECT_NE(made.err.find("\n" + path("page.html") + ": wrote "), std::string::npos) << made.err;
  const std::string page = read_file(path("page.html"));
  for (const char* id : {"summary", "ladder", "steps", "roofline", "history", "warnings"}) {
    EXPECT_NE(page.find(fmt::format("<section id='{}'", id)), std::string::npos) << id;
  }
}

TEST_F(Bench, AHistoryGivenAsAReportIsSentToItsOption) {
  const std::string log = path("runs.jsonl");
  for (int runs = 1; runs <= 2; ++runs) {
    ASSERT_TRUE(bench::append_to_log(log, bench::log_entry(make_report())).ok());
    const Finished finished = run_program("inferno", "bench report " + log + " -o " + path("page.html"));
    EXPECT_EQ(finished.exit_code, 2);
    EXPECT_NE(finished.err.find("found a history of runs; give it as --log " + log), std::string::npos)
        << finished.err;
  }
}

TEST_F(Bench, AReportGivenAsAHistoryIsRefused) {
  const std::string file = report("a.json", 1000);
  const Finished finished = run_program("inferno", "bench report --log " + file + " -o " + path("page.html"));
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_NE(finished.err.find("a.json: expected a history of runs"), std::string::npos) << finished.err;
  EXPECT_FALSE(std::filesystem::exists(path("page.html")));
}

TEST_F(Bench, ReportMakesTables) {
  const std::string now = report("now.json", 1000);
  const std::string before = report("before.json", 2000);
  const std::string ladder = write("ladder.json", bench::to_json(make_ladder()));
  const Finished made = run_program(
      "inferno", "bench report --previous " + before + " " + now + " " + ladder + " -o " + path("tables.md"));
  EXPECT_EQ(made.exit_code, 0) << made.err;
  const std::string tables = read_file(path("tables.md"));
  EXPECT_NE(tables.find("### E2E throughput (tok/s)"), std::string::npos);
  EXPECT_NE(tables.find(" 2.00x |"), std::string::npos) << tables;
  EXPECT_NE(tables.find("### Ladder of tiny-1b"), std::string::npos);
}

TEST_F(Bench, NoHalfFileIsLeft) {
  const std::string a = report("a.json", 1000);
  EXPECT_EQ(run_program("inferno", "bench report " + a + " -o " + path("nowhere/page.html")).exit_code, 1);
  EXPECT_EQ(run_program("inferno", "bench report " + a + " missing.json -o " + path("page.html")).exit_code,
            1);
  EXPECT_EQ(run_program("inferno", "bench report " + a + " --log missing -o " + path("page.html")).exit_code,
            1);
  EXPECT_EQ(run_program("inferno", "bench report " + a + " -o " + path("page.pdf")).exit_code, 2);
  EXPECT_EQ(run_program("inferno", "bench report -o " + path("page.html")).exit_code, 2);
  EXPECT_EQ(run_program("inferno", "bench report " + a).exit_code, 2);
  EXPECT_EQ(files(), 1u);
}

TEST_F(Bench, UnknownCommandsGetTheNearestName) {
  const Finished finished = run_program("inferno", "bench comprae a b");
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_NE(finished.err.find("error: \"comprae\" is not a command of inferno bench; did you mean compare?"),
            std::string::npos)
      << finished.err;
  EXPECT_EQ(run_program("inferno", "bench").exit_code, 2);
  const Finished option = run_program("inferno", "bench compare a b --gaet 3");
  EXPECT_EQ(option.exit_code, 2);
  EXPECT_NE(option.err.find("did you mean --gate?"), std::string::npos) << option.err;
  EXPECT_NE(option.err.find("`inferno bench compare --help`"), std::string::npos) << option.err;
}

TEST_F(Bench, SpeculationHasARowForEachText) {
  const std::string tale = write("tale.txt", [] {
    std::string text;
    for (int i = 0; i < 20; ++i) text += "Once upon a time there was a small girl. ";
    return text;
  }());
  const std::string arguments = fmt::format(
      "bench speculation '{}/models/demo/demo-tales-q8_0.gguf' {} {} --prompt-tokens 64 --trials 1 -n ",
      INFERNO_SOURCE_DIR, tale, tale);
  std::string thrice = arguments;
  thrice.replace(thrice.find("--trials 1"), 10, "--trials 3");
  const Finished compared = run_program("inferno", thrice + "4");
  EXPECT_NE(compared.out.find("x\n"), std::string::npos) << "1.02x: " << compared.out;
  EXPECT_EQ(compared.out.find("No gain"), std::string::npos) << compared.out;
  const Finished table = run_program("inferno", arguments + "32");
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_NE(table.out.find("tale.txt"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("No gain is told from 1 trial: --trials 3 or more compare medians.\n"),
            std::string::npos)
      << table.out;
  EXPECT_EQ(table.out.find("x\n"), std::string::npos) << "1.02x: " << table.out;
  const auto json = parse_json(run_program("inferno", arguments + "32 --json").out).value();
  ASSERT_EQ(json["texts"].size(), 2u);
  EXPECT_EQ(json["texts"][0]["passes"].get<int>() + json["texts"][0]["accepted"].get<int>(), 32);
  EXPECT_FALSE(json["texts"][0].contains("screened_s"));
  EXPECT_TRUE(json["texts"][0]["gain"].is_null()) << "of one trial";
  const std::string screened = arguments + "32 --head-screen";
  EXPECT_NE(run_program("inferno", screened).out.find("head read"), std::string::npos);
  const auto with_screen = parse_json(run_program("inferno", screened + " --json").out).value();
  EXPECT_EQ(with_screen["texts"][1]["head_screen"]["passes"], 32);
  const Finished too_short = run_program("inferno", arguments + "400");
  EXPECT_EQ(too_short.exit_code, 2);
  EXPECT_NE(too_short.err.find("tale.txt: the text has "), std::string::npos) << too_short.err;
  EXPECT_NE(too_short.err.find("; give a longer text, or smaller --prompt-tokens and -n\n"),
            std::string::npos)
      << too_short.err;
  const Finished beyond = run_program("inferno", arguments + "450");
  EXPECT_EQ(beyond.exit_code, 2);
  EXPECT_TRUE(beyond.err.starts_with(
      "error: --prompt-tokens 64 and -n 450: expected at most 513 tokens together, one "
      "more than the model's context, found 514; give smaller ones\n"))
      << beyond.err;
}

TEST_F(Bench, HelpShowsUsage) {
  for (const char* command : {"bench compare", "bench report"}) {
    const Finished help = run_program("inferno", std::string(command) + " --help");
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_NE(help.out.find("usage: "), std::string::npos);
    EXPECT_NE(help.out.find("\nExample"), std::string::npos);
  }
}

class BenchKernels : public Bench {
 protected:
  // `inferno bench kernels` with `script` in place of kernels_bench, which is looked for beside it.
  Finished kernels(const std::string& script) const {
    const auto copy = dir_ / "inferno";
    std::filesystem::copy_file(INFERNO_BIN_DIR "/inferno", copy,
                               std::filesystem::copy_options::overwrite_existing);
    const std::string program = write("kernels_bench", "#!/bin/sh\n" + script);
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    return run_program(std::filesystem::relative(copy, INFERNO_BIN_DIR).string(),
                       "bench kernels -o " + path("kernels.csv"));
  }
};

TEST_F(BenchKernels, TheCsvHasTheShareOfTheCeilingAndWhichOneItIs) {
  const std::string json = write("answer.json", R"({"benchmarks": [
      {"name": "gemv", "iterations": 7, "real_time": 2.5, "cpu_time": 2.5, "time_unit": "ns",
       "pct_of_ceiling": 12.5, "label": "40.0 GB/s read"},
      {"name": "tokenizer", "iterations": 9, "real_time": 1.5, "cpu_time": 1.5, "time_unit": "ns",
       "label": "no \"ceiling\", at all"}]})");
  const Finished finished = kernels("cp '" + json + "' \"$(echo \"$2\" | cut -d= -f2)\"\n");
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(read_file(path("kernels.csv")),
            "name,iterations,real_time,cpu_time,time_unit,pct_of_ceiling,ceiling\n"
            "gemv,7,2.5,2.5,ns,12.5,40.0 GB/s read\n"
            "tokenizer,9,1.5,1.5,ns,,\"no \"\"ceiling\"\", at all\"\n");
}

TEST_F(BenchKernels, WithoutTheProgramItIsSaidHowToBuildIt) {
  const auto copy = dir_ / "alone" / "inferno";
  std::filesystem::create_directory(copy.parent_path());
  std::filesystem::copy_file(INFERNO_BIN_DIR "/inferno", copy);
  const Finished finished =
      run_program(std::filesystem::relative(copy, INFERNO_BIN_DIR).string(), "bench kernels");
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_NE(finished.err.find("cmake --preset release -DINFERNO_BENCH=ON && cmake --build build/release"),
            std::string::npos)
      << finished.err;
}

TEST_F(BenchKernels, AProgramThatFailsLeavesNoCsv) {
  const Finished finished = kernels("exit 3\n");
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_NE(finished.err.find("kernels_bench ended with exit code 3"), std::string::npos) << finished.err;
  EXPECT_FALSE(std::filesystem::exists(path("kernels.csv")));
}

class BenchPeers : public Bench {
 protected:
  void SetUp() override { std::filesystem::create_directory(temporary_); }
  std::string peer(const std::string& script) const {
    const std::string program = write("llama-bench", "#!/bin/sh\n" + script);
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    return program;
  }
  Finished peers(const std::string& script, const std::string& shell = "") const {
    return run_program("inferno",
                       "bench peers synthetic:qwen3-0.6b:q2_k -p 1 -n 1 --rounds 1 --program " + peer(script),
                       "", "TMPDIR='" + temporary_.string() + "' " + shell);
  }

  std::filesystem::path temporary_ = dir_ / "tmp";
};

TEST_F(BenchPeers, ASyntheticModelIsAFileWhileBothRun) {
  const Finished finished = peers("head -c 4 \"$2\" >> '" + path("magic") +
                                  "'\necho '[{\"n_prompt\": 1, \"n_gen\": 0, \"avg_ts\": 3},"
                                  "{\"n_prompt\": 0, \"n_gen\": 1, \"avg_ts\": 2}]'\n");
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(read_file(path("magic")), "GGUFGGUF");
  EXPECT_NE(finished.out.find("| pp1"), std::string::npos) << finished.out;
  EXPECT_TRUE(std::filesystem::is_empty(temporary_));
}

TEST_F(BenchPeers, TheFileIsGoneAfterAnInterrupt) {
  const Finished finished = peers("test -f \"$2\" && kill -INT $PPID\nexec sleep 600\n");
  EXPECT_EQ(finished.exit_code, 130) << finished.err;
  EXPECT_TRUE(std::filesystem::is_empty(temporary_));
}

TEST_F(BenchPeers, AFileThatCannotBeWrittenIsAnErrorAndLeavesNothing) {
  // The largest file that the shell's limit lets it write: 512 KB.
  const Finished full = peers("exit 1\n", "sh -c 'trap \"\" XFSZ; ulimit -f 1024; exec \"$@\"' sh");
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_NE(full.err.find("cannot write it"), std::string::npos) << full.err;
  EXPECT_TRUE(std::filesystem::is_empty(temporary_));
  std::filesystem::remove(temporary_);
  const Finished absent = peers("exit 1\n");
  EXPECT_EQ(absent.exit_code, 1);
  EXPECT_NE(absent.err.find("set TMPDIR"), std::string::npos) << absent.err;
}

TEST_F(BenchPeers, WithoutTheProgramNoModelIsWritten) {
  const Finished finished =
      run_program("inferno", "bench peers synthetic:qwen3-0.6b:q2_k --program no-such-llama-bench", "",
                  "TMPDIR=/nowhere");
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_NE(finished.err.find("no-such-llama-bench is not on PATH"), std::string::npos) << finished.err;
  const Finished of_a_file = run_program("inferno", "bench peers '" INFERNO_SOURCE_DIR
                                                    "/models/demo/demo-tales-q8_0.gguf' --program " +
                                                        path("no"));
  EXPECT_EQ(of_a_file.exit_code, 2) << "not what a run that fails has";
  EXPECT_NE(of_a_file.err.find("no: expected llama.cpp's llama-bench, found no executable file"),
            std::string::npos)
      << of_a_file.err;
  EXPECT_EQ(run_program("inferno", "bench peers ''").exit_code, 2);
}

}  // namespace
}  // namespace inferno::test
