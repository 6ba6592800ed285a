// Models that are loaded with a repack cache: the same bits, and nothing that lies in its folder can hurt.
#include "model/repack.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/log.h"
#include "gguf/split.h"
#include "gguf/writer.h"
#include "support/forced_isa.h"
#include "support/load.h"
#include "support/shared_data.h"
#include "support/tiny_model.h"
#include "support/tiny_preset.h"

namespace inferno {
namespace {

namespace fs = std::filesystem;

class Repack : public testing::Test {
 protected:
  void SetUp() override { synthesize(DType::kQ8_0); }

  void synthesize(DType dtype, uint64_t seed = 0) {
    const auto made = model::write_synthetic(test::tiny_spec("qwen3-0.6b", dtype, seed), path_);
    ASSERT_TRUE(made) << made.error().message;
    touch(1'700'000'000);
  }
  void touch(time_t seconds) const {
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path_.c_str(), times, 0), 0);
  }

  model::LoadedModel load(const std::string& folder, const std::string& backend = "parallel",
                          model::TensorCheck check = model::TensorCheck::kAuto) {
    auto created = backend::create_backend(backend);
    EXPECT_TRUE(created.ok());
    auto loaded = model::load_from_gguf_path(path_, *created,
                                             {.tensor_check = check, .repack_cache = folder, .progress = {}});
    if (!loaded) throw std::runtime_error(loaded.error().message);
    return std::move(*loaded);
  }
  std::vector<float> logits(const std::string& folder) {
    const auto loaded = load(folder);
    EXPECT_EQ(loaded.warnings, std::vector<std::string>());
    return test::all_logits(*loaded.model, test::random_ids(20, 600, 1));
  }
  // Why the cache that is there is not used, or "" if it is used; a start that uses none writes it anew.
  std::string rejection() {
    std::string lines;
    EXPECT_TRUE(log::configure("inferno::model=warn"));
    log::set_sink([&](std::string_view line) { lines += line; });
    EXPECT_EQ(logits(folder_), logits("")) << "whatever lies there";
    log::set_sink({});
    EXPECT_TRUE(log::configure("off"));
    return lines;
  }
  std::vector<fs::path> caches() const {
    std::vector<fs::path> files;
    if (!fs::exists(folder_)) return files;
    for (const auto& entry : fs::directory_iterator(folder_)) files.push_back(entry.path());
    return files;
  }

  // What a cache of the model holds, and where.
  struct Kept {
    bool is_matrix;
    std::ptrdiff_t begin, bytes;
  };
  backend::RepackFile opened(const fs::path& cache) const {
    const auto file = gguf::File::open(path_);
    const auto backend = backend::create_backend("parallel");
    return backend::RepackFile::open(cache.string(), model::repack_key(*file, **backend).value()).value();
  }
  std::vector<backend::RepackedMatrix> kept_matrices(const fs::path& cache) const {
    std::vector<backend::RepackedMatrix> matrices;
    const backend::RepackFile file = opened(cache);
    for (const backend::RepackedMatrix& kept : file.matrices()) {
      if (kept.dtype) matrices.push_back(kept);
    }
    return matrices;
  }
  std::vector<Kept> kept_in(const fs::path& cache) const {
    const backend::RepackFile file = opened(cache);
    std::vector<Kept> all;
    for (const backend::RepackedMatrix& kept : file.matrices()) {
      all.push_back({kept.dtype.has_value(), kept.bytes.data() - file.mapping()->bytes().data(),
                     static_cast<std::ptrdiff_t>(kept.bytes.size())});
    }
    return all;
  }

