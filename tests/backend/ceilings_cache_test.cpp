#include "backend/ceilings_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "support/shared_data.h"

namespace inferno::backend {
namespace {

CeilingsKey key() {
  return {"boot-1", "Some CPU", "0.1.0 GNU", {"generic"}, {0, 1}, 2};
}

Ceilings ceilings() {
  Ceilings c;
  c.read_gb_per_s = {10.5, 20.25};
  c.peaks = {{"fp32", "generic", 1, 60.0}, {"fp32", "generic", 2, 120.0}};
  c.clock_ghz = 4.0;
  c.steadiness = 0.875;
  c.measured_at = "2026-01-31T12:00:00Z";
  return c;
}

class CeilingsCache : public testing::Test {
 protected:
  void save() { ASSERT_TRUE(save_ceilings(path_, key(), ceilings()).ok()); }
  std::optional<Ceilings> load() const { return load_ceilings(path_, key()); }
  void write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }

  static Json& ceilings_of(Json& file) { return file["entries"][0]["ceilings"]; }

  // The good file after a change to its JSON.
  bool loads_after(const std::function<void(Json&)>& change) {
    if (good_.empty()) {
      save();
      good_ = test::read_file(path_);
    }
    Json json = parse_json(good_).value();
    change(json);
    write(json_text(json));
    return load().has_value();
  }

