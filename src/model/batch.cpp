#include "model/batch.h"

#include "base/check.h"

namespace inferno::model {

void Batch::append(const kv::KvCache& cache, int32_t seq, std::span<const int32_t> tokens,
                   int64_t first_position, Logits logits) {
  CHECK(!tokens.empty(), "sequence {} adds nothing", seq);
  const std::span<const int32_t> blocks = cache.block_table(seq);
  const int64_t block_size = cache.block_size();
  const size_t columns = n_seqs() == 0 ? blocks.size() : block_tables.size() / context_lens.size();
  CHECK(blocks.size() == columns, "block tables of {} and {} columns in one batch", columns, blocks.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    const int64_t position = first_position + static_cast<int64_t>(i);
    const int64_t block = blocks[static_cast<size_t>(position / block_size)];
    token_ids.push_back(tokens[i]);
    positions.push_back(static_cast<int32_t>(position));
    slot_mapping.push_back(block * block_size + position % block_size);
    if (logits == Logits::kAll || (logits == Logits::kLast && i + 1 == tokens.size())) {
      logits_indices.push_back(static_cast<int32_t>(n_tokens() - 1));
    }
  }
  cu_seqlens_q.push_back(static_cast<int32_t>(n_tokens()));
  context_lens.push_back(static_cast<int32_t>(first_position + static_cast<int64_t>(tokens.size())));
  block_tables.insert(block_tables.end(), blocks.begin(), blocks.end());
}

void Batch::clear() {
  *this = Batch{};
}

backend::BatchView Batch::view() const {
  backend::BatchView view;
  view.n_tokens = n_tokens();
  view.n_seqs = n_seqs();
  view.n_logits = static_cast<int64_t>(logits_indices.size());
  view.max_blocks = n_seqs() == 0 ? 0 : static_cast<int64_t>(block_tables.size()) / n_seqs();
  view.token_ids = token_ids.data();
  view.positions = positions.data();
  view.cu_seqlens_q = cu_seqlens_q.data();
  view.context_lens = context_lens.data();
  view.block_tables = block_tables.data();
  view.slot_mapping = slot_mapping.data();
  view.logits_indices = logits_indices.data();
  return view;
}

}  // namespace inferno::model