  fs::path dir_ = test::scratch_dir("repack");
  std::string path_ = (dir_ / "tiny model.gguf").string();
  std::string folder_ = (dir_ / "cache").string();
};

TEST_F(Repack, TheScreenOfTheHeadIsKeptToo) {
  const auto start = [&](bool screen) {
    using backend::ScreenedHeads;
    const ScreenedHeads heads = screen ? ScreenedHeads::kAll : ScreenedHeads::kNone;
    const auto backend = backend::create_backend("parallel", {.screened_heads = heads}).value();
    const auto loaded = model::load_from_gguf_path(path_, backend, {.repack_cache = folder_}).value();
    EXPECT_EQ(backend->has_screen(loaded.model->weights().output), screen);
    EXPECT_EQ(loaded.warnings, std::vector<std::string>());
    engine::Request request{.prompt_ids = test::random_ids(9, 600, 2), .max_new_tokens = 20};
    metrics::Metrics metrics;
    const auto generated = engine::generate(*loaded.model, loaded.tokenizer, request, metrics).value();
    EXPECT_EQ(generated.head_screen.passes > 0, screen);
    return generated.ids;
  };
  // A small head in Q8_0 lies in another way where it is screened.
  EXPECT_EQ(start(true), start(false));
  EXPECT_EQ(start(false), start(true));
  EXPECT_EQ(caches().size(), 1u);
  fs::remove_all(folder_);
  // A copy comes beside the head.
  synthesize(DType::kF16);
  const std::vector<int32_t> ids = start(false);
  ASSERT_EQ(caches().size(), 1u);
  const auto without = fs::file_size(caches().front());
  EXPECT_EQ(start(true), ids);
  const auto with = fs::file_size(caches().front());
  EXPECT_GT(with, without);
  const auto written = fs::last_write_time(caches().front());
  EXPECT_EQ(start(true), ids);
  EXPECT_EQ(start(false), ids);
  EXPECT_EQ(fs::last_write_time(caches().front()), written) << "nothing in it was missing";
  EXPECT_EQ(fs::file_size(caches().front()), with);
}

TEST_F(Repack, LogitsAreTheSameBitByBit) {
  for (const DType dtype : {DType::kQ8_0, DType::kQ4_K, DType::kF16, DType::kBF16, DType::kQ8_K}) {
    SCOPED_TRACE(name(dtype));
    fs::remove_all(folder_);
    synthesize(dtype);
    const std::vector<float> without = logits("");
    const std::vector<float> first = logits(folder_);
    EXPECT_EQ(caches().size(), dtype == DType::kQ8_K ? 0u : 1u) << "Q8_K has no panels";
    const std::vector<float> second = logits(folder_);
    ASSERT_EQ(without.size(), first.size());
    EXPECT_EQ(std::memcmp(without.data(), first.data(), without.size() * sizeof(float)), 0);
    EXPECT_EQ(std::memcmp(without.data(), second.data(), without.size() * sizeof(float)), 0);
  }
}

TEST_F(Repack, TheSecondStartReadsTheFileAndLeavesIt) {
  load(folder_);
  ASSERT_EQ(caches().size(), 1u);
  const fs::path cache = caches().front();
  EXPECT_TRUE(cache.filename().string().starts_with("tiny_model-")) << cache;
  const std::string good = test::read_file(cache);
  // A weight that says whether it is read: scales of 0 give other logits, which the first start did not have.
  const std::vector<float> before = logits("");
  std::string changed = good;
  for (const Kept& kept : kept_in(cache)) {
    if (kept.is_matrix) std::fill_n(changed.begin() + kept.begin, kept.bytes, '\0');
  }
  std::ofstream(cache, std::ios::binary) << changed;
  EXPECT_NE(logits(folder_), before);
  EXPECT_EQ(test::read_file(cache), changed);
  auto backend = backend::create_backend("parallel");
  const auto file = gguf::File::open(path_);
  ASSERT_TRUE(file && backend);
  const Status checked = model::check_repack_cache(folder_, *file, **backend, {});
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message.find("its bytes are damaged"), std::string::npos);
  std::ofstream(cache, std::ios::binary) << good;
  EXPECT_TRUE(model::check_repack_cache(folder_, *file, **backend, {}));
}

TEST_F(Repack, TheTokenizerIsKeptToo) {
  const auto ids_of = [](const model::LoadedModel& loaded) {
    return loaded.tokenizer->encode("a text of some words, and \u00e9\u4f60").value();
  };
  const std::vector<int32_t> ids = ids_of(load(""));
  EXPECT_EQ(ids_of(load(folder_)), ids);
  ASSERT_EQ(caches().size(), 1u);
  const fs::path cache = caches().front();
  const auto written = fs::last_write_time(cache) - std::chrono::hours(1);
  fs::last_write_time(cache, written);
  EXPECT_EQ(ids_of(load(folder_)), ids);
  EXPECT_EQ(fs::last_write_time(cache), written) << "what was kept has been used, or it would be there anew";

  const auto kept = kept_in(cache);
  const auto tables = std::find_if(kept.begin(), kept.end(), [](const Kept& k) { return !k.is_matrix; });
  ASSERT_NE(tables, kept.end());
  std::string changed = test::read_file(cache);
  changed[static_cast<size_t>(tables->begin + tables->bytes / 2)] ^= 1;
  std::ofstream(cache, std::ios::binary) << changed;
  const auto mended = load(folder_);
  EXPECT_EQ(mended.warnings,
            std::vector<std::string>{"the repack cache was damaged and is made anew: " + cache.string()});
  EXPECT_EQ(ids_of(mended), ids);
  EXPECT_EQ(rejection(), "");
  EXPECT_EQ(ids_of(load(folder_)), ids);
}

