#include "model/arch_table.h"

#include <algorithm>
#include <array>

namespace inferno::model {
namespace {

using backend::Activation;
using backend::RopeStyle;

constexpr std::array kRows = {
    // Llama 2, Llama 3.x (whose frequency factors come as a tensor) and Mistral share this name.
    ArchRow{.name = "llama",
            .rope_style = RopeStyle::kInterleaved,
            .qkv_bias = Presence::kOptional,
            .out_bias = Presence::kOptional},
    ArchRow{.name = "qwen2", .qkv_bias = Presence::kAlways},
    ArchRow{.name = "qwen3", .qk_norm = Presence::kAlways},
    // Five local layers to a global one. The 27B model, known by its depth, scales queries by dim / n_heads.
    ArchRow{.name = "gemma3",
            .activation = Activation::kGeluTanh,
            .scales_embedding = true,
            .qk_norm = Presence::kAlways,
            .post_norms = Presence::kAlways,
            .window_period = 6,
            .local_rope_theta = 10000.0,
            .query_scale_by_dim_layers = 62},
};

}  // namespace

std::span<const ArchRow> arch_table() {
  return kRows;
}

const ArchRow* find_arch(std::string_view name) {
  const auto* row =
      std::find_if(kRows.begin(), kRows.end(), [&](const ArchRow& r) { return r.name == name; });
  return row == kRows.end() ? nullptr : &*row;
}

}  // namespace inferno::model
