// --repack-cache, as a user gives it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "models/demo/demo_model.h"
#include "support/run_program.h"
#include "support/shared_data.h"

namespace inferno::test {
namespace {

namespace fs = std::filesystem;

class RepackCacheOption : public testing::Test {
 protected:
  void SetUp() override {
    const auto bytes = demo::model_bytes();
    write_file(model_, bytes);
  }
  Finished generate(const std::string& arguments) const {
    return run_program("inferno", "generate --metrics none -n 8 " + arguments, "",
                       "INFERNO_LOG=warn XDG_CACHE_HOME='" + (dir_ / "xdg").string() + "'");
  }
  static size_t n_files(const fs::path& folder) {
    return fs::exists(folder)
               ? static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator{}))
               : 0;
  }

  fs::path dir_ = scratch_dir("repack_cache_option");
  std::string model_ = (dir_ / "demo.gguf").string();
};

TEST_F(RepackCacheOption, FirstAndSecondStartSayTheSame) {
  const Finished without = generate(model_);
  EXPECT_EQ(without.exit_code, 0) << without.err;
  EXPECT_EQ(n_files(dir_ / "xdg"), 0u);
  for (int start = 0; start < 2; ++start) {
    const Finished with = generate("--repack-cache " + model_);
    EXPECT_EQ(with.exit_code, 0) << with.err;
    EXPECT_EQ(with.out, without.out);
    EXPECT_EQ(with.err, "") << start;
    EXPECT_EQ(n_files(dir_ / "xdg" / "inferno"), 1u);
  }
}

TEST_F(RepackCacheOption, TheMetricsSayWhereItIsAndWhetherItServed) {
  const std::string option = "generate -n 2 --repack-cache=" + (dir_ / "c").string() + " ";
  for (const char* what : {"written to", "mapped from"}) {
    const Finished told = run_program("inferno", option + model_);
    const fs::path cache = *fs::directory_iterator(dir_ / "c");
    EXPECT_NE(told.err.find(fmt::format(", {} {}\n", what, cache.string())), std::string::npos) << told.err;
  }
  const Json json = parse_json(run_program("inferno", option + "--json " + model_).out).value();
  EXPECT_EQ(json["repack_cache"]["was_written"], false);
  EXPECT_EQ(json["repack_cache"]["bytes"], fs::file_size(*fs::directory_iterator(dir_ / "c")));
}

TEST_F(RepackCacheOption, IsMadeAnewWhereItsBytesHaveChangedIfTheyAreChecked) {
  const std::string option = "--repack-cache='" + (dir_ / "c").string() + "' " + model_;
  const Finished before = generate(option);
  const std::string cache = fs::directory_iterator(dir_ / "c")->path().string();
  const std::string good = read_file(cache);
  const size_t half = good.size() / 2;  // what follows are matrices
  const std::string damaged = good.substr(0, half) + std::string(good.size() - half, '\0');
  write_file(cache, std::as_bytes(std::span(damaged)));
  EXPECT_NE(generate(option).out, before.out);
  const Finished checked = generate("--check-tensors " + option);
  EXPECT_EQ(checked.exit_code, 0);
  EXPECT_EQ(checked.out, before.out);
  EXPECT_NE(checked.err.find("warning: the repack cache was damaged and is made anew: " + cache),
            std::string::npos)
      << checked.err;
  EXPECT_TRUE(read_file(cache).substr(half) == good.substr(half));
}

TEST_F(RepackCacheOption, TakesAFolder) {
  const fs::path folder = dir_ / "my caches";
  for (int start = 0; start < 2; ++start) {
    const Finished with = generate("--repack-cache='" + folder.string() + "' " + model_);
    EXPECT_EQ(with.exit_code, 0) << with.err;
    EXPECT_EQ(with.err, "");
    EXPECT_EQ(n_files(folder), 1u);
  }
  EXPECT_EQ(n_files(dir_ / "xdg"), 0u);
}

