// Our speed on the emulated device beside a peer's.
#include "bench/peers.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "emulated_cuda/faults.h"
#include "support/load.h"
#include "support/run_program.h"
#include "support/shared_data.h"
#include "support/tiny_model.h"

namespace inferno {
namespace {

using test::contains;

class EmulatedCudaPeers : public testing::Test {
 protected:
  // A llama-bench that answers with these members besides, and notes its arguments.
  static Result<bench::PeerComparison> compare(const std::string& members) {
    const auto folder = test::scratch_dir("emulated_cuda_peers");
    const std::string path = (folder / "llama-bench").string();
    std::ofstream(path) << "#!/bin/sh\necho \"$@\" > '" << (folder / "arguments").string()
                        << "'\necho '[{\"n_prompt\": 4, \"n_gen\": 0, \"avg_ts\": 2000" << members
                        << "}, {\"n_prompt\": 0, \"n_gen\": 3, \"avg_ts\": 500" << members << "}]'\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    emulated_cuda::start_device();
    const auto bytes = test::TinyModel({}).bytes();
    const model::LoadedModel loaded = test::load_bytes(bytes, "cuda");
    bench::PeerOptions options;
    options.program = path;
    options.model_path = "model.gguf";
    options.prompt_tokens = 4;
    options.generated_tokens = 3;
    options.rounds = 1;
    auto comparison = bench::compare_with_peer(loaded, options);
    EXPECT_EQ(test::read_file(folder / "arguments"), "-m model.gguf -p 4 -n 3 -t 1 -r 1 -ngl 99 -o json\n");
    return comparison;
  }
};

TEST_F(EmulatedCudaPeers, ThePeerIsGivenEveryLayerAndTheTableSaysSo) {
  for (const char* members : {"", ", \"gpu_info\": \"NVIDIA H200\""}) {
    const auto comparison = compare(members);
    ASSERT_TRUE(comparison.ok()) << comparison.error().message;
    const std::string table = bench::peer_table(*comparison);
    EXPECT_TRUE(contains(table, "on emulated GPU; peer: llama-bench")) << table;
    EXPECT_TRUE(contains(table, "with all layers there (-ngl 99)")) << table;
  }
}

TEST_F(EmulatedCudaPeers, APeerThatHasNoDeviceIsNoPeer) {
  const auto comparison = compare(", \"gpu_info\": \"\"");
  ASSERT_FALSE(comparison.ok());
  EXPECT_EQ(comparison.error().code, ErrorCode::kRuntime);
  EXPECT_TRUE(contains(comparison.error().message, "found none in its gpu_info"));
}

}  // namespace
}  // namespace inferno
