// The whole program on the emulated device, as its user calls it, and what it then says of the device.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "support/run_program.h"
#include "support/shared_data.h"
#include "support/tiny_model.h"

namespace inferno {
namespace {

using test::contains;

test::Finished run(const std::string& arguments, int memory_mib = 16, const std::string& environment = "") {
  return test::run_program("inferno_emulated_cuda", arguments, "",
                           fmt::format("EMULATED_CUDA_MEMORY_MIB={} {}", memory_mib, environment));
}

// The option for a model that even an emulated device computes in no time.
std::string tiny_model() {
  test::TinyModel model({});
  for (auto& [name, tensor] : model.tensors)
    if (tensor.shape.size() == 2) tensor.dtype = DType::kF16;
  const std::vector<std::byte> bytes = model.bytes();
  const auto path = test::scratch_dir("emulated_cuda_model") / "tiny.gguf";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return " --model '" + path.string() + "'";
}

Json json_of(const test::Finished& finished) {
  const auto json = parse_json(finished.out);
  if (!json) throw std::runtime_error(finished.out + finished.err);
  return *json;
}

TEST(EmulatedCudaProgram, GenerateSaysWhatOfTheDeviceItUses) {
  const test::Finished on_device =
      run("generate --backend cuda 'Once upon a time' 3", 16, "INFERNO_LOG=warn");
  ASSERT_EQ(on_device.exit_code, 0) << on_device.err;
  EXPECT_TRUE(contains(on_device.err, "cuda, emulated GPU, sm_90\n")) << on_device.err;
  EXPECT_TRUE(contains(on_device.err, "GB/s that emulated GPU can read from its memory")) << on_device.err;
  // Neither the CPU's threads nor its ceilings, which nobody measured, nor the matrix peak are of any use
  // here.
  for (const char* part : {"thread", "ceilings", "warning", "matrix peak"})
    EXPECT_FALSE(contains(on_device.err, part)) << on_device.err;
  EXPECT_EQ(on_device.out, ", there was\n");
}

const std::string kRun =
    "bench generation --backend cuda --prompt-tokens 3 --max-new-tokens 2 --warmup-runs 0 --trials 1 "
    "--no-save --json";

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(EmulatedCudaProgram, AReportHasTheDeviceItsMemoryAndItsCeilings) {
  const auto log = test::scratch_dir("emulated_cuda_log") / "log.jsonl";
  // Too short to measure the CPU's ceilings, which have no part in it.
  const test::Finished finished =
      run(kRun + " --max-seconds 14 --log '" + log.string() + "'" + tiny_model(), 16, "INFERNO_LOG=warn");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json report = json_of(finished);
  EXPECT_EQ(report.at("device"), "cuda");
  EXPECT_EQ(report.at("gpu_name"), "emulated GPU");
  EXPECT_EQ(report.at("device_name"), "emulated GPU");
  EXPECT_EQ(report.at("cuda_version"), "13.0");
  EXPECT_EQ(report.at("ceilings").at("read_gb_per_s").size(), 1u);
  EXPECT_GT(report.at("ceilings").at("copy_gb_per_s"), 0);
  EXPECT_TRUE(report.at("ceilings").at("peaks").empty()) << "there is no library of matrix products";
  EXPECT_EQ(count(finished.err, "matrix peak not measured"), 1u) << finished.err;
  EXPECT_TRUE(contains(finished.err, "libcublasLt.so.13")) << finished.err;
  const Json& config = report.at("configs").at(0);
  EXPECT_EQ(config.at("gpu_name"), "emulated GPU");
  EXPECT_EQ(config.at("cuda_version"), "13.0");
  const uint64_t weights = report.at("model_bytes"), loaded = report.at("post_load_gpu_bytes");
  const uint64_t peak = config.at("peak_gpu_bytes"), end = config.at("end_gpu_bytes");
  const uint64_t cache = config.at("cache_bytes");
  EXPECT_GE(loaded, weights);
  EXPECT_GE(peak, loaded + cache);
  EXPECT_LT(peak, uint64_t{1} << 20) << "the 4 MiB that ceilings are measured with are not the run's";
  EXPECT_LT(end, peak) << "keys and values are given back";
  const double gib = double{1 << 30};
  EXPECT_DOUBLE_EQ(report.at("post_load_gpu_gb"), static_cast<double>(loaded) / gib);
  EXPECT_DOUBLE_EQ(config.at("post_load_gpu_gb"), static_cast<double>(loaded) / gib);
  EXPECT_DOUBLE_EQ(config.at("peak_gpu_memory_gb"), static_cast<double>(peak) / gib);
  EXPECT_DOUBLE_EQ(config.at("end_gpu_memory_gb"), static_cast<double>(end) / gib);
  EXPECT_TRUE(contains(test::read_file(log), "\"device_name\":\"emulated GPU\""));
}

TEST(EmulatedCudaProgram, APromptHasItsShareOfTheMatrixPeak) {
  const test::Finished finished =
      run(kRun + tiny_model(), 16, "EMULATED_CUDA_LIBRARIES='" FAKE_CUDA_LIBRARIES "'");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json report = json_of(finished);
  const Json& peaks = report.at("ceilings").at("peaks");
  ASSERT_EQ(peaks.size(), 1u);
  EXPECT_EQ(peaks.at(0).at("arithmetic"), "bf16");
  EXPECT_EQ(peaks.at(0).at("isa"), "sm_90");
  const Json& config = report.at("configs").at(0);
  EXPECT_EQ(config.at("raw_trials").at(0).at("ceilings").at("arithmetic"), "bf16");
  EXPECT_EQ(config.at("ceilings").at("arithmetic"), "bf16");
  EXPECT_GT(config.at("ceilings").at("gops"), 0);
  EXPECT_GT(config.at("prefill_pct_of_ceiling"), 0);
  EXPECT_LT(config.at("peak_gpu_bytes"), uint64_t{1} << 20) << "the matrices are not the run's";
}

TEST(EmulatedCudaProgram, AModelIsHeldAgainstTheDevicesMemory) {
  const test::Finished finished = run("bench generation --backend cuda --no-save", 4);
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_TRUE(contains(finished.err, "are available on emulated GPU")) << finished.err;
}

const std::string kLadder =
    "bench ladder --prompt-tokens 2 --max-new-tokens 2 --warmup-runs 0 --trials 1 --max-seconds 60 --json";

TEST(EmulatedCudaProgram, TheLadderEndsOnTheDevice) {
  const test::Finished finished = run(kLadder + tiny_model());
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json ladder = json_of(finished);
  const std::string cpu = ladder.at("device_name");
  EXPECT_FALSE(cpu.empty() || cpu == "emulated GPU") << cpu;
  EXPECT_TRUE(ladder.at("rungs").front().at("device").is_null());
  const Json& rung = ladder.at("rungs").back();
  EXPECT_EQ(rung.at("name"), "GPU");
  EXPECT_EQ(rung.at("device"), "emulated GPU");
  EXPECT_TRUE(rung.at("absent").is_null()) << rung.at("absent");
  EXPECT_GT(rung.at("decode_tps"), 0);
}

TEST(EmulatedCudaProgram, ADeviceThatIsTooSmallCostsTheLadderOneRung) {
  const test::Finished finished = run(kLadder, 4);
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json ladder = json_of(finished);
  EXPECT_GT(ladder.at("rungs").front().at("decode_tps"), 0);
  EXPECT_TRUE(contains(ladder.at("rungs").back().at("absent"), "weights"))
      << ladder.at("rungs").back().at("absent");
}

}  // namespace
}  // namespace inferno
