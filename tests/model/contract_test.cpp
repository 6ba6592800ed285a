// The numerics contract: the logits of a sequence are a function of its own tokens alone, bit by bit,
// whatever the batch around it and however its prompt was cut.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>

#include "backend/cpu_isa.h"
#include "base/cpu_features.h"
#include "base/page_mover.h"
#include "kv/basic_kv_cache.h"
#include "models/demo/demo_model.h"
#include "support/forced_isa.h"
#include "support/huge_pages.h"
#include "support/load.h"
#include "support/tiny_model.h"
#include "support/tiny_preset.h"

namespace inferno {
namespace {

struct Piece {
  int32_t seq;
  size_t begin, end;  // tokens of that sequence
};

using Step = std::vector<Piece>;  // what one batch holds

// Runs the steps and returns the logits of every token of every sequence, by sequence.
std::vector<std::vector<float>> run(model::Model& model, const std::vector<std::vector<int32_t>>& sequences,
                                    const std::vector<Step>& steps, DType kv_type,
                                    int64_t n_positions = 400) {
  auto cache = kv::BasicKvCache::create(
      model.backend(), model.kv_config(kv_type, static_cast<int64_t>(sequences.size()), n_positions));
  EXPECT_TRUE(cache.ok());
  const auto vocab = static_cast<size_t>(model.config().vocab_size);
  std::vector<std::vector<float>> logits(sequences.size());
  for (const Step& step : steps) {
    model::Batch batch;
    for (const Piece& piece : step) {
      const auto tokens =
          std::span(sequences[static_cast<size_t>(piece.seq)]).subspan(piece.begin, piece.end - piece.begin);
      batch.append(**cache, piece.seq, tokens, static_cast<int64_t>(piece.begin), model::Batch::Logits::kAll);
    }
    auto result = model.forward(batch, **cache);
    EXPECT_TRUE(result.ok());
    std::vector<float> values(static_cast<size_t>(result->values.n_elements()));
    EXPECT_TRUE(model.backend().download(values.data(), result->values.data, result->values.bytes()).ok());
    const float* rows = values.data();
    for (const Piece& piece : step) {
      auto& own = logits[static_cast<size_t>(piece.seq)];
      own.insert(own.end(), rows, rows + (piece.end - piece.begin) * vocab);
      rows += (piece.end - piece.begin) * vocab;
    }
  }
  return logits;
}

void expect_same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
}

class Contract : public testing::TestWithParam<std::tuple<std::string, DType, std::string>> {
 protected:
  void SetUp() override {
    const auto& [arch, kv_type, backend] = GetParam();
    const bool windows = arch == "gemma3";
    bytes_ = test::TinyModel({.arch = arch,
                              .n_layers = windows ? 7u : 2u,
                              .dim = 24,
                              .n_heads = 6,
                              .n_kv_heads = 2,
                              .head_dim = kv_type == DType::kQ8_0 ? 32u : 10u,  // whole blocks
                              .hidden_dim = 40,
                              .window = windows ? 9u : 0u})
                 .bytes();
    loaded_ = test::load_bytes(bytes_, backend);
    kv_type_ = kv_type;
    sequences_ = {test::random_ids(290, 300, 1), test::random_ids(31, 300, 2), test::random_ids(64, 300, 3)};
    alone_ = run(*loaded_.model, sequences_, {{{0, 0, 290}}, {{1, 0, 31}}, {{2, 0, 64}}}, kv_type_);
  }