TEST_F(RepackCacheOption, AFolderWithoutAnEqualsSignIsAUsageError) {
  const std::string there = dir_.string(), absent = (dir_ / "absent").string();
  for (const std::string& arguments :
       {"--repack-cache " + there + " " + model_, model_ + " --repack-cache " + there,
        model_ + " --repack-cache " + absent, "--repack-cache " + absent}) {
    const Finished finished = generate(arguments);
    EXPECT_EQ(finished.exit_code, 2) << arguments;
    EXPECT_EQ(finished.out, "") << arguments;
    EXPECT_NE(finished.err.find("it comes after \"=\": --repack-cache=" + there), std::string::npos)
        << finished.err;
  }
  // A word with a / in it may be the prompt.
  EXPECT_EQ(generate("--repack-cache " + model_ + " he/she").exit_code, 0);
  const Finished logits =
      run_program("inferno", "logits --prompt-ids 1 -o x.npy --repack-cache " + there + " " + model_);
  EXPECT_EQ(logits.exit_code, 2) << logits.err;
}

TEST_F(RepackCacheOption, ATruncatedFileIsMadeAnewWithALineInTheLog) {
  const std::string option = "--repack-cache=" + (dir_ / "c").string() + " ";
  const Finished first = generate(option + model_);
  const fs::path cache = *fs::directory_iterator(dir_ / "c");
  const auto size = fs::file_size(cache);
  fs::resize_file(cache, size - 1);
  const Finished second = generate(option + model_);
  EXPECT_EQ(second.exit_code, 0);
  EXPECT_EQ(second.out, first.out);
  EXPECT_NE(second.err.find("repack cache is made anew"), std::string::npos) << second.err;
  EXPECT_EQ(fs::file_size(cache), size);
  EXPECT_EQ(generate(option + model_).err, "");
}

TEST_F(RepackCacheOption, InspectReadsAllOfItOnRequest) {
  const std::string option = "--repack-cache=" + (dir_ / "c").string() + " ";
  const auto inspect = [&](const std::string& arguments) {
    return run_program("inferno", "inspect " + arguments);
  };
  EXPECT_EQ(inspect(option + model_).exit_code, 2) << "with --check-tensors alone";
  const Finished absent = inspect("--check-tensors " + option + model_);
  EXPECT_EQ(absent.exit_code, 1);
  EXPECT_NE(absent.err.find("no such file"), std::string::npos) << absent.err;
  generate(option + model_);
  EXPECT_EQ(inspect("--check-tensors " + option + model_).exit_code, 0);
  const fs::path cache = *fs::directory_iterator(dir_ / "c");
  {
    std::fstream out(cache, std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(-1, std::ios::end);
    out.put('\xa5');
  }
  const Finished damaged = inspect("--check-tensors " + option + model_);
  EXPECT_EQ(damaged.exit_code, 1);
  EXPECT_NE(damaged.err.find("its bytes are damaged; remove the file, it is made anew"), std::string::npos)
      << damaged.err;
}

TEST_F(RepackCacheOption, TheCacheCommandListsAndRemoves) {
  const fs::path folder = dir_ / "c";
  const auto cache = [&](const std::string& arguments) {
    return run_program("inferno", "cache --folder '" + folder.string() + "' " + arguments);
  };
  EXPECT_EQ(cache("").out.find("no caches in " + folder.string() + "; --repack-cache"), 0u);
  const std::string option = "--repack-cache=" + folder.string() + " ";
  const std::string other = (dir_ / "Other 1.5B.gguf").string();
  fs::copy_file(model_, other);
  generate(option + model_);
  generate(option + "'" + other + "'");
  std::ofstream(folder / "ceilings.json") << "{}";
  std::ofstream(folder / "notes.repack") << "not of ours";
  std::ofstream(folder / "backup-0123456789abcdef.v1.repack") << "not of ours, for all its name";
  fs::create_directory(dir_ / "elsewhere");
  const std::string elsewhere = (dir_ / "elsewhere" / fs::path(model_).filename()).string();
  fs::copy_file(model_, elsewhere);

  const Finished listed = cache("");
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_TRUE(listed.out.starts_with("  model       ISA")) << listed.out;
  EXPECT_NE(listed.out.find("\n  Other_1_5B "), std::string::npos) << listed.out;
  EXPECT_NE(listed.out.find(" MB  just now\n  demo       "), std::string::npos) << listed.out;
  EXPECT_NE(listed.out.find("\n\n2 caches, "), std::string::npos) << listed.out;
  const Json json = parse_json(cache("--json").out).value();
  ASSERT_EQ(json["caches"].size(), 2u);
  EXPECT_EQ(json["caches"][1]["model"], "demo");
  EXPECT_EQ(json["caches"][1]["bytes"], fs::file_size(json["caches"][1]["path"].get<std::string>()));

  const Finished unknown = cache("--remove dmeo");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find("--remove dmeo: no cache of such a model in " + folder.string() +
                             "; did you mean demo?\n"),
            std::string::npos)
      << unknown.err;
  EXPECT_EQ(cache("--remove '" + elsewhere + "'").exit_code, 2) << "another file of that name";
  EXPECT_TRUE(cache("--remove '" + other + "' --remove Other_1_5B").out.starts_with("removed 1 cache, "));
  EXPECT_TRUE(cache("--remove demo").out.starts_with("removed 1 cache, "));
  generate(option + model_);
  EXPECT_EQ(cache("--clear --remove demo").exit_code, 2);
  EXPECT_TRUE(cache("--clear").out.starts_with("removed 1 cache, "));
  EXPECT_EQ(n_files(folder), 3u) << "what is no repack cache stays";
  EXPECT_TRUE(cache("--clear").out.starts_with("removed 0 caches, "));
  EXPECT_EQ(run_program("inferno", "cache", "", "XDG_CACHE_HOME= HOME=").exit_code, 2);
}

