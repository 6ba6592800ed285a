// What the CUDA backend says and does where the device is missing, full or broken.
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "base/log.h"
#include "bench/speculation.h"
#include "emulated_cuda/faults.h"
#include "model/memory_items.h"
#include "support/load.h"
#include "support/shared_data.h"
#include "support/tiny_model.h"

namespace inferno {
namespace {

using emulated_cuda::start_device;

class EmulatedCudaBackend : public testing::Test {
 protected:
  void SetUp() override { start_device(); }
  void TearDown() override { start_device(); }

  static std::string why_not(const emulated_cuda::Faults& faults) {
    start_device(faults);
    const auto backend = backend::create_backend("cuda");
    if (backend) return "it is there";
    EXPECT_EQ(backend.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(backend.error().message.find("--backend parallel runs here"), std::string::npos);
    const auto automatic = backend::create_backend("auto");
    EXPECT_TRUE(automatic.ok() && (*automatic)->info().backend == "parallel");
    return backend.error().message;
  }
  static Result<engine::Generated> generate(const model::LoadedModel& loaded, int64_t n = 4) {
    const engine::Request request{.prompt_ids = {5, 6, 7}, .max_new_tokens = n, .ignore_end = true};
    metrics::Metrics metrics;
    return engine::generate(*loaded.model, loaded.tokenizer, request, metrics);
  }
};

void expect_part(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST_F(EmulatedCudaBackend, IsTakenByNameAlone) {
  const auto chosen = backend::create_backend("auto");
  ASSERT_TRUE(chosen.ok());
  EXPECT_EQ((*chosen)->info().backend, "parallel");
}

TEST_F(EmulatedCudaBackend, SaysWhatItRunsOn) {
  const auto backend = backend::create_backend("cuda");
  ASSERT_TRUE(backend.ok());
  EXPECT_EQ((*backend)->info().backend, "cuda");
  EXPECT_EQ((*backend)->info().device, "emulated GPU");
  EXPECT_EQ((*backend)->info().isa, "sm_90");
  EXPECT_EQ((*backend)->info().runtime_version, "13.0");
}

TEST_F(EmulatedCudaBackend, SaysWhyItIsNotThere) {
  expect_part(why_not({.driver_version = 0}), "no NVIDIA driver was found");
  expect_part(why_not({.driver_version = 12040}), "the NVIDIA driver is for CUDA 12.4, this program needs");
  expect_part(why_not({.devices = 0}), "no NVIDIA GPU was found");
  expect_part(why_not({.compute_capability = 75}), "compute capability 7.5, expected 8.0 or newer");
  expect_part(why_not({.launches_until_refused = 0}), "does not run this build's kernels");
  // As cmake/cuda.cmake builds for them.
  expect_part(why_not({.compute_capability = 90, .launches_until_refused = 0}), "CTURES=90a-real if");
  expect_part(why_not({.compute_capability = 89, .launches_until_refused = 0}), "CTURES=89 if");
}

TEST_F(EmulatedCudaBackend, SaysHowMuchMemoryIsMissing) {
  const auto backend = *backend::create_backend("cuda");
  const auto buffer = backend->alloc(size_t{1} << 30);
  ASSERT_FALSE(buffer.ok());
  EXPECT_EQ(buffer.error().code, ErrorCode::kResource);
  expect_part(buffer.error().message, "1.1 GB were asked for, 268.4 MB are free");
  EXPECT_TRUE(backend->end_forward().ok()) << "it has been reported";
}

TEST_F(EmulatedCudaBackend, ADeviceThatDoesNotTellItsMemoryIsOneWithRoom) {
  const auto bytes = test::TinyModel({.arch = "qwen3"}).bytes();
  start_device({.hides_memory = true});
  const model::LoadedModel loaded = test::load_bytes(bytes, "cuda");
  EXPECT_EQ(loaded.model->backend().available_memory(), std::nullopt);
  const auto generated = generate(loaded);
  EXPECT_TRUE(generated.ok()) << generated.error().message;  // that it does not is no launch's error
}

TEST_F(EmulatedCudaBackend, AModelThatIsTooLargeIsRefusedBeforeItIsLoaded) {
  start_device({.memory_bytes = 20000});
  const auto bytes = test::TinyModel({.arch = "qwen3"}).bytes();
  const auto backend = *backend::create_backend("cuda");
  const auto loaded = model::load_from_gguf(*gguf::File::from_memory(bytes, "tiny.gguf"), backend);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, ErrorCode::kResource);
  expect_part(loaded.error().message, "the backend's copy of the weights takes up to 100.6 KB of memory, ");
  expect_part(loaded.error().message,
              " are available; the largest are token_embd.weight (38.4 KB), blk.0.ffn_");
}

TEST_F(EmulatedCudaBackend, MemoryThatIsGoneInTheMiddleOfALoadIsAnErrorWithTheSum) {
  const auto bytes = test::TinyModel({.arch = "qwen3"}).bytes();
  start_device({.allocations_until_full = 4});  // the device's try, then three tensors
  const auto backend = *backend::create_backend("cuda");
  const auto file = *gguf::File::from_memory(bytes, "tiny.gguf");
  const auto loaded = model::load_from_gguf(file, backend);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, ErrorCode::kResource);
  expect_part(
      loaded.error().message,
      "tiny.gguf: tensor blk.0.attn_q.weight: --backend cuda: out of the GPU's memory: 4.1 KB were asked "
      "for, 0 bytes are free");
  expect_part(loaded.error().message,
              "; of 100.6 KB of weights, 38.7 KB were loaded; the largest are token_embd.weight (38.4 KB), ");
  start_device();
  EXPECT_TRUE(model::load_from_gguf(file, backend).ok());
}

TEST_F(EmulatedCudaBackend, KeysAndValuesOrActivationsWithoutRoomAreErrorsWithTheSum) {
  const auto bytes = test::TinyModel({.arch = "qwen3"}).bytes();
  const auto refused = [&](size_t beside_weights, int64_t n) {
    start_device();
    const model::LoadedModel loaded = test::load_bytes(bytes, "cuda");
    start_device({.memory_bytes = loaded.model->weights().bytes() + beside_weights});
    const auto generated = generate(loaded, n);
    EXPECT_FALSE(generated.ok());
    if (generated) return std::string();
    EXPECT_EQ(generated.error().code, ErrorCode::kResource);
    return generated.error().message;
  };
  const std::string kv = refused(30000, 500);
  expect_part(kv, " need 64.3 KB, but 30.0 KB are available");
  expect_part(kv, "the largest are keys and values (64.3 KB), token_embd.weight (38.4 KB) and blk.0.ffn_");
  const std::string activations = refused(2000, 4);
  expect_part(activations, "the activations of 3 tokens need 3.");
  expect_part(activations, " were asked for, ");
  expect_part(activations, "the largest are token_embd.weight (38.4 KB), ");
}

// There is no repack cache for it that weights could be mapped from.
TEST_F(EmulatedCudaBackend, WeightsTakeItsMemoryWhateverCacheIsWanted) {
  const auto path = test::scratch_dir("cuda_memory") / "tiny.gguf";
  test::write_file(path, test::TinyModel({.arch = "qwen3"}).bytes());
  const auto file = *gguf::File::open(path.string());
  const auto backend = *backend::create_backend("cuda");
  EXPECT_EQ(model::weight_memory(file, *backend, true), model::weight_memory(file, *backend, false));
  EXPECT_GT(model::weight_memory(file, *backend, true), 90000u);
  EXPECT_EQ(model::weight_memory(file, **backend::create_backend("scalar"), false), 0u);
}

TEST_F(EmulatedCudaBackend, ARefusedLaunchFailsTheRequestAndNotTheNext) {
  const auto bytes = test::TinyModel({.arch = "qwen3"}).bytes();
  start_device({.launches_until_refused = 4});
  const model::LoadedModel loaded = test::load_bytes(bytes, "cuda");
  const auto failed = generate(loaded);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, ErrorCode::kRuntime);
  expect_part(failed.error().message, "launching matmul failed");
  expect_part(failed.error().message, "; look at nvidia-smi, or take --backend parallel");
  start_device();
  EXPECT_TRUE(generate(loaded).ok());
}

TEST_F(EmulatedCudaBackend, ALostDeviceFailsEveryRequestFromThenOn) {
  const auto bytes = test::TinyModel({.arch = "qwen3"}).bytes();
  start_device({.launches_until_broken = 20});
  const model::LoadedModel loaded = test::load_bytes(bytes, "cuda");
  for (int i = 0; i < 2; ++i) {
    const auto failed = generate(loaded);
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().code, ErrorCode::kRuntime);
    expect_part(failed.error().message, "unspecified launch failure");
    expect_part(failed.error().message, "start the program anew");
  }
}

