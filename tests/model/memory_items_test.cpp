#include "model/memory_items.h"

#include <gtest/gtest.h>

#include "support/load.h"
#include "support/shared_data.h"
#include "support/tiny_model.h"

namespace inferno::model {
namespace {

TEST(MemoryItems, TheThreeLargestInOrder) {
  EXPECT_EQ(largest_items({{"a", 5}}), "the largest is a (5 bytes)");
  EXPECT_EQ(largest_items({{"a", 5}, {"b", 2000}}), "the largest are b (2.0 KB) and a (5 bytes)");
  EXPECT_EQ(largest_items({{"a", 5}, {"b", 7}, {"c", 1}, {"d", 5}, {"e", 9}}),
            "the largest are e (9 bytes), b (7 bytes) and a (5 bytes)");
}

TEST(MemoryItems, TensorsAreThoseOfTheFileByName) {
  const auto bytes = test::TinyModel({}).bytes();
  const std::string largest = largest_items(tensor_items(*gguf::File::from_memory(bytes, "tiny.gguf")));
  EXPECT_EQ(largest.find("the largest are token_embd.weight (38.4 KB), blk.0.ffn_"), 0u) << largest;
}

// What a repack cache holds is mapped from its file, if it can have one: of no model in memory.
TEST(MemoryItems, WeightsTakeMemoryUnlessTheyLieInAFile) {
  const auto path = test::scratch_dir("memory_items") / "tiny.gguf";
  const auto bytes = test::TinyModel({}).bytes();
  test::write_file(path, bytes);
  const auto in_file = *gguf::File::open(path.string());
  const auto in_memory = *gguf::File::from_memory(bytes, "tiny.gguf");
  const auto parallel = *backend::create_backend("parallel");
  const uint64_t all = weight_memory(in_file, *parallel, false);
  EXPECT_GT(all, 38400u);
  EXPECT_EQ(weight_memory(in_file, *parallel, true), 0u);
  EXPECT_EQ(weight_memory(in_memory, *parallel, true), all);
  EXPECT_EQ(weight_memory(in_memory, **backend::create_backend("scalar"), false), 0u);
}

}  // namespace
}  // namespace inferno::model