TEST_F(RepackCacheOption, TheCacheCommandKnowsWhatKilledWritersHaveLeft) {
  const fs::path folder = dir_ / "c";
  const auto cache = [&](const std::string& arguments) {
    return run_program("inferno", "cache --folder '" + folder.string() + "' " + arguments);
  };
  generate("--repack-cache=" + folder.string() + " " + model_);
  const std::string whole = (*fs::directory_iterator(folder)).path().string();
  const std::string half = fmt::format("{}.{}-0.tmp", whole, std::numeric_limits<int>::max());
  const std::string none = fmt::format("{}.{}-1.tmp", whole, std::numeric_limits<int>::max());
  const std::string at_work = fmt::format("{}.{}-0.tmp", whole, ::getpid());
  for (const std::string& path : {half, at_work}) {
    fs::copy_file(whole, path);
    fs::resize_file(path, 5000);
  }
  std::ofstream(none).flush();
  const std::string listed = cache("").out;
  EXPECT_NE(listed.find(" KB  unfinished, just now\n"), std::string::npos) << listed;
  EXPECT_NE(listed.find("\n\n3 caches, "), std::string::npos) << listed;
  const Json json = parse_json(cache("--json").out).value();
  EXPECT_EQ(json["caches"][0]["unfinished"], false);
  EXPECT_EQ(json["caches"][1]["unfinished"], true);
  EXPECT_TRUE(cache("--clear").out.starts_with("removed 3 caches, "));
  EXPECT_EQ(n_files(folder), 1u) << "what may still be written stays";
  EXPECT_TRUE(fs::exists(at_work));
}

TEST_F(RepackCacheOption, WhyACacheWasNotWrittenIsSaid) {
  const Finished finished = generate("--repack-cache=" + model_ + "/folder " + model_);
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_NE(finished.err.find("no repack cache was written: " + model_ +
                              "/folder: cannot make this folder: Not a directory"),
            std::string::npos)
      << finished.err;
}

TEST_F(RepackCacheOption, OfTheDemoModelAWarningSaysThatThereIsNone) {
  const Finished finished = generate("--repack-cache");
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.out, generate("").out);
  EXPECT_NE(finished.err.find("no repack cache: demo-tales-q8_0.gguf (embedded) is in no file"),
            std::string::npos)
      << finished.err;
}

TEST_F(RepackCacheOption, WithoutAnyFolderItIsAUsageError) {
  const Finished finished =
      run_program("inferno", "generate --repack-cache " + model_, "", "XDG_CACHE_HOME= HOME=");
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_NE(finished.err.find("neither XDG_CACHE_HOME nor HOME is set"), std::string::npos) << finished.err;
}

}  // namespace
}  // namespace inferno::test