// A greedy token is found on the device: what is copied from there of a row of 300 logits is one, and its
// place.
TEST_F(EmulatedCudaBackend, OfAGreedyRequestsLogitsTheHighestAreDownloaded) {
  constexpr size_t kHighest = sizeof(backend::Argmax), kRow = 300 * sizeof(float);
  const auto bytes = test::TinyModel({.arch = "qwen3"}).bytes();
  const model::LoadedModel on_device = test::load_bytes(bytes, "cuda"), on_host = test::load_bytes(bytes);
  const engine::Request greedy{.prompt_ids = {5, 6, 7}, .max_new_tokens = 12, .ignore_end = true};
  engine::Request sampled = greedy, penalized = greedy, guessing = greedy;
  sampled.sampling.temperature = 0.7f;
  penalized.sampling.repetition_penalty = 1.1f;
  guessing.max_new_tokens = 60;
  guessing.speculate = true;
  const auto run = [](const model::LoadedModel& loaded, const engine::Request& request) {
    metrics::Metrics metrics;
    return *engine::generate(*loaded.model, loaded.tokenizer, request, metrics);
  };
  // Runs on both; what the device's run has downloaded.
  engine::Generated generated;
  const auto downloaded = [&](const engine::Request& request) {
    const size_t before = emulated_cuda::downloaded_bytes();
    generated = run(on_device, request);
    EXPECT_EQ(generated.ids, run(on_host, request).ids);
    return emulated_cuda::downloaded_bytes() - before;
  };
  EXPECT_EQ(downloaded(greedy), 12 * kHighest);
  EXPECT_EQ(downloaded(sampled), 12 * kRow);
  EXPECT_EQ(downloaded(penalized), 12 * kRow);
  // A guess that does not come is a row more.
  EXPECT_EQ(downloaded(guessing), (60 + generated.guesses.drafted - generated.guesses.accepted) * kHighest);
  EXPECT_GT(generated.guesses.accepted, 0u);
}

