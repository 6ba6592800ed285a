// What tells one model family from another: one row of data each. Nothing else in the engine knows a family.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "backend/args.h"

namespace inferno::model {

enum class Presence : uint8_t { kNever, kOptional, kAlways };

struct ArchRow {
  std::string_view name;  // general.architecture
  backend::RopeStyle rope_style = backend::RopeStyle::kHalves;
  backend::Activation activation = backend::Activation::kSilu;
  bool scales_embedding = false;         // embeddings times sqrt(dim)
  Presence qkv_bias = Presence::kNever;  // attn_{q,k,v}.bias
  Presence out_bias = Presence::kNever;  // attn_output.bias
  Presence qk_norm = Presence::kNever;   // attn_{q,k}_norm, one RMSNorm per head
  Presence post_norms =
      Presence::kNever;         // post_attention_norm and post_ffw_norm: norms before the residual sums
  int64_t window_period = 0;    // of each period of layers all but the last have the window; 0 = all have
  double local_rope_theta = 0;  // rope base of the windowed layers unless metadata names one; 0 = as global
  int64_t query_scale_by_dim_layers = 0;  // with so many layers scores are scaled by (dim / n_heads)^-1/2,
                                          // not head_dim^-1/2; 0 = never
};

std::span<const ArchRow> arch_table();
const ArchRow* find_arch(std::string_view name);

}  // namespace inferno::model
