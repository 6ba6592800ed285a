// Logits and greedy tokens against exact float64 forwards of the same files: every family, every weight type.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "backend/cpu_isa.h"
#include "base/cpu_features.h"
#include "base/json.h"
#include "base/npy.h"
#include "models/demo/demo_model.h"
#include "support/compare.h"
#include "support/forced_isa.h"
#include "support/load.h"
#include "support/shared_data.h"
#include "support/tiny_model.h"

namespace inferno {
namespace {

// Tight enough that a tenfold epsilon, another GELU or a rope base off by 1 % fails; a bound of 1e-3 would
// let them by.
constexpr double kMaxNmse = 1e-10;

void expect_close(std::span<const float> actual, const npy::Array& exact, const std::string& what) {
  ASSERT_EQ(actual.size(), exact.data.size()) << what;
  EXPECT_LE(test::nmse(actual, exact.data), kMaxNmse) << what;
  const auto vocab = static_cast<size_t>(exact.shape[1]);
  for (size_t row = 0; row < static_cast<size_t>(exact.shape[0]); ++row) {
    EXPECT_EQ(test::argmax(actual.subspan(row * vocab, vocab)),
              test::argmax(std::span(exact.data).subspan(row * vocab, vocab)))
        << what << " at position " << row;
  }
}

std::vector<int32_t> greedy(const model::LoadedModel& loaded, const std::vector<int32_t>& prompt, int64_t n) {
  engine::Request request;
  request.prompt_ids = prompt;
  request.max_new_tokens = n;
  request.ignore_end = true;
  request.kv_type = DType::kF32;
  metrics::Metrics metrics;
  auto generated = engine::generate(*loaded.model, loaded.tokenizer, request, metrics);
  EXPECT_TRUE(generated.ok()) << (generated ? "" : generated.error().message);
  return generated ? generated->ids : std::vector<int32_t>();
}

void check_case(const Json& golden, const std::filesystem::path& folder, const std::string& backend) {
  SCOPED_TRACE(golden["model"].get<std::string>());
  const model::LoadedModel loaded =
      test::load_path((folder / golden["model"].get<std::string>()).string(), backend);

  const auto prompt = golden["prompt_ids"].get<std::vector<int32_t>>();
  const auto exact = npy::read((folder / golden["exact_logits"].get<std::string>()).string());
  ASSERT_TRUE(exact.ok()) << exact.error().message;
  expect_close(test::all_logits(*loaded.model, prompt), *exact, "prompt");

  const auto expected = golden["greedy_ids"].get<std::vector<int32_t>>();
  EXPECT_EQ(greedy(loaded, prompt, static_cast<int64_t>(expected.size())), expected);

  if (!golden.contains("long_prompt_ids")) return;
  const auto last = npy::read((folder / golden["long_exact_logits_last_8"].get<std::string>()).string());
  ASSERT_TRUE(last.ok()) << last.error().message;
  const std::vector<float> logits =
      test::all_logits(*loaded.model, golden["long_prompt_ids"].get<std::vector<int32_t>>());
  expect_close(std::span(logits).last(last->data.size()), *last, "long prompt");
}

// Activations are exact for floating-point weights, but rounded to BF16 for those in BF16 where the ISA says
// so; for others they are rounded to 8 bits in blocks of 32. So does llama.cpp (it takes blocks of 256 for
// the K types). `peer_nmse` is how far llama.cpp is from exact on the same file.
double max_cpu_nmse(const model::LoadedModel& loaded, const kernels::CpuIsa& isa, double peer_nmse) {
  const auto bf16 = static_cast<size_t>(DType::kBF16);
  const bool rounds_bf16 = backend::kernels_of(isa).matmul[bf16].x_form == kernels::XForm::kBf16;
  bool is_quantized = false;
  bool has_super_blocks = false;
  for (const gguf::TensorInfo& info : loaded.model->file().tensors()) {
    const uint32_t block = traits(info.tensor.dtype).block_elems;
    is_quantized = is_quantized || block > 1 || (rounds_bf16 && info.tensor.dtype == DType::kBF16);
    has_super_blocks = has_super_blocks || block == 256;
  }
  return !is_quantized ? kMaxNmse : has_super_blocks ? peer_nmse : 1.25 * peer_nmse;
}

// The prompt's logits on the CPU backend with every ISA that is here.
void check_cpu_backend(const Json& golden, const std::filesystem::path& folder) {
  const auto exact = npy::read((folder / golden["exact_logits"].get<std::string>()).string());
  ASSERT_TRUE(exact.ok()) << exact.error().message;
  const auto prompt = golden["prompt_ids"].get<std::vector<int32_t>>();
  for (const kernels::CpuIsa* isa : backend::available_isas(cpu_features())) {
    SCOPED_TRACE(isa->name);
    const test::ForcedIsa forced(isa->name);
    const model::LoadedModel loaded =
        test::load_path((folder / golden["model"].get<std::string>()).string(), "simd");
    const std::vector<float> logits = test::all_logits(*loaded.model, prompt);
    ASSERT_EQ(logits.size(), exact->data.size());
    EXPECT_LE(test::nmse(logits, exact->data), max_cpu_nmse(loaded, *isa, golden.value("peer_nmse", 0.0)));
  }
}

// Runs `check` on the golden of the file "folder/name.gguf".
template <class Check>
void with_golden(const std::string& path, const Check& check) {
  const std::string folder = path.substr(0, path.find('/'));
  const std::string file = path.substr(folder.size() + 1);
  REQUIRE_SHARED_DATA(folder + "/golden.json");
  REQUIRE_SHARED_DATA(path);
  const auto goldens = parse_json(test::read_file(test::shared_data(folder + "/golden.json"))).value();
  for (const auto& golden : goldens["cases"]) {
    if (golden["model"] == file) return check(golden, test::shared_data(folder));
  }
  FAIL() << "no golden for " << path;
}

std::string name_of(const std::string& path) {
  std::string name = path.substr(path.find('/') + 1);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
}

const std::vector<std::string> kFiles = {"golden/tiny-gemma3-f32.gguf",
                                         "golden/tiny-gemma3-q8_0.gguf",
                                         "golden/tiny-llama2-f32.gguf",
                                         "golden/tiny-llama3-f32.gguf",
                                         "golden/tiny-llama3-q8_0.gguf",
                                         "golden/tiny-qwen2-f32.gguf",
                                         "golden/tiny-qwen3-bf16.gguf",
                                         "golden/tiny-qwen3-f16.gguf",
                                         "golden/tiny-qwen3-f32.gguf",
                                         "golden/tiny-qwen3-iq4_nl.gguf",
                                         "golden/tiny-qwen3-iq4_xs.gguf",
                                         "golden/tiny-qwen3-mxfp4_moe.gguf",
                                         "golden/tiny-qwen3-q2_k.gguf",
                                         "golden/tiny-qwen3-q3_k_m.gguf",
                                         "golden/tiny-qwen3-q4_0.gguf",
                                         "golden/tiny-qwen3-q4_1.gguf",
                                         "golden/tiny-qwen3-q4_k_m.gguf",
                                         "golden/tiny-qwen3-q5_0.gguf",
                                         "golden/tiny-qwen3-q5_1.gguf",
                                         "golden/tiny-qwen3-q5_k_m.gguf",
                                         "golden/tiny-qwen3-q6_k.gguf",
                                         "golden/tiny-qwen3-q8_0.gguf",
                                         "golden/tiny-qwen3-wide-head-f32.gguf",
                                         "models/stories260K-f32.gguf",
                                         "demo/demo-tales-q8_0.gguf"};

// Those that leave activations unrounded.
class Golden : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(Golden, LogitsAndGreedyTokensEqualTheExactForward) {
  const std::string backend = std::get<1>(GetParam());
  with_golden(std::get<0>(GetParam()), [&](const Json& golden, const std::filesystem::path& folder) {
    check_case(golden, folder, backend);
  });
}

INSTANTIATE_TEST_SUITE_P(Files, Golden,
                         testing::Combine(testing::ValuesIn(kFiles),
                                          testing::ValuesIn(test::with_devices({"scalar"}))),
                         [](const auto& case_info) {
                           return name_of(std::get<0>(case_info.param)) + "_" + std::get<1>(case_info.param);
                         });

class CpuGolden : public testing::TestWithParam<std::string> {};

TEST_P(CpuGolden, LogitsAreAsCloseAsActivationsAllow) {
  with_golden(GetParam(), check_cpu_backend);
}

INSTANTIATE_TEST_SUITE_P(Files, CpuGolden, testing::ValuesIn(kFiles),
                         [](const auto& case_info) { return name_of(case_info.param); });

// Keys and values that are rounded leave logits close to those of a cache in F32: bounds are four times what
// was measured with the scalar backend, which rounds nothing else (8.6e-9, 1.0e-6, 1.3e-6). Where activations
// are rounded to 8 bits, the smallest change of one may be a whole step of what comes of it, in any type
// (2e-5 to 3.2e-5).
TEST(KvTypes, LogitsOfTheDemoModelStayCloseToThoseOfF32) {
  struct Bound {
    DType dtype;
    double scalar, simd;
  };
  constexpr std::array kBounds = {Bound{DType::kF16, 3.5e-8, 1e-4}, Bound{DType::kBF16, 4e-6, 1e-4},
                                  Bound{DType::kQ8_0, 5e-6, 1.3e-4}};
  const std::vector<int32_t> ids = test::random_ids(100, 4000, 5);
  for (const std::string backend : {"scalar", "simd"}) {
    auto file = gguf::File::from_memory(demo::model_bytes(), demo::kModelName);
    ASSERT_TRUE(file.ok());
    const model::LoadedModel loaded = test::load(std::move(*file), backend);
    const std::vector<float> exact = test::all_logits(*loaded.model, ids, DType::kF32);
    for (const Bound& bound : kBounds) {
      SCOPED_TRACE(fmt::format("{} {}", backend, name(bound.dtype)));
      const double nmse = test::nmse(test::all_logits(*loaded.model, ids, bound.dtype), std::span(exact));
      EXPECT_LE(nmse, backend == "scalar" ? bound.scalar : bound.simd);
      EXPECT_GT(nmse, 0) << "nothing was rounded";
    }
  }
}

// The demo model inside the executable, with goldens of the repository's own: needs nothing beside the clone.
TEST(DemoGolden, LogitsAndGreedyTokensEqualTheExactForward) {
  auto file = gguf::File::from_memory(demo::model_bytes(), demo::kModelName);
  ASSERT_TRUE(file.ok());
  const model::LoadedModel loaded = test::load(std::move(*file));
  const std::filesystem::path folder = std::filesystem::path(INFERNO_SOURCE_DIR) / "tests" / "golden";
  const auto golden = parse_json(test::read_file(folder / "demo.json")).value();
  const auto prompt = golden["prompt_ids"].get<std::vector<int32_t>>();
  const auto exact = npy::read((folder / "demo-last-4.exact.npy").string());
  ASSERT_TRUE(exact.ok()) << exact.error().message;
  const std::vector<float> logits = test::all_logits(*loaded.model, prompt);
  expect_close(std::span(logits).last(exact->data.size()), *exact, "prompt");
  const auto expected = golden["greedy_ids"].get<std::vector<int32_t>>();
  EXPECT_EQ(greedy(loaded, prompt, static_cast<int64_t>(expected.size())), expected);
}

}  // namespace
}  // namespace inferno