// Else what is compared would not be what a request costs.
TEST_F(EmulatedCudaBackend, AReplayWithGuessesDownloadsWhatARequestDoes) {
  const auto bytes = test::TinyModel({.arch = "qwen3"}).bytes();
  const model::LoadedModel loaded = test::load_bytes(bytes, "cuda");
  std::vector<int32_t> text;
  for (int32_t i = 0; i < 60; ++i) text.push_back(i % 10);
  const size_t before = emulated_cuda::downloaded_bytes();
  const auto replay =
      *bench::replay_with_speculation(loaded, text, {.prompt_tokens = 30, .new_tokens = 30, .trials = 1});
  EXPECT_GT(replay.guesses.accepted, 0u);
  const uint64_t rows = 30 + 30 + replay.guesses.drafted - replay.guesses.accepted;
  EXPECT_EQ(emulated_cuda::downloaded_bytes() - before, rows * sizeof(backend::Argmax));
}

// The log has probabilities, which take all logits.
TEST_F(EmulatedCudaBackend, WhereTokensAreLoggedAllLogitsAreDownloaded) {
  const auto bytes = test::TinyModel({.arch = "qwen3"}).bytes();
  const model::LoadedModel loaded = test::load_bytes(bytes, "cuda");
  const std::vector<int32_t> ids = generate(loaded)->ids;
  std::string lines;
  ASSERT_TRUE(log::configure("inferno::decode=info"));
  log::set_sink([&](std::string_view line) { lines += line; });
  const size_t before = emulated_cuda::downloaded_bytes();
  const auto logged = generate(loaded);
  log::set_sink({});
  ASSERT_TRUE(log::configure("off"));
  EXPECT_EQ(logged->ids, ids);
  EXPECT_NE(lines.find("prob"), std::string::npos);
  EXPECT_EQ(emulated_cuda::downloaded_bytes() - before, 4 * 300 * sizeof(float));
}