  std::filesystem::path folder_ = test::scratch_dir("ceilings_cache");
  std::string path_ = (folder_ / "a" / "inferno" / "ceilings.json").string();
  std::string good_;  // the file as saved
};

TEST_F(CeilingsCache, GivesBackWhatWasSaved) {
  EXPECT_FALSE(load());
  save();
  const auto loaded = load();
  ASSERT_TRUE(loaded);
  EXPECT_TRUE(loaded->cached);
  EXPECT_EQ(ceilings_json(*loaded), ceilings_json(ceilings()));
  EXPECT_EQ(loaded->read(2), 20.25);
  EXPECT_EQ(loaded->peak("fp32", 2), 120.0);
  EXPECT_EQ(loaded->steadiness, 0.875);
}

TEST_F(CeilingsCache, AnotherKeysFiguresDoNotCount) {
  save();
  const auto loads_with = [&](const std::function<void(CeilingsKey&)>& change) {
    CeilingsKey other = key();
    change(other);
    return load_ceilings(path_, other).has_value();
  };
  EXPECT_TRUE(loads_with([](CeilingsKey&) {}));
  EXPECT_FALSE(loads_with([](CeilingsKey& k) { k.boot_id = "boot-2"; }));
  EXPECT_FALSE(loads_with([](CeilingsKey& k) { k.cpu = "Other CPU"; }));
  EXPECT_FALSE(loads_with([](CeilingsKey& k) { k.build = "0.1.0 Clang"; }));
  EXPECT_FALSE(loads_with([](CeilingsKey& k) { k.isas.push_back("avx2"); }));
  EXPECT_FALSE(loads_with([](CeilingsKey& k) { k.cpus = {0}; }));
  EXPECT_FALSE(loads_with([](CeilingsKey& k) { k.threads = 1; }));
}

TEST_F(CeilingsCache, FiguresOfSeveralKeysStandBesideEachOther) {
  save();
  CeilingsKey other = key();
  other.isas = {"generic", "avx2"};
  Ceilings faster = ceilings();
  faster.clock_ghz = 5;
  ASSERT_TRUE(save_ceilings(path_, other, faster).ok());
  ASSERT_TRUE(load());
  EXPECT_EQ(load()->clock_ghz, 4);
  EXPECT_EQ(load_ceilings(path_, other)->clock_ghz, 5);
  // The same key again takes the place of what was there.
  ASSERT_TRUE(save_ceilings(path_, key(), faster).ok());
  EXPECT_EQ(load()->clock_ghz, 5);
  EXPECT_EQ(parse_json(test::read_file(path_))->at("entries").size(), 2u);
}

TEST_F(CeilingsCache, TheOldestAndThoseOfAnEarlierStartGo) {
  CeilingsKey k = key();
  const auto save_as = [&] { ASSERT_TRUE(save_ceilings(path_, k, ceilings()).ok()); };
  save();
  for (unsigned cpu = 10; cpu < 25; ++cpu) {
    k.cpus = {cpu, cpu + 1};
    save_as();
  }
  EXPECT_TRUE(load()) << "the sixteenth";
  k.cpus = {30, 31};
  save_as();
  EXPECT_FALSE(load());
  k.boot_id = "boot-2";
  save_as();
  EXPECT_EQ(parse_json(test::read_file(path_))->at("entries").size(), 1u);
}

TEST(CeilingsBuild, EndsWithAHashOfWhatIsMeasured) {
  const std::string build = ceilings_build();
  const std::string hash = build.substr(build.rfind(' ') + 1);
  EXPECT_EQ(hash.size(), 16u) << build;
  EXPECT_EQ(hash.find_first_not_of("0123456789abcdef"), std::string::npos) << build;
}

TEST_F(CeilingsCache, WithoutABootIdNothingIsCached) {
  CeilingsKey unknown = key();
  unknown.boot_id = "";
  ASSERT_TRUE(save_ceilings(path_, unknown, ceilings()).ok());
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(CeilingsCache, EveryTruncatedFileIsMeasuredAnew) {
  save();
  const std::string text = test::read_file(path_);
  const size_t end = text.rfind('}');
  for (size_t length = 0; length <= end; ++length) {
    write(text.substr(0, length));
    ASSERT_FALSE(load()) << length;
  }
  write(text + "x");
  EXPECT_FALSE(load());
}

TEST_F(CeilingsCache, FiguresThatNoMachineHasAreRefused) {
  EXPECT_TRUE(loads_after([](Json&) {}));
  for (const Json& bad : {Json(0), Json(-1.0), Json(1e-300), Json(0.009), Json(1.1e9), Json(1e300),
                          Json("10"), Json(nullptr), Json::array(), Json::object(), Json(true)}) {
    EXPECT_FALSE(loads_after([&](Json& j) { ceilings_of(j)["clock_ghz"] = bad; })) << bad;
    const bool is_share = bad.is_number() && bad.get<double>() > 1e-9 && bad.get<double>() <= 1;
    EXPECT_EQ(loads_after([&](Json& j) { ceilings_of(j)["steadiness"] = bad; }), is_share) << bad;
    EXPECT_FALSE(loads_after([&](Json& j) { ceilings_of(j)["read_gb_per_s"][1] = bad; })) << bad;
    EXPECT_FALSE(loads_after([&](Json& j) { ceilings_of(j)["peaks"][0]["gops"] = bad; })) << bad;
  }
}

TEST_F(CeilingsCache, HostileFilesAreRefused) {
  for (const char* name : {"clock_ghz", "steadiness", "read_gb_per_s", "peaks", "measured_at"}) {
    EXPECT_FALSE(loads_after([&](Json& j) { ceilings_of(j).erase(name); })) << name;
    EXPECT_FALSE(loads_after([&](Json& j) { ceilings_of(j)[name] = Json::object(); })) << name;
    EXPECT_FALSE(loads_after([&](Json& j) { ceilings_of(j)[name] = Json::array(); })) << name;
  }
  EXPECT_FALSE(loads_after([](Json& j) { ceilings_of(j)["read_gb_per_s"].push_back(1.0); }));
  EXPECT_FALSE(loads_after([](Json& j) { ceilings_of(j)["measured_at"] = "2026-01-31T12:00:00\x1b"; }));
  for (const char* name : {"arithmetic", "isa", "threads", "gops"}) {
    EXPECT_FALSE(loads_after([&](Json& j) { ceilings_of(j)["peaks"][0].erase(name); })) << name;
  }
  EXPECT_FALSE(loads_after([](Json& j) { ceilings_of(j)["peaks"][0]["isa"] = "\x1b[2J"; }));
  EXPECT_FALSE(loads_after([](Json& j) { ceilings_of(j)["peaks"][0]["arithmetic"] = "fp31"; }));
  for (const Json& threads : {Json(0), Json(-1), Json(3), Json(1.5), Json(uint64_t{1} << 32 | 1)}) {
    EXPECT_FALSE(loads_after([&](Json& j) { ceilings_of(j)["peaks"][0]["threads"] = threads; })) << threads;
  }
  for (const std::string& text :
       {std::string(), std::string("\0", 1), std::string("null"), std::string("[]"), std::string("\xff\xfe"),
        std::string(100000, '['), std::string("{\"key\":") + std::string(100000, '[')}) {
    write(text);
    EXPECT_FALSE(load()) << text.size();
  }
}

TEST_F(CeilingsCache, WhatIsNoFileIsNotRead) {
  save();
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_FALSE(load());
  EXPECT_FALSE(save_ceilings(path_, key(), ceilings()).ok());
  std::filesystem::remove(path_);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_FALSE(load());  // and does not wait for a writer
  std::filesystem::remove(path_);
  std::ofstream(path_).close();
  std::filesystem::resize_file(path_, uint64_t{1} << 33);  // sparse
  EXPECT_FALSE(load());
}

TEST_F(CeilingsCache, AFolderThatCannotBeMadeIsAnErrorOfSavingAlone) {
  std::ofstream(folder_ / "a") << "a file";
  EXPECT_EQ(save_ceilings(path_, key(), ceilings()).error().code, ErrorCode::kIo);
  EXPECT_FALSE(load());
}

TEST_F(CeilingsCache, TheFolderIsTheOwnersAlone) {
  save();
  struct stat info {};
  ASSERT_EQ(::stat(std::filesystem::path(path_).parent_path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST(CeilingsCachePath, IsThatOfTheXdgSpecification) {
  ASSERT_EQ(::setenv("XDG_CACHE_HOME", "/x/cache", 1), 0);
  ASSERT_EQ(::setenv("HOME", "/x/me", 1), 0);
  EXPECT_EQ(ceilings_cache_path(), "/x/cache/inferno/ceilings.json");
  for (const char* unset : {"", "relative"}) {
    ASSERT_EQ(::setenv("XDG_CACHE_HOME", unset, 1), 0);
    EXPECT_EQ(ceilings_cache_path(), "/x/me/.cache/inferno/ceilings.json");
  }
  ASSERT_EQ(::setenv("HOME", "", 1), 0);
  EXPECT_EQ(ceilings_cache_path(), std::nullopt);
  ASSERT_EQ(::unsetenv("XDG_CACHE_HOME"), 0);
  ASSERT_EQ(::unsetenv("HOME"), 0);
}

}  // namespace
}  // namespace inferno::backend