  std::vector<std::byte> bytes_;
  model::LoadedModel loaded_;
  DType kv_type_ = DType::kF32;
  std::vector<std::vector<int32_t>> sequences_;
  std::vector<std::vector<float>> alone_;
};

TEST_P(Contract, PrefillInChunks) {
  for (const size_t chunk : {size_t{1}, size_t{7}, size_t{16}, size_t{255}, size_t{256}, size_t{257}}) {
    std::vector<Step> steps;
    for (size_t begin = 0; begin < 290; begin += chunk)
      steps.push_back({{0, begin, std::min<size_t>(290, begin + chunk)}});
    expect_same_bits(run(*loaded_.model, {sequences_[0]}, steps, kv_type_)[0], alone_[0]);
  }
}

TEST_P(Contract, OthersInTheBatch) {
  const auto together = run(*loaded_.model, sequences_, {{{2, 0, 64}, {0, 0, 290}, {1, 0, 31}}}, kv_type_);
  for (size_t s = 0; s < sequences_.size(); ++s) expect_same_bits(together[s], alone_[s]);
}

TEST_P(Contract, DecodeBesidePrefill) {
  std::vector<Step> steps = {
      {{1, 0, 20}}, {{1, 20, 21}, {0, 0, 100}}, {{0, 100, 101}, {1, 21, 22}, {2, 0, 63}}};
  steps.push_back({{1, 22, 31}, {2, 63, 64}, {0, 101, 290}});
  const auto mixed = run(*loaded_.model, sequences_, steps, kv_type_);
  for (size_t s = 0; s < sequences_.size(); ++s) expect_same_bits(mixed[s], alone_[s]);
}

TEST_P(Contract, WithoutTheCacheTheSameTokensAndTheSameText) {
  engine::Request request{
      .prompt_ids = sequences_[1], .max_new_tokens = 24, .ignore_end = true, .kv_type = kv_type_};
  metrics::Metrics metrics;
  const auto with = engine::generate(*loaded_.model, loaded_.tokenizer, request, metrics);
  request.use_kv_cache = false;
  const auto without = engine::generate(*loaded_.model, loaded_.tokenizer, request, metrics);
  ASSERT_TRUE(with.ok() && without.ok());
  EXPECT_EQ(with->ids, without->ids);
  EXPECT_EQ(with->text, without->text);
}

// Fewer KV heads than threads: a position's chunks are shared among them in decode.
class FewKvHeadsContract : public testing::TestWithParam<std::tuple<std::string, uint32_t>> {};

TEST_P(FewKvHeadsContract, ThreadsChangeNoBit) {
  const auto& [arch, n_kv_heads] = GetParam();
  const bool windows = arch == "gemma3";
  const auto bytes = test::TinyModel({.arch = arch,
                                      .n_layers = windows ? 7u : 2u,
                                      .n_heads = 6,
                                      .n_kv_heads = n_kv_heads,
                                      .head_dim = 32,
                                      .window = windows ? 300u : 0u})
                         .bytes();
  const std::vector<int32_t> ids = test::random_ids(390, 300, 6);
  std::vector<Step> steps = {{{0, 0, 250}}};
  for (size_t i = 250; i < 264; ++i) steps.push_back({{0, i, i + 1}});
  steps.push_back({{0, 264, 382}});
  steps.push_back({{0, 382, 385}});
  for (size_t i = 385; i < 390; ++i) steps.push_back({{0, i, i + 1}});
  for (const DType kv_type : kv::kTypes) {
    const model::LoadedModel one = test::load_bytes(bytes, "simd");
    const std::vector<float> alone = run(*one.model, {ids}, {{{0, 0, 390}}}, kv_type)[0];
    for (const unsigned threads : {2u, 3u, 8u}) {
      SCOPED_TRACE(fmt::format("{} {} threads", name(kv_type), threads));
      const auto backend = *backend::create_backend("parallel", {.threads = threads});
      const auto loaded = *model::load_from_gguf(*gguf::File::from_memory(bytes, "tiny.gguf"), backend);
      expect_same_bits(run(*loaded.model, {ids}, steps, kv_type)[0], alone);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, FewKvHeadsContract,
                         testing::Combine(testing::Values("qwen3", "gemma3"), testing::Values(1u, 2u)),
                         [](const auto& case_info) {
                           return fmt::format("{}_{}", std::get<0>(case_info.param),
                                              std::get<1>(case_info.param));
                         });

// Keys and values that no cache is taken to keep (256 KiB a layer) are read in each way in turn, one of them
// a pipeline over heads: in turns of several heads, of one (3 threads), and of more sequences than one.
TEST(PipelineContract, WaysOfReadingKeysAndValuesChangeNoBit) {
  const auto bytes =
      test::TinyModel({.arch = "qwen3", .n_layers = 2, .n_heads = 8, .n_kv_heads = 4, .head_dim = 64})
          .bytes();
  const std::vector<std::vector<int32_t>> sequences = {test::random_ids(340, 300, 6),
                                                       test::random_ids(330, 300, 7)};
  std::vector<Step> steps = {{{0, 0, 320}}, {{1, 0, 320}}};
  for (size_t i = 320; i < 340; ++i) steps.push_back({{0, i, i + 1}});
  for (size_t i = 320; i < 330; ++i) steps.push_back({{1, i, i + 1}});
  std::vector<Step> together = {{{0, 0, 320}}, {{1, 0, 320}}};
  for (size_t i = 320; i < 330; ++i) together.push_back({{0, i, i + 1}, {1, i, i + 1}});
  together.push_back({{0, 330, 340}});
  const model::LoadedModel one = test::load_bytes(bytes, "simd");
  const auto alone = run(*one.model, sequences, {{{0, 0, 340}}, {{1, 0, 330}}}, DType::kF16);
  for (const unsigned threads : {1u, 2u, 3u}) {
    SCOPED_TRACE(fmt::format("{} threads", threads));
    for (const auto& each : {steps, together}) {
      const auto backend = *backend::create_backend("parallel", {.threads = threads});
      const auto loaded = *model::load_from_gguf(*gguf::File::from_memory(bytes, "tiny.gguf"), backend);
      const auto logits = run(*loaded.model, sequences, each, DType::kF16);
      for (size_t s = 0; s < sequences.size(); ++s) expect_same_bits(logits[s], alone[s]);
    }
  }
}

// Five chunks of positions, the last of six; heads that are no power of two, and the largest.
TEST(LongContract, ManyChunksChangeNoBit) {
  for (const uint32_t head_dim : {48u, 80u, 256u}) {
    const auto bytes = test::TinyModel({.n_layers = 1, .head_dim = head_dim, .context_length = 1030}).bytes();
    const std::vector<int32_t> ids = test::random_ids(1030, 300, 6);
    std::vector<Step> steps = {{{0, 0, 500}}, {{0, 500, 767}}, {{0, 767, 1020}}};
    for (size_t i = 1020; i < 1030; ++i) steps.push_back({{0, i, i + 1}});
    const model::LoadedModel one = test::load_bytes(bytes, "simd");
    const auto alone =
        run(*one.model, {ids}, {{{0, 0, 512}}, {{0, 512, 1024}}, {{0, 1024, 1030}}}, DType::kF16, 1030);
    for (const unsigned threads : {1u, 2u, 3u, 8u}) {
      SCOPED_TRACE(fmt::format("heads of {}, {} threads", head_dim, threads));
      const auto backend = *backend::create_backend("parallel", {.threads = threads});
      const auto loaded = *model::load_from_gguf(*gguf::File::from_memory(bytes, "tiny.gguf"), backend);
      expect_same_bits(run(*loaded.model, {ids}, steps, DType::kF16, 1030)[0], alone[0]);
    }
  }
}

TEST(LongContract, NorDoThirtyTwoThousandPositions) {
  constexpr size_t kPositions = 32'768;
  const auto bytes = test::TinyModel({.arch = "llama",
                                      .n_layers = 1,
                                      .n_heads = 2,
                                      .n_kv_heads = 1,
                                      .head_dim = 16,
                                      .context_length = kPositions})
                         .bytes();
  const std::vector<int32_t> ids = test::random_ids(kPositions, 300, 6);
  const auto in_pieces_of = [](size_t piece, size_t end) {
    std::vector<Step> steps;
    for (size_t begin = 0; begin < end; begin += piece)
      steps.push_back({{0, begin, std::min(end, begin + piece)}});
    return steps;
  };
  const model::LoadedModel one = test::load_bytes(bytes, "simd");
  const auto alone = run(*one.model, {ids}, in_pieces_of(512, kPositions), DType::kF16, kPositions);
  std::vector<Step> steps = in_pieces_of(500, kPositions - 5);
  for (size_t i = kPositions - 5; i < kPositions; ++i) steps.push_back({{0, i, i + 1}});
  const auto backend = *backend::create_backend("parallel", {.threads = 3});
  const auto loaded = *model::load_from_gguf(*gguf::File::from_memory(bytes, "tiny.gguf"), backend);
  expect_same_bits(run(*loaded.model, {ids}, steps, DType::kF16, kPositions)[0], alone[0]);
}

// Keys and values that are large enough for it are moved into huge pages while passes read and write them.
TEST(LongContract, MemoryThatIsMovedChangesNoBit) {
  const auto bytes = test::TinyModel({.n_heads = 8, .n_kv_heads = 8, .head_dim = 256}).bytes();
  constexpr int64_t kPositions = 500;
  constexpr int64_t kCapacity = 10'000;  // 320 MB: less may be in huge pages from the start (LargeMemory)
  const std::vector<int32_t> ids = test::random_ids(kPositions, 300, 6);
  const auto loaded = test::load_bytes(bytes, "parallel");
  const auto cache =
      *kv::BasicKvCache::create(loaded.model->backend(), loaded.model->kv_config(DType::kF32, 1, kCapacity));
  const auto logits_of = [&](size_t begin, size_t end) {
    model::Batch batch;
    batch.append(*cache, 0, std::span(ids).subspan(begin, end - begin), static_cast<int64_t>(begin),
                 model::Batch::Logits::kAll);
    const auto result = loaded.model->forward(batch, *cache);
    EXPECT_TRUE(result.ok());
    const auto* values = static_cast<const float*>(result->values.data);
    return std::vector<float>(values, values + result->values.n_elements());
  };
  const std::vector<float> first = logits_of(0, kPositions);
  const auto n_last = static_cast<size_t>(20 * loaded.model->config().vocab_size);
  const std::vector<float> last(first.end() - static_cast<ptrdiff_t>(n_last), first.end());

  const auto huge_bytes = [&] { return test::huge_bytes(cache->layer(0).k, cache->bytes()); };
  const size_t before = huge_bytes();
  std::vector<std::byte> probe(2 * PageMover::kHugePage);
  const auto address = reinterpret_cast<uintptr_t>(probe.data());
  const bool is_possible = test::can_make_huge(
      probe.data() + (PageMover::kHugePage - address % PageMover::kHugePage) % PageMover::kHugePage);
  bool is_moved = false;
  const auto start = std::chrono::steady_clock::now();
  while (is_possible && !is_moved && std::chrono::steady_clock::now() - start < std::chrono::minutes(1)) {
    for (int i = 0; i < 20; ++i) expect_same_bits(logits_of(kPositions - 20, kPositions), last);
    is_moved = huge_bytes() > before;
  }
  if (!is_possible) GTEST_SKIP() << "this system moves no pages (Linux 6.1 and free huge pages of 2 MiB)";
  EXPECT_TRUE(is_moved);
  expect_same_bits(logits_of(0, kPositions), first);
}

// What follows a product of few rows is done in parts by whoever made them: heads, and 128 rows of gate and
// up, of which 224 are less than two. Also of several sequences, and of a type without panels (Q8_K).
TEST(PartsContract, SequencesThatDecodeTogetherChangeNoBit) {
  std::vector<Step> steps = {{{0, 0, 20}, {1, 0, 3}, {2, 0, 11}}};
  steps.push_back({{0, 20, 21}, {1, 3, 4}, {2, 11, 14}});
  for (size_t i = 0; i < 6; ++i) steps.push_back({{1, 4 + i, 5 + i}, {0, 21 + i, 22 + i}});
  steps.push_back({{2, 14, 21}});
  const std::vector<std::vector<int32_t>> sequences = {
      test::random_ids(27, 300, 7), test::random_ids(10, 300, 8), test::random_ids(21, 300, 9)};
  for (const auto& [dtype, hidden] :
       {std::pair(DType::kQ8_0, 224), {DType::kF16, 232}, {DType::kBF16, 232}, {DType::kQ8_K, 256}}) {
    model::SyntheticSpec spec = test::tiny_spec("qwen3-0.6b", dtype);
    spec.preset.hidden_dim = hidden;
    const auto load = [&](const std::string& name, unsigned threads) {
      auto backend = *backend::create_backend(name, {.threads = threads});
      return *model::load_from_gguf(*model::synthesize(spec), backend);
    };
    const auto alone = load("simd", 0);
    const std::vector<Step> whole = {{{0, 0, 27}}, {{1, 0, 10}}, {{2, 0, 21}}};
    const auto expected = run(*alone.model, sequences, whole, DType::kF16);
    for (const unsigned threads : {1u, 2u, 3u, 8u}) {
      SCOPED_TRACE(fmt::format("{} {} threads", name(dtype), threads));
      const auto loaded = load("parallel", threads);
      const auto together = run(*loaded.model, sequences, steps, DType::kF16);
      for (size_t s = 0; s < sequences.size(); ++s) expect_same_bits(together[s], expected[s]);
    }
  }
}

// The demo model's weights are quantized: activations are too, and the threads share every product.
class QuantizedContract : public testing::TestWithParam<const kernels::CpuIsa*> {
 protected:
  static model::LoadedModel load(unsigned threads) {
    auto file = gguf::File::from_memory(demo::model_bytes(), demo::kModelName);
    EXPECT_TRUE(file.ok());
    auto backend = backend::create_backend("parallel", {.threads = threads});
    EXPECT_TRUE(backend.ok());
    return *model::load_from_gguf(std::move(*file), *backend);
  }

  void expect_same_bits_whatever(const std::vector<unsigned>& threads, const std::vector<size_t>& chunks,
                                 DType kv_type) const {
    const model::LoadedModel one = load(1);
    const std::vector<float> alone = run(*one.model, {ids_}, {{{0, 0, 80}}}, kv_type)[0];
    for (const unsigned n_threads : threads) {
      const model::LoadedModel loaded = load(n_threads);
      for (const size_t chunk : chunks) {
        std::vector<Step> steps;
        for (size_t begin = 0; begin < 80; begin += chunk)
          steps.push_back({{0, begin, std::min<size_t>(80, begin + chunk)}});
        SCOPED_TRACE(fmt::format("{} threads, {} tokens at a time", n_threads, chunk));
        expect_same_bits(run(*loaded.model, {ids_}, steps, kv_type)[0], alone);
      }
    }
  }

  const test::ForcedIsa forced_{GetParam()->name};
  const std::vector<int32_t> ids_ = test::random_ids(80, 4000, 4);
};

TEST_P(QuantizedContract, ThreadsAndChunksChangeNoBit) {
  expect_same_bits_whatever({1, 2, 3, 5, 8}, {1, 3, 5, 6, 7, 8, 11, 12, 13, 17, 48, 80}, DType::kF16);
}

TEST_P(QuantizedContract, NorDoTheyInOtherTypesOfTheCache) {
  for (const DType kv_type : {DType::kF32, DType::kBF16, DType::kQ8_0}) {
    SCOPED_TRACE(std::string(name(kv_type)));
    expect_same_bits_whatever({2, 3}, {1, 7}, kv_type);
  }
}

INSTANTIATE_TEST_SUITE_P(On, QuantizedContract, testing::ValuesIn(backend::available_isas(cpu_features())),
                         [](const auto& case_info) { return std::string(case_info.param->name); });

INSTANTIATE_TEST_SUITE_P(
    Models, Contract,
    testing::Combine(testing::Values("qwen3", "llama", "gemma3"), testing::ValuesIn(kv::kTypes),
                     testing::ValuesIn(test::with_devices({"scalar", "simd", "parallel"}))),
    [](const auto& case_info) {
      return std::get<0>(case_info.param) + "_" + std::string(name(std::get<1>(case_info.param))) + "_" +
             std::get<2>(case_info.param);
    });

}  // namespace
}  // namespace inferno