// The sampler sees the same in all logits and in the highest of each row.
TEST_F(EmulatedCudaBackend, AGreedyTokenIsThatOfAllLogits) {
  const auto bytes = test::TinyModel({.arch = "llama", .vocab_size = 5000}).bytes();
  const model::LoadedModel loaded = test::load_bytes(bytes, "cuda");
  const std::vector<int32_t> ids = test::random_ids(9, 5000, 3);
  sampling::Sampler greedy{{}};
  const auto tokens = [&](bool highest_only) {
    auto context = *engine::Context::create(*loaded.model, DType::kF32, 16, 9);
    EXPECT_TRUE(context.compute(ids, model::Batch::Logits::kAll, {}, highest_only).ok());
    EXPECT_EQ(context.logits().empty(), highest_only);
    EXPECT_EQ(context.logits(8).size(), highest_only ? 0u : 5000u);
    std::vector<int32_t> sampled;
    for (size_t row = 0; row < ids.size(); ++row)
      sampled.push_back(*context.sample(greedy, row, std::span(ids).first(row + 1)));
    return sampled;
  };
  EXPECT_EQ(tokens(true), tokens(false));
}

TEST_F(EmulatedCudaBackend, LogitsThatAreNoNumbersAreTheSameErrorAsOnTheCpu) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  // Of the head's rows all, one or two; of each the first number.
  using Damage = std::vector<std::pair<size_t, float>>;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Damage& damage :
       {Damage{{41, nan}}, Damage{{299, nan}, {17, nan}}, Damage{{200, kInf}, {30, -kInf}}}) {
    test::TinyModel tiny({.arch = "llama", .tied = false});
    auto& head = tiny.tensors["output.weight"];
    for (const auto& [row, value] : damage) head.values[row * static_cast<size_t>(head.shape[1])] = value;
    const auto bytes = tiny.bytes();
    const auto on_device = generate(test::load_bytes(bytes, "cuda"));
    const auto on_host = generate(test::load_bytes(bytes));
    ASSERT_FALSE(on_device.ok());
    ASSERT_FALSE(on_host.ok());
    EXPECT_EQ(on_device.error().message, on_host.error().message);
    EXPECT_EQ(on_device.error().code, on_host.error().code);
  }
}

TEST_F(EmulatedCudaBackend, NothingIsLaunchedAfterAFailure) {
  const auto bytes = test::TinyModel({.arch = "qwen3"}).bytes();
  start_device({.launches_until_refused = 5});
  const model::LoadedModel loaded = test::load_bytes(bytes, "cuda");
  EXPECT_FALSE(generate(loaded).ok());
  EXPECT_EQ(emulated_cuda::launch_count(), 6);
}

TEST_F(EmulatedCudaBackend, LargeUploadsArriveWhole) {
  const auto backend = *backend::create_backend("cuda");
  std::vector<uint32_t> sent((size_t{40} << 20) / sizeof(uint32_t) + 3);  // several pieces and a bit
  for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<uint32_t>(i * 2654435761u);
  const size_t bytes = sent.size() * sizeof(uint32_t);
  const Buffer buffer = *backend->alloc(bytes);
  ASSERT_TRUE(backend->upload(buffer.data(), sent.data(), bytes).ok());
  std::vector<uint32_t> received(sent.size());
  ASSERT_TRUE(backend->download(received.data(), buffer.data(), bytes).ok());
  EXPECT_TRUE(sent == received);
}

TEST_F(EmulatedCudaBackend, WeightsAreCopiedFromTheFileRowByRow) {
  const auto backend = *backend::create_backend("cuda");
  constexpr int64_t kRows = 13000, kCols = 751;  // several pieces, of which none ends with a row's 3004 bytes
  std::vector<float> values(kRows * kCols);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  // Where it lies, nothing may be read: the file may have been cut.
  backend::WeightSource source = Tensor{.dtype = DType::kF32, .n_dims = 2, .shape = {kRows, kCols}};
  std::vector<int> copied(kRows);
  source.copy_rows = [&](int64_t first, int64_t n, std::byte* to) -> Status {
    for (int64_t row = first; row < first + n; ++row) ++copied[static_cast<size_t>(row)];
    std::memcpy(to, values.data() + first * kCols, static_cast<size_t>(n * kCols) * sizeof(float));
    return {};
  };
  const backend::Weight weight = *backend->load_weight(source, backend::WeightUse::kMatmul);
  EXPECT_EQ(copied, std::vector<int>(kRows, 1));
  std::vector<float> received(values.size());
  ASSERT_TRUE(backend->download(received.data(), weight.data.get(), received.size() * sizeof(float)).ok());
  EXPECT_TRUE(values == received);
}