// They are whole, but those of another version of the program.
TEST_F(Repack, TablesOfATokenizerThatAreRefusedAreMadeAnew) {
  load(folder_);
  const fs::path cache = caches().front();
  {
    const auto file = gguf::File::open(path_);
    const auto backend = backend::create_backend("parallel");
    backend::RepackCache kept(cache.string(), model::repack_key(*file, **backend).value());
    const auto found = kept.find_bytes("tokenizer tables");
    std::vector<std::byte> tables(found.begin(), found.end());
    ASSERT_FALSE(tables.empty());
    tables[0] ^= std::byte{0x80};
    for (const backend::RepackedMatrix& m : kept_matrices(cache)) {
      const Tensor shape{.dtype = *m.dtype, .n_dims = 2, .shape = {m.rows, m.cols}};
      ASSERT_NE(kept.find(m.name, shape, m.bytes.size()), nullptr);  // of its size alone, which stays
    }
    kept.add_bytes("tokenizer tables", tables);
    ASSERT_TRUE(kept.save());
  }
  EXPECT_NE(rejection().find("the tables of its tokenizer that were kept are damaged"), std::string::npos);
  const auto written = fs::last_write_time(cache);
  EXPECT_EQ(rejection(), "");
  EXPECT_EQ(fs::last_write_time(cache), written) << "only once";
}

