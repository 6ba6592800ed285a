// Tensors that do not fit the metadata, and those that may differ.
#include "model/weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "base/text.h"
#include "model/bad_model.h"
#include "support/compare.h"
#include "support/load.h"
#include "support/shared_data.h"
#include "tensor/half.h"

namespace inferno {
namespace {

using test::TinyModel;

const test::TinySpec kSpecs[] = {
    {.arch = "qwen3", .n_layers = 1},
    {.arch = "qwen2", .n_layers = 1},
    {.arch = "llama", .n_layers = 1, .tied = false, .rope_freqs = true},
    {.arch = "gemma3", .n_layers = 1, .window = 4},
};

// The values repeat or end early, as the shape demands.
void reshape(TinyModel::TensorData& tensor, std::vector<int64_t> shape) {
  size_t n = 1;
  for (const int64_t size : shape) n *= static_cast<size_t>(size);
  std::vector<float> values;
  for (size_t i = 0; i < n; ++i) values.push_back(tensor.values[i % tensor.values.size()]);
  tensor.shape = std::move(shape);
  tensor.values = std::move(values);
}

std::string text(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", join(shape, ", "));
}

void expect_shape_refused(const test::TinySpec& spec, const std::string& name,
                          const std::vector<int64_t>& shape) {
  TinyModel tiny(spec);
  const std::vector<int64_t> right = tiny.tensors[name].shape;
  reshape(tiny.tensors[name], shape);
  SCOPED_TRACE(spec.arch + " " + name);
  test::expect_refused(tiny,
                       {"tensor " + name + ": ", "expected shape " + text(right), "found " + text(shape)});
}

TEST(Weights, C4EveryDimensionOfEveryTensorOffByOne) {
  for (const test::TinySpec& spec : kSpecs) {
    for (const auto& [name, tensor] : TinyModel(spec).tensors) {
      for (size_t d = 0; d < tensor.shape.size(); ++d) {
        for (const int64_t change : {-1, 1}) {
          std::vector<int64_t> shape = tensor.shape;
          shape[d] += change;
          expect_shape_refused(spec, name, shape);
        }
      }
    }
  }
}

TEST(Weights, C4EveryTensorTransposedOrOfAnotherRank) {
  for (const test::TinySpec& spec : kSpecs) {
    for (const auto& [name, tensor] : TinyModel(spec).tensors) {
      const std::vector<int64_t>& shape = tensor.shape;
      if (shape.size() == 1) {
        expect_shape_refused(spec, name, {1, shape[0]});
        expect_shape_refused(spec, name, {shape[0], 1});
      } else {
        if (shape[0] != shape[1]) expect_shape_refused(spec, name, {shape[1], shape[0]});
        expect_shape_refused(spec, name, {shape[0] * shape[1]});
        expect_shape_refused(spec, name, {1, shape[0], shape[1]});
      }
    }
  }
}

TEST(Weights, C3EveryTensorMissing) {
  for (const test::TinySpec& spec : kSpecs) {
    for (const auto& [name, tensor] : TinyModel(spec).tensors) {
      if (name == "output.weight" || name == "rope_freqs.weight") continue;  // these may be absent
      TinyModel tiny(spec);
      tiny.tensors.erase(name);
      SCOPED_TRACE(spec.arch + " " + name);
      test::expect_refused(tiny, {"tensor " + name + ": ", text(tensor.shape), "no such tensor"});
    }
  }
}

TEST(Weights, EveryTensorOfIntegers) {
  for (const test::TinySpec& spec : kSpecs) {
    for (const auto& [name, tensor] : TinyModel(spec).tensors) {
      TinyModel tiny(spec);
      tiny.tensors[name].dtype = DType::kI32;
      SCOPED_TRACE(spec.arch + " " + name);
      test::expect_refused(tiny, {"tensor " + name + ": ", "can be multiplied", "found I32"});
    }
  }
}

TEST(Weights, C3TensorsOfMoreLayersThanTheConfigHas) {
  TinyModel tiny({.arch = "qwen3", .n_layers = 2});
  tiny.set("qwen3.block_count", uint32_t{1});
  test::expect_refused(tiny, {"\"blk.1.", "has no place"});
  tiny.set("qwen3.block_count", uint32_t{3});
  test::expect_refused(tiny, {"tensor blk.2.attn_norm.weight: ", "no such tensor"});
}

TEST(Weights, C3ATensorTooManyIsNamed) {
  for (const char* name : {"blk.0.attn_q.bias", "blk.0.ffn_gate_inp.weight", "blk.0.attn_sinks.weight",
                           "position_embd.weight", "blk.00.attn_norm.weight", "caf\u00e9"}) {
    TinyModel tiny({.arch = "qwen3", .n_layers = 1});
    tiny.add_tensor(name, {32}, 1.0);
    test::expect_refused(tiny, {name, "has no place"});
  }
}

TEST(Weights, C5TokensEmbeddingAndHeadHaveOneVocabulary) {
  TinyModel fewer_tokens({.arch = "qwen3"});
  fewer_tokens.set_array("tokenizer.ggml.tokens", std::vector<std::string>(299, "a"));
  test::expect_refused(fewer_tokens, {"token_embd.weight", "[299, 32]", "[300, 32]"});
  expect_shape_refused({.arch = "qwen3", .tied = false}, "output.weight", {301, 32});
}

TEST(Weights, C6WithoutAnEmbeddingNoHeadHelps) {
  TinyModel tiny({.arch = "qwen3", .tied = false});
  tiny.tensors.erase("token_embd.weight");
  test::expect_refused(tiny, {"token_embd.weight", "no such tensor"});
  tiny.tensors.erase("output.weight");
  test::expect_refused(tiny, {"token_embd.weight", "no such tensor"});
}

// Logits of a few tokens, the last position's rows included.
std::vector<float> logits_of(const TinyModel& tiny) {
  const std::vector<std::byte> bytes = tiny.bytes();
  const model::LoadedModel loaded = test::load_bytes(bytes);
  return test::all_logits(*loaded.model, test::random_ids(6, 300, 3));
}

TEST(Weights, C6AHeadOfItsOwnIsUsedAndACopyOfTheEmbeddingChangesNothing) {
  TinyModel tied({.arch = "qwen3"});
  TinyModel copied = tied;
  copied.tensors["output.weight"] = copied.tensors["token_embd.weight"];
  EXPECT_EQ(logits_of(copied), logits_of(tied));
  TinyModel different = tied;
  different.add_tensor("output.weight", {300, 32}, 1.0);
  EXPECT_GT(test::nmse(logits_of(different), logits_of(tied)), 0.1);
}

// Backends that make their own of a weight copy it from the file; others read it where it is mapped.
TEST(Weights, OfAFileAreThoseOfMemory) {
  const auto path = test::scratch_dir("weights") / "tiny.gguf";
  for (const test::TinySpec& spec : kSpecs) {
    TinyModel tiny(spec);
    tiny.tensors["output_norm.weight"].dtype = DType::kF16;
    const auto bytes = tiny.bytes();
    test::write_file(path, bytes);
    for (const char* backend : {"scalar", "simd", "parallel"}) {
      const std::vector<int32_t> ids = test::random_ids(5, spec.vocab_size, 1);
      const auto from_memory = test::load_bytes(bytes, backend);
      const auto from_file = test::load_path(path.string(), backend);
      EXPECT_EQ(test::all_logits(*from_file.model, ids), test::all_logits(*from_memory.model, ids))
          << spec.arch << " " << backend;
    }
  }
}

// The embedding is tied, so that it is repacked: what is looked up is read where the file is mapped.
TEST(Weights, AFileThatWasCutBeforeItsWeightsAreRepackedIsAnError) {
  const auto path = test::scratch_dir("weights") / "cut.gguf";
  const auto bytes = TinyModel({}).bytes();
  for (const size_t cut : {size_t{1}, bytes.size() / 4, bytes.size() / 2}) {
    test::write_file(path, bytes);
    auto file = gguf::File::open(path.string());
    ASSERT_TRUE(file.ok());
    std::filesystem::resize_file(path, std::max<uint64_t>(file->data_offset(), bytes.size() - cut));
    const auto loaded = model::load_from_gguf(std::move(*file), *backend::create_backend("parallel"), {});
    ASSERT_FALSE(loaded.ok()) << cut;
    EXPECT_EQ(loaded.error().code, ErrorCode::kIo);
    EXPECT_NE(loaded.error().message.find(fmt::format("cut.gguf: has {} bytes, expected {}",
                                                      std::filesystem::file_size(path), bytes.size())),
              std::string::npos)
        << loaded.error().message;
  }
}

TEST(Weights, NormsInF16AreConverted) {
  TinyModel tiny({.arch = "qwen3"});
  for (auto& [name, tensor] : tiny.tensors) {
    if (tensor.shape.size() > 1) continue;
    for (float& value : tensor.values) value = f16_to_f32(f32_to_f16(value));
  }
  const std::vector<float> expected = logits_of(tiny);
  for (auto& [name, tensor] : tiny.tensors) {
    if (tensor.shape.size() == 1) tensor.dtype = DType::kF16;
  }
  EXPECT_EQ(logits_of(tiny), expected);
}

TEST(Weights, BiasesThatAFamilyMayHaveAreUsed) {
  TinyModel tiny({.arch = "llama"});
  const std::vector<float> without = logits_of(tiny);
  tiny.add_tensor("blk.1.attn_q.bias", {32}, 1.0);
  tiny.add_tensor("blk.0.attn_output.bias", {32}, 1.0);
  EXPECT_GT(test::nmse(logits_of(tiny), without), 1e-4);
}

TEST(Weights, C11RopeFactorsAreFiniteAndPositive) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const auto& [value, found] :
       {std::pair{0.0f, "found 0 as element 2"}, std::pair{-1.0f, "found -1 as element 2"},
        std::pair{kInfinity, "found inf as element 2"},
        std::pair{kInfinity - kInfinity, "nan as element 2"}}) {
    TinyModel tiny({.arch = "llama", .rope_freqs = true});
    tiny.tensors["rope_freqs.weight"].values[2] = value;
    test::expect_refused(tiny, {"rope_freqs.weight", "finite numbers > 0", found});
  }
  TinyModel halves({.arch = "llama", .rope_freqs = true});
  halves.tensors["rope_freqs.weight"].dtype = DType::kF16;
  test::expect_refused(halves, {"rope_freqs.weight", "expected F32, found F16"});
}

TEST(Weights, BytesAreThoseOfTheFileAndATiedHeadCountsOnce) {
  for (const bool tied : {true, false}) {
    const std::vector<std::byte> bytes = TinyModel({.arch = "gemma3", .window = 4, .tied = tied}).bytes();
    const model::LoadedModel loaded = test::load_bytes(bytes);
    uint64_t in_file = 0;
    for (const gguf::TensorInfo& info : loaded.model->file().tensors()) in_file += info.tensor.bytes();
    EXPECT_EQ(loaded.model->weights().bytes(), in_file);
  }
}

}  // namespace
}  // namespace inferno
