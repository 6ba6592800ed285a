#include "backend/cuda/batch_on_device.h"

#include <span>

#include "backend/cuda/device_memory.h"

namespace inferno::backend::cuda {
namespace {

// Calls fn with each array of the batch and its length; arrays that are not there are left out.
template <class Fn>
void for_each_array(BatchView& batch, const Fn& fn) {
  const auto visit = [&](auto*& array, int64_t n) {
    if (array != nullptr) fn(array, static_cast<size_t>(n));
  };
  visit(batch.slot_mapping, batch.n_tokens);  // first, as its elements are the largest
  visit(batch.token_ids, batch.n_tokens);
  visit(batch.positions, batch.n_tokens);
  visit(batch.cu_seqlens_q, batch.n_seqs + 1);
  visit(batch.context_lens, batch.n_seqs);
  visit(batch.block_tables, batch.n_seqs * batch.max_blocks);
  visit(batch.logits_indices, batch.n_logits);
}

}  // namespace

Result<BatchView> BatchOnDevice::copy(const BatchView& host, Staging& staging, cudaStream_t stream) {
  BatchView view = host;
  packed_.clear();
  for_each_array(view, [&](auto*& array, size_t n) {
    const auto bytes = std::as_bytes(std::span(array, n));
    packed_.insert(packed_.end(), bytes.begin(), bytes.end());
  });
  if (packed_.size() > device_.bytes()) {
    TRY_ASSIGN(device_, alloc(2 * packed_.size()));
  }
  TRY(staging.copy(device_.data(), packed_.data(), packed_.size(), stream));
  std::byte* at = static_cast<std::byte*>(device_.data());
  for_each_array(view, [&]<class T>(const T*& array, size_t n) {
    array = reinterpret_cast<const T*>(at);
    at += n * sizeof(T);
  });
  return view;
}

}  // namespace inferno::backend::cuda