TEST_F(Repack, AChangedModelHasItsCacheMadeAnew) {
  load(folder_);
  EXPECT_EQ(rejection(), "");
  touch(1'700'000'001);
  EXPECT_NE(rejection().find("the model was written anew"), std::string::npos);
  EXPECT_EQ(rejection(), "");

  // Another weight in the middle of a tensor, behind the same size, time and header.
  {
    const auto file = gguf::File::open(path_);
    ASSERT_TRUE(file);
    const gguf::TensorInfo& info = *file->find_tensor("blk.1.ffn_up.weight");
    std::fstream out(path_, std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(static_cast<std::streamoff>(info.file_offset + info.tensor.bytes() / 2));
    out.put(static_cast<char>(info.tensor.as<const char>()[info.tensor.bytes() / 2] ^ 1));
  }
  touch(1'700'000'001);
  EXPECT_NE(rejection().find("the model's weights have changed"), std::string::npos);
  EXPECT_EQ(rejection(), "");

  // Another header of the same length.
  {
    const std::string text = test::read_file(path_);
    const size_t at = text.find("general.name") + 12 + 4 + 8;
    std::fstream out(path_, std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(static_cast<std::streamoff>(at));
    out.put('x');
  }
  touch(1'700'000'001);
  EXPECT_NE(rejection().find("the model's header has changed"), std::string::npos);
  EXPECT_EQ(rejection(), "");

  synthesize(DType::kQ4_0);
  EXPECT_NE(rejection().find("the model's size has changed"), std::string::npos);
  EXPECT_EQ(rejection(), "");
  EXPECT_EQ(caches().size(), 1u) << "each has taken the place of the one before";
}

TEST_F(Repack, ADamagedCacheIsMadeAnew) {
  load(folder_);
  const fs::path cache = caches().front();
  fs::resize_file(cache, fs::file_size(cache) / 2);
  EXPECT_NE(rejection().find("bytes, found"), std::string::npos);
  EXPECT_EQ(rejection(), "");
  std::ofstream(cache, std::ios::binary) << "what is this?";
  EXPECT_NE(rejection().find("expected at least 128 bytes, found 13"), std::string::npos);
  EXPECT_EQ(rejection(), "");
}

TEST_F(Repack, EachIsaHasItsOwn) {
  const std::string best = backend::create_backend("parallel").value()->info().isa;
  load(folder_);
  const test::ForcedIsa forced("generic");
  load(folder_);
  EXPECT_EQ(caches().size(), best == "generic" ? 1u : 2u);
  EXPECT_EQ(rejection(), "");
}

TEST_F(Repack, AModelInSeveralFilesHasOne) {
  const auto whole = gguf::File::open(path_);
  ASSERT_TRUE(whole);
  const auto part = [&](uint64_t number) { return gguf::shard_path({(dir_ / "split").string(), number, 2}); };
  const size_t n = whole->tensors().size();
  for (const uint64_t number : {1, 2}) {
    gguf::Writer writer;
    if (number == 1) {
      for (const auto& [key, value] : whole->metadata()) writer.add(key, value);
    }
    writer.add("split.no", static_cast<uint32_t>(number - 1));
    writer.add("split.count", uint32_t{2});
    writer.add("split.tensors.count", static_cast<int32_t>(n));
    for (size_t i = number == 1 ? 0 : n / 2; i < (number == 1 ? n / 2 : n); ++i) {
      const Tensor& t = whole->tensors()[i].tensor;
      writer.add_tensor(whole->tensors()[i].name, t.dtype,
                        std::span(t.shape).first(static_cast<size_t>(t.n_dims)),
                        {t.as<const std::byte>(), t.bytes()});
    }
    ASSERT_TRUE(writer.save(part(number)));
  }
  const std::vector<float> expected = logits("");
  path_ = part(2);
  EXPECT_EQ(logits(folder_), expected);
  EXPECT_EQ(caches().size(), 1u);
  path_ = part(1);
  EXPECT_EQ(rejection(), "") << "whichever file is given";
  EXPECT_EQ(caches().size(), 1u);
  path_ = part(2);
  touch(1'600'000'000);
  EXPECT_NE(rejection().find("the model was written anew"), std::string::npos) << "each file counts";
}

TEST_F(Repack, WhereNothingCanBeKeptAWarningSaysWhy) {
  EXPECT_EQ(load(folder_, "scalar").warnings,
            std::vector<std::string>{"no repack cache: --backend scalar does not repack weights"});
  const std::vector<std::byte> bytes = test::TinyModel({}).bytes();
  auto file = gguf::File::from_memory(bytes, "tiny.gguf");
  ASSERT_TRUE(file);
  auto backend = backend::create_backend("parallel");
  const auto loaded =
      model::load_from_gguf(std::move(*file), *backend, {.repack_cache = folder_, .progress = {}});
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->warnings, std::vector<std::string>{"no repack cache: tiny.gguf is in no file"});
  EXPECT_EQ(caches().size(), 0u);
}

TEST_F(Repack, AModelThatBecameShorterSinceItWasOpenedHasNoCache) {
  const auto file = gguf::File::open(path_);
  ASSERT_TRUE(file);
  const auto backend = backend::create_backend("parallel");
  const uintmax_t size = fs::file_size(path_);
  fs::resize_file(path_, size - size / 4);  // header and directory are whole
  std::vector<std::string> warnings;
  EXPECT_EQ(
      model::open_repack_cache(folder_, *file, **backend, backend::RepackCache::Bytes::kTrusted, warnings),
      nullptr);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(warnings[0].starts_with("no repack cache: " + path_ + ": has ")) << warnings[0];
  EXPECT_NE(warnings[0].find(fmt::format("expected {} as when it was opened", size)), std::string::npos)
      << warnings[0];
  const Status checked = model::check_repack_cache(folder_, *file, **backend, {});
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().code, ErrorCode::kIo);
  EXPECT_EQ(checked.error().message, warnings[0].substr(std::string("no repack cache: ").size()));
}

TEST_F(Repack, AFolderThatCannotBeWrittenIsAWarning) {
  const std::string file = (dir_ / "file").string();
  std::ofstream(file) << "x";
  const auto loaded = load(file + "/cache");
  ASSERT_EQ(loaded.warnings.size(), 1u);
  EXPECT_TRUE(loaded.warnings[0].starts_with("no repack cache was written: " + file)) << loaded.warnings[0];
  EXPECT_EQ(test::all_logits(*loaded.model, test::random_ids(20, 600, 1)), logits(""));
}

// The check for NaN reads all weights: a cache remembers that all was well, and nothing else.
TEST_F(Repack, WhatWasFoundFiniteIsNotReadAgain) {
  const auto cache_knows = [&] {
    const auto file = gguf::File::open(path_);
    const auto backend = backend::create_backend("parallel");
    std::vector<std::string> warnings;
    return model::open_repack_cache(folder_, *file, **backend, backend::RepackCache::Bytes::kTrusted,
                                    warnings)
        ->weights_are_finite();
  };
  load(folder_, "parallel", model::TensorCheck::kNone);
  EXPECT_FALSE(cache_knows());
  load(folder_);
  EXPECT_TRUE(cache_knows()) << "it learns it later, too";
  fs::remove_all(folder_);
  load(folder_, "parallel", model::TensorCheck::kStrict);
  EXPECT_TRUE(cache_knows());

  {
    const auto file = gguf::File::open(path_);
    const gguf::TensorInfo& info = *file->find_tensor("output_norm.weight");
    std::fstream out(path_, std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(static_cast<std::streamoff>(info.file_offset));
    const float infinite = std::numeric_limits<float>::infinity();
    out.write(reinterpret_cast<const char*>(&infinite), 4);
  }
  for (int start = 0; start < 2; ++start) {
    const auto loaded = load(folder_);
    ASSERT_EQ(loaded.warnings.size(), 1u) << start;
    EXPECT_NE(loaded.warnings[0].find("output_norm.weight"), std::string::npos);
    EXPECT_FALSE(cache_knows());
  }
}

}  // namespace
}  // namespace inferno
