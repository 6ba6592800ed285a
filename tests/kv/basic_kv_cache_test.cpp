#include "kv/basic_kv_cache.h"

#include <gtest/gtest.h>

#include <cstring>

#include "backend/host_backend.h"
#include "base/check.h"
#include "base/memory.h"

namespace inferno::kv {
namespace {

std::shared_ptr<backend::Backend> scalar() {
  return *backend::create_backend("scalar");
}

const Config kSmall{
    .layers = {{1, 8}, {4, 8}, {2, 16}}, .dtype = DType::kF16, .max_seqs = 3, .max_positions = 10};
// For types with blocks.
const Config kInBlocks{.layers = {{1, 32}, {4, 64}}, .max_seqs = 3, .max_positions = 10};

TEST(BasicKvCache, BytesAreTheSumOverLayersThatDiffer) {
  EXPECT_EQ(bytes_per_position(kSmall), 2u * (1 * 8 + 4 * 8 + 2 * 16) * 2);
  const auto cache = BasicKvCache::create(*scalar(), kSmall);
  ASSERT_TRUE(cache.ok());
  EXPECT_EQ((*cache)->bytes(), 3u * 10 * bytes_per_position(kSmall));
}

TEST(BasicKvCache, BlocksAreAMultipleOfWhatTheBackendsLayoutTakes) {
  const auto backend = *backend::create_backend("simd");
  const int64_t multiple = backend->kv_block_multiple();
  for (const int64_t positions : {int64_t{1}, multiple, multiple + 1}) {
    Config config = kSmall;
    config.max_positions = positions;
    const auto cache = *BasicKvCache::create(*backend, config);
    EXPECT_EQ(cache->block_size(), positions <= multiple ? multiple : 2 * multiple);
    EXPECT_EQ(cache->bytes(), 3u * static_cast<uint64_t>(cache->block_size()) * bytes_per_position(config));
  }
}

TEST(BasicKvCache, BytesAreThoseOfTheType) {
  Config config = kInBlocks;
  constexpr uint64_t kElements = 2 * (1 * 32 + 4 * 64);
  const auto bytes = [&](DType dtype) {
    config.dtype = dtype;
    return bytes_per_position(config);
  };
  EXPECT_EQ(bytes(DType::kF32), kElements * 4);
  EXPECT_EQ(bytes(DType::kF16), kElements * 2);
  EXPECT_EQ(bytes(DType::kBF16), kElements * 2);
  EXPECT_EQ(bytes(DType::kQ8_0), kElements / 32 * 34);
}

TEST(BasicKvCache, LayersHaveTheirOwnShapeAndMemory) {
  for (const DType dtype : kTypes) {
    Config config = dtype == DType::kQ8_0 ? kInBlocks : kSmall;
    config.dtype = dtype;
    const auto cache = *BasicKvCache::create(*scalar(), config);
    for (size_t i = 0; i < config.layers.size(); ++i) {
      const kernels::KvLayerView layer = cache->layer(static_cast<int64_t>(i));
      EXPECT_EQ(layer.n_kv_heads, config.layers[i].n_kv_heads);
      EXPECT_EQ(layer.head_dim, config.layers[i].head_dim);
      EXPECT_EQ(layer.block_size, 10);
      EXPECT_EQ(layer.dtype, dtype);
      const size_t bytes = row_bytes(dtype, static_cast<size_t>(3 * 10 * layer.n_kv_heads * layer.head_dim));
      std::memset(layer.k, static_cast<int>(2 * i + 1), bytes);
      std::memset(layer.v, static_cast<int>(2 * i + 2), bytes);
    }
    for (size_t i = 0; i < config.layers.size(); ++i) {  // none of them lies in another's
      const kernels::KvLayerView layer = cache->layer(static_cast<int64_t>(i));
      const size_t bytes = row_bytes(dtype, static_cast<size_t>(3 * 10 * layer.n_kv_heads * layer.head_dim));
      const auto are_all = [&](const void* data, size_t value) {
        const auto* at = static_cast<const unsigned char*>(data);
        return std::all_of(at, at + bytes, [&](unsigned char c) { return c == value; });
      };
      EXPECT_TRUE(are_all(layer.k, 2 * i + 1)) << i;
      EXPECT_TRUE(are_all(layer.v, 2 * i + 2)) << i;
    }
  }
}

// Computes nothing, and keeps what was asked for.
class AskedMemory final : public backend::HostBackend {
 public:
  size_t bytes = 0, soon = 0;

  Result<Buffer> alloc_growing(size_t n_bytes, size_t n_soon) override {
    bytes = n_bytes;
    soon = n_soon;
    return alloc(n_bytes);
  }
  backend::DeviceInfo info() const override { return {}; }
  Result<backend::Weight> load_weight(const backend::WeightSource&, backend::WeightUse) override {
    return make_error(ErrorCode::kUnavailable, "no weights");
  }

