// Batch: what one forward pass computes, as flat arrays; names as in flash-attention and vLLM.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/args.h"
#include "kv/kv_cache.h"

namespace inferno::model {

struct Batch {
  std::vector<int32_t> token_ids;           // (n_tokens)
  std::vector<int32_t> positions;           // (n_tokens)
  std::vector<int32_t> cu_seqlens_q = {0};  // (n_seqs + 1)
  std::vector<int32_t> context_lens;        // (n_seqs), this batch's tokens included
  std::vector<int32_t> block_tables;        // (n_seqs, max_blocks)
  std::vector<int64_t> slot_mapping;        // (n_tokens)
  std::vector<int32_t> logits_indices;      // (n_logits)

  // Of each row of logits only the highest is wanted, and where it stands: others may come out as -inf.
  bool highest_only = false;

  enum class Logits { kNone, kLast, kAll };

  // Adds tokens of sequence `seq` that stand at first_position and after, where the cache already has their
  // predecessors and room for them (KvCache::reserve).
  void append(const kv::KvCache& cache, int32_t seq, std::span<const int32_t> tokens, int64_t first_position,
              Logits logits);
  void clear();

  int64_t n_tokens() const { return static_cast<int64_t>(token_ids.size()); }
  int64_t n_seqs() const { return static_cast<int64_t>(context_lens.size()); }
  backend::BatchView view() const;
};

}  // namespace inferno::model
