#include "quantize/file_type.h"

#include <gtest/gtest.h>

#include <map>

#include "gguf/writer.h"

namespace inferno::test {
namespace {

// A file of these tensors, all F32 matrices of one row, with types for each under a file type; and with a
// head of this type, if it is not empty.
std::map<std::string, DType> types_of(const std::vector<std::string>& names, std::string_view file_type,
                                      std::optional<DType> head = {}) {
  const std::vector<float> data(256);
  const std::vector<int64_t> shape = {1, 256};
  gguf::Writer writer;
  for (const std::string& name : names) {
    writer.add_tensor(name, DType::kF32, shape, std::as_bytes(std::span(data)));
  }
  const std::vector<std::byte> bytes = writer.bytes();
  const auto file = gguf::File::from_memory(bytes, "test.gguf");
  auto parsed = quantize::parse_file_type(file_type);
  EXPECT_TRUE(file.ok() && parsed.ok());
  if (head) parsed->head = head;
  const std::vector<DType> types = quantize::tensor_types(*file, *parsed);
  std::map<std::string, DType> result;
  for (size_t i = 0; i < names.size(); ++i) result[names[i]] = types[i];
  return result;
}

// Of 16 layers, the types of one tensor, a letter each: 3 for Q3_K, and so on.
std::string by_layer(const std::string& tensor, std::string_view file_type) {
  std::vector<std::string> names;
  for (int i = 0; i < 16; ++i) names.push_back("blk." + std::to_string(i) + "." + tensor);
  const auto types = types_of(names, file_type);
  std::string digits;
  for (const std::string& layer : names) digits += name(types.at(layer))[1];
  return digits;
}

TEST(FileType, TheMixesGiveSomeTensorsMoreBits) {
  EXPECT_EQ(by_layer("attn_v.weight", "Q4_K_M"), "6644644644644666");
  EXPECT_EQ(by_layer("ffn_down.weight", "Q4_K_M"), "6644644644644666");
  EXPECT_EQ(by_layer("attn_v.weight", "Q5_K_M"), "6655655655655666");
  EXPECT_EQ(by_layer("ffn_down.weight", "Q5_K_M"), "6655655655655666");
  EXPECT_EQ(by_layer("attn_v.weight", "Q4_K_S"), "5555444444444444");
  EXPECT_EQ(by_layer("ffn_down.weight", "Q4_K_S"), "5544444444444444");
  EXPECT_EQ(by_layer("attn_v.weight", "Q5_K_S"), "5555555555555555");
  EXPECT_EQ(by_layer("attn_v.weight", "Q3_K_M"), "5544444444444444");
  EXPECT_EQ(by_layer("ffn_down.weight", "Q3_K_M"), "5444444444444444");
  EXPECT_EQ(by_layer("attn_output.weight", "Q3_K_M"), "4444444444444444");
  for (const char* rest : {"attn_q.weight", "attn_k.weight", "ffn_gate.weight", "ffn_up.weight"}) {
    EXPECT_EQ(by_layer(rest, "Q4_K_M"), "4444444444444444");
    EXPECT_EQ(by_layer(rest, "Q3_K_M"), "3333333333333333");
  }
}

TEST(FileType, TheHeadOfAMixIsQ6K) {
  const std::vector<std::string> tied = {"token_embd.weight"},
                                 untied = {"token_embd.weight", "output.weight"};
  for (const char* mix : {"Q3_K_M", "Q4_K_S", "Q4_K_M", "Q5_K_S", "Q5_K_M"}) {
    EXPECT_EQ(types_of(tied, mix)["token_embd.weight"], DType::kQ6_K) << mix;
    EXPECT_EQ(types_of(untied, mix)["output.weight"], DType::kQ6_K) << mix;
    EXPECT_NE(types_of(untied, mix)["token_embd.weight"], DType::kQ6_K) << mix;
  }
}

TEST(FileType, WhoeverAsksMayChooseTheHead) {
  const std::vector<std::string> tied = {"token_embd.weight", "blk.0.attn_q.weight"},
                                 untied = {"token_embd.weight", "output.weight"};
  for (const char* type : {"Q4_0", "Q4_K_M"}) {
    EXPECT_EQ(types_of(tied, type, DType::kQ8_0)["token_embd.weight"], DType::kQ8_0) << type;
    EXPECT_NE(types_of(tied, type, DType::kQ8_0)["blk.0.attn_q.weight"], DType::kQ8_0) << type;
    EXPECT_EQ(types_of(untied, type, DType::kQ8_0)["output.weight"], DType::kQ8_0) << type;
    EXPECT_NE(types_of(untied, type, DType::kQ8_0)["token_embd.weight"], DType::kQ8_0) << type;
  }
  EXPECT_EQ(*quantize::parse_format("--head", "q6_k"), DType::kQ6_K);
  const std::string mix = quantize::parse_format("--head", "q4_k_m").error().message;
  EXPECT_TRUE(mix.starts_with("--head: expected one of F32, F16, ")) << mix;
  EXPECT_EQ(mix.find("Q4_K_M, "), std::string::npos) << mix;
  EXPECT_TRUE(mix.ends_with(", found \"q4_k_m\"; did you mean Q4_K?")) << mix;
}

TEST(FileType, AFormatsOwnNameIsForEveryMatrix) {
  for (const quantize::FileType& file_type : quantize::file_types()) {
    EXPECT_EQ(quantize::is_mix(file_type), file_type.head.has_value()) << file_type.name;
    if (quantize::is_mix(file_type)) continue;
    EXPECT_EQ(name(file_type.dtype), file_type.name);
    for (const auto& [tensor, dtype] :
         types_of({"token_embd.weight", "output.weight", "blk.0.attn_v.weight", "blk.0.ffn_down.weight"},
                  file_type.name)) {
      EXPECT_EQ(dtype, file_type.dtype) << tensor;
    }
  }
}

TEST(FileType, WhatIsNoMatrixIsF32) {
  for (const auto& [tensor, dtype] :
       types_of({"blk.0.attn_norm.weight", "blk.0.ffn_gate_inp.weight", "blk.0.attn_q.bias", "rope_freqs"},
                "Q4_0")) {
    EXPECT_EQ(dtype, DType::kF32) << tensor;
  }
}

TEST(FileType, NamesAreReadInAnyCaseAndTheNearestIsTold) {
  EXPECT_EQ(quantize::parse_file_type("q4_k_m")->name, "Q4_K_M");
  EXPECT_EQ(quantize::parse_file_type("bf16")->id, 32u);
  EXPECT_TRUE(quantize::parse_file_type("Q4KM").error().message.ends_with("; did you mean Q4_K_M?"));
  EXPECT_TRUE(quantize::parse_file_type("q5-k-s").error().message.ends_with("; did you mean Q5_K_S?"));
  const auto unknown = quantize::parse_file_type("Q4_KM");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(unknown.error().message.find("expected one of F32, F16, "), std::string::npos);
  EXPECT_NE(unknown.error().message.find("did you mean Q4_K_M?"), std::string::npos)
      << unknown.error().message;
  EXPECT_FALSE(quantize::parse_file_type("").ok());
}

}  // namespace
}  // namespace inferno::test