 protected:
  backend::BatchView do_begin_forward(const backend::BatchView& batch) override { return batch; }
  Status do_end_forward() override { return {}; }
  void do_embed(const backend::EmbedArgs&) override {}
  void do_matmul(const backend::MatmulArgs&) override {}
  void do_rms_norm(const backend::RmsNormArgs&) override {}
  void do_rope_table(const backend::RopeTableArgs&) override {}
  void do_rope(const backend::RopeArgs&) override {}
  void do_kv_append(const backend::KvAppendArgs&) override {}
  void do_attention(const backend::AttentionArgs&) override {}
  void do_add(const backend::AddArgs&) override {}
  void do_act_mul(const backend::ActMulArgs&) override {}
  void do_gather_rows(const backend::GatherRowsArgs&) override {}
};

TEST(BasicKvCache, TellsHowMuchOfItIsWrittenBeforeLong) {
  AskedMemory backend;
  Config config = kSmall;
  for (const auto& [soon, expected] : {std::pair{0, 0}, {4, 4}, {10, 10}, {99, 10}, {-1, 0}}) {
    config.soon_positions = soon;
    ASSERT_TRUE(BasicKvCache::create(backend, config).ok());
    EXPECT_GE(backend.bytes, 3 * 10 * bytes_per_position(config));
    EXPECT_EQ(backend.soon, backend.bytes / 10 * static_cast<size_t>(expected)) << soon;
  }
}

TEST(BasicKvCache, HeadsThatAreNoWholeBlocksAreRefused) {
  Config config{.layers = {{2, 64}, {2, 80}}, .dtype = DType::kQ8_0, .max_positions = 8};
  const auto cache = BasicKvCache::create(*scalar(), config);
  ASSERT_FALSE(cache.ok());
  EXPECT_EQ(cache.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(
      cache.error().message,
      "KV cache: Q8_0 stores blocks of 32 elements, so the head_dim has to be a multiple of 32; that of "
      "layer 1 is 80; take F16 or BF16 instead");
  config.dtype = DType::kBF16;
  EXPECT_TRUE(BasicKvCache::create(*scalar(), config).ok());
  config.dtype = DType::kQ4_0;
  EXPECT_THROW((void)BasicKvCache::create(*scalar(), config), InternalError) << "is none of kTypes";
}

TEST(BasicKvCache, EachSequenceOwnsOneBlock) {
  const auto cache = *BasicKvCache::create(*scalar(), kSmall);
  for (int32_t seq = 0; seq < 3; ++seq) {
    ASSERT_EQ(cache->block_table(seq).size(), 1u);
    EXPECT_EQ(cache->block_table(seq)[0], seq);
  }
  EXPECT_THROW((void)cache->block_table(3), InternalError);
  EXPECT_THROW((void)cache->block_table(-1), InternalError);
}

TEST(BasicKvCache, ASequenceHoldsItsPositionsAndNoMore) {
  const auto cache = *BasicKvCache::create(*scalar(), kSmall);
  EXPECT_TRUE(cache->reserve(2, 10).ok());
  const Status status = cache->reserve(2, 11);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kResource);
  EXPECT_EQ(status.error().message, "KV cache: 11 positions asked for, 10 per sequence");
}

// C10: refused before anything is allocated, with the arithmetic.
TEST(BasicKvCache, MoreThanTheMemoryIsRefusedWithTheSum) {
  const auto available = available_memory();
  if (!available) GTEST_SKIP() << "this system does not tell how much memory there is";
  Config config{.layers = {{8, 128}}, .dtype = DType::kF16, .max_seqs = 2};
  config.max_positions = int64_t{1} << 30;  // 2 x 2^30 x 4096 bytes = 8.8 TB
  const auto cache = BasicKvCache::create(*scalar(), config);
  if (*available > uint64_t{1} << 43) GTEST_SKIP() << "this machine can hold it";
  ASSERT_FALSE(cache.ok());
  EXPECT_EQ(cache.error().code, ErrorCode::kResource);
  for (const char* part : {"2 x 1073741824 positions x 4096 bytes", "F16", "need 8.8 TB", "are available"}) {
    EXPECT_NE(cache.error().message.find(part), std::string::npos)
        << part << " is not in: " << cache.error().message;
  }
}

TEST(BasicKvCache, ASumBeyond64BitsIsRefusedToo) {
  Config config{.layers = std::vector<LayerShape>(4096, LayerShape{1 << 10, 1 << 10}), .dtype = DType::kF32};
  config.max_seqs = 1 << 20;
  config.max_positions = int64_t{1} << 30;
  const auto cache = BasicKvCache::create(*scalar(), config);
  ASSERT_FALSE(cache.ok());
  EXPECT_EQ(cache.error().code, ErrorCode::kResource);
  EXPECT_NE(cache.error().message.find("more than 2^64 bytes"), std::string::npos) << cache.error().message;
}

}  // namespace
}  // namespace inferno::kv