// It may lie anywhere then, and is read there.
TEST_F(EmulatedCudaBackend, ARowThatIsLargerThanAPieceArrivesWhole) {
  const auto backend = *backend::create_backend("cuda");
  std::vector<float> values((size_t{17} << 20) / sizeof(float), 1.5f);
  const auto n = static_cast<int64_t>(values.size());
  backend::WeightSource source =
      Tensor{.dtype = DType::kF32, .n_dims = 2, .shape = {1, n}, .data = values.data()};
  source.copy_rows = [](int64_t, int64_t, std::byte*) -> Status {
    return Error{ErrorCode::kIo, "all rows or none"};
  };
  const backend::Weight weight = *backend->load_weight(source, backend::WeightUse::kMatmul);
  std::vector<float> received(values.size());
  ASSERT_TRUE(backend->download(received.data(), weight.data.get(), received.size() * sizeof(float)).ok());
  EXPECT_TRUE(values == received);
}

TEST_F(EmulatedCudaBackend, AFileThatWasCutBeforeItsWeightsAreLoadedIsAnError) {
  const auto path = test::scratch_dir("cuda_cut") / "cut.gguf";
  const auto bytes = test::TinyModel({.arch = "qwen3"}).bytes();
  test::write_file(path, bytes);
  {
    const auto from_memory = test::load_bytes(bytes, "cuda");
    const auto from_file = test::load_path(path.string(), "cuda");
    const std::vector<int32_t> ids = {5, 6, 7};
    EXPECT_EQ(test::all_logits(*from_file.model, ids), test::all_logits(*from_memory.model, ids));
  }
  for (const size_t cut : {size_t{1}, bytes.size() / 2}) {
    test::write_file(path, bytes);
    auto file = gguf::File::open(path.string());
    ASSERT_TRUE(file.ok());
    std::filesystem::resize_file(path, std::max<uint64_t>(file->data_offset(), bytes.size() - cut));
    const auto loaded = model::load_from_gguf(std::move(*file), *backend::create_backend("cuda"));
    ASSERT_FALSE(loaded.ok()) << cut;
    EXPECT_EQ(loaded.error().code, ErrorCode::kIo);
    expect_part(loaded.error().message, "cut.gguf: has ");
  }
}

TEST_F(EmulatedCudaBackend, CountsWhatIsAllocated) {
  const auto backend = *backend::create_backend("cuda");
  const uint64_t before = backend->allocated_memory()->now;
  backend->reset_peak_allocated_memory();
  {
    const Buffer first = *backend->alloc(1000);
    const Buffer second = *backend->alloc(500);
    EXPECT_EQ(backend->allocated_memory()->now, before + 1500);
  }
  EXPECT_EQ(backend->allocated_memory()->now, before);
  EXPECT_EQ(backend->allocated_memory()->peak, before + 1500);
  EXPECT_FALSE(backend->alloc(size_t{1} << 40).ok());
  backend->reset_peak_allocated_memory();
  EXPECT_EQ(backend->allocated_memory()->peak, before) << "what was refused is not allocated";
  EXPECT_FALSE((*backend::create_backend("scalar"))->allocated_memory());
}

TEST_F(EmulatedCudaBackend, MeasuresHowFastMemoryIsReadAndCopied) {
  start_device({.memory_bytes = size_t{1} << 20});
  const auto ceilings = (*backend::create_backend("cuda"))->measure_ceilings({});
  ASSERT_TRUE(ceilings.ok()) << ceilings.error().message;
  EXPECT_GT(ceilings->read(1), 0);
  EXPECT_GT(ceilings->copy_gb_per_s, 0);
  EXPECT_TRUE(ceilings->peaks.empty()) << "without a library of matrix products there is no error";
  EXPECT_LE(ceilings->steadiness, 1);
}

}  // namespace
}  // namespace inferno
