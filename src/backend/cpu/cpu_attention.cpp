#include "backend/cpu/cpu_attention.h"

#include <algorithm>
#include <atomic>
#include <chrono>

namespace inferno::backend {
namespace {

using kernels::AttentionParams;
using kernels::kAttentionChunk;

// For what chunks leave. Beyond, parts stay whole: that many rows and positions are much work for a part.
constexpr int64_t kMaxPartialBytes = int64_t{16} << 20;
// Parts have different work, and whoever is done early takes the next one.
constexpr int64_t kPartsPerThread = 4;
constexpr int64_t kFewestRows = 24;
// Of keys and values of a turn of a decoding batch at most, but a part at least, if there are enough turns
// for each thread: to take one is an atomic operation, for which a thread waits until all that it reads is
// there.
constexpr uint64_t kTurnBytes = 320 * 1024;
constexpr int64_t kFewestTurns = 2;
// The same of a pipeline, whose ends have nothing beside them.
constexpr uint64_t kPipelineBytes = 2 * 1024 * 1024;

constexpr int64_t kPipelineParts = 16;  // at most

template <class Part>
kernels::AttentionPart whole(const AttentionParams& all, const Part& part) {
  return {all, part.seq, part.kv_head, part.row_begin, part.row_end};
}

// Which head stands at a place, where each thread takes every n_threads-th: heads that are neighbours, if as
// many for each. Faster where processors have caches of their own, presumably since what one of them reads
// ahead at a head's end is not what the other writes (docs/decisions/010).
int64_t head_at(int64_t place, int64_t n_heads, int64_t n_threads) {
  if (n_heads % n_threads != 0) return place;
  return place % n_threads * (n_heads / n_threads) + place / n_threads;
}

}  // namespace

void CpuAttention::run(const AttentionArgs& a) {
  const AttentionParams all = {
      a.q.as<float>(), a.kv,           a.batch.block_tables, a.batch.cu_seqlens_q, a.batch.context_lens,
      a.y.as<float>(), a.batch.n_seqs, a.batch.max_blocks,   a.q.shape[1],         a.scale,
      a.window};
  list_parts(a);
  const bool is_few_rows = is_decoding_ && a.q.shape[1] / a.kv.n_kv_heads <= kernels_.fetched_query_rows;
  const bool is_trial = is_few_rows && !kernels_.in_tiles(a.kv) && bytes_read_ >= kUncachedBytes;
  const Way way = kWays[static_cast<size_t>(is_trial ? way_.way() : 0)];
  const auto start = std::chrono::steady_clock::now();
  if (parts_.size() < team_.n_threads() && reserve_partials(a.kv.head_dim)) {
    run_in_chunks(all, way.fetched_streams);
  } else if (way.is_pipeline) {
    run_pipelines(all, way.fetched_streams);
  } else {
    run_parts(all, way.fetched_streams);
  }
  if (is_trial) way_.took(std::chrono::steady_clock::now() - start, bytes_read_);
}

// As many for each thread, of as many parts or nearly.
int64_t CpuAttention::n_turns(bool is_pipeline) const {
  const auto n_parts = static_cast<int64_t>(parts_.size());
  const int64_t n_threads = team_.n_threads();
  if (!is_decoding_ || largest_part_ == 0) return n_parts;
  const uint64_t most_bytes = is_pipeline ? kPipelineBytes : kTurnBytes;
  const int64_t most_parts = std::max<int64_t>(1, static_cast<int64_t>(most_bytes / largest_part_));
  const int64_t of_thread = (n_parts + most_parts * n_threads - 1) / (most_parts * n_threads);
  return std::min(n_parts, std::max(of_thread, kFewestTurns) * n_threads);
}

void CpuAttention::run_parts(const AttentionParams& all, int fetched_streams) {
  const auto n_parts = static_cast<int64_t>(parts_.size());
  const int64_t n_turns = this->n_turns(false);
  const auto begin_of = [&](int64_t turn) { return n_parts * turn / n_turns; };
  const auto attend = kernels_.cache_of(all.kv).attention;
  team_.run(n_turns, [&](int64_t turn, unsigned) {
    const int64_t end = begin_of(turn + 1);
    for (int64_t i = begin_of(turn); i < end; ++i) {
      kernels::AttentionPart own = whole(all, parts_[static_cast<size_t>(i)]);
      own.fetched_streams = fetched_streams;
      own.is_fetched = i > begin_of(turn) || turn >= team_.n_threads();
      kernels::AttentionPart next;
      const int64_t after = i + 1 < end ? i + 1 : begin_of(turn + team_.n_threads());
      if (after < n_parts) {
        next = whole(all, parts_[static_cast<size_t>(after)]);
        own.next = &next;
      }
      attend(own);
    }
  });
}

// A thread's turns are neighbours: of one sequence, the heads of which it is likely to have made keys and
// values.
void CpuAttention::run_pipelines(const AttentionParams& all, int fetched_streams) {
  const auto n_parts = static_cast<int64_t>(parts_.size());
  const int64_t n_turns = this->n_turns(true);
  const int64_t n_threads = team_.n_threads();
  const int64_t of_thread = n_turns % n_threads == 0 ? n_turns / n_threads : 1;
  const auto begin_of = [&](int64_t i) { return n_parts * i / n_turns; };
  const auto part_at = [&](int64_t i) { return whole(all, parts_[static_cast<size_t>(i)]); };
  team_.run(n_turns, [&](int64_t turn, unsigned) {
    const int64_t i = of_thread == 1 ? turn : turn % n_threads * of_thread + turn / n_threads;
    const int64_t end = begin_of(i + 1);
    const int64_t end_of_thread = begin_of((i / of_thread + 1) * of_thread);
    std::array<kernels::AttentionPart, kPipelineParts> own;
    for (int64_t begin = begin_of(i); begin < end; begin += kPipelineParts) {
      const int64_t n = std::min(end - begin, kPipelineParts);
      for (int64_t part = 0; part < n; ++part) own[static_cast<size_t>(part)] = part_at(begin + part);
      own.front().fetched_streams = fetched_streams;
      kernels::AttentionPart next;
      if (begin + n < end_of_thread) {
        next = part_at(begin + n);
        own[static_cast<size_t>(n - 1)].next = &next;
      }
      kernels_.attention_pipeline(own.data(), n);
    }
  });
}

void CpuAttention::list_parts(const AttentionArgs& a) {
  parts_.clear();
  bytes_read_ = 0;
  largest_part_ = 0;
  is_decoding_ = true;
  const int64_t heads_per_kv_head = a.q.shape[1] / a.kv.n_kv_heads;
  const int64_t n_queries_of_all = a.batch.cu_seqlens_q[a.batch.n_seqs];
  // Fewer rows read the cache more often, but a thread without a part waits.
  int64_t most_rows = kernels_.cache_of(a.kv).query_rows;
  while (most_rows > kFewestRows &&
         n_queries_of_all * a.q.shape[1] < most_rows * kPartsPerThread * team_.n_threads()) {
    most_rows /= 2;
  }
  for (int64_t s = 0; s < a.batch.n_seqs; ++s) {
    const int64_t n_queries = a.batch.cu_seqlens_q[s + 1] - a.batch.cu_seqlens_q[s];
    const int64_t first_position = a.batch.context_lens[s] - n_queries;
    const int64_t rows = n_queries * heads_per_kv_head;
    if (rows == 0) continue;
    is_decoding_ = is_decoding_ && n_queries == 1;
    const int64_t n_seen =
        a.window == 0 ? a.batch.context_lens[s] : std::min<int64_t>(a.window, a.batch.context_lens[s]);
    const uint64_t head_bytes = 2 * row_bytes(a.kv.dtype, static_cast<size_t>(n_seen * a.kv.head_dim));
    bytes_read_ += head_bytes * static_cast<uint64_t>(a.kv.n_kv_heads);
    largest_part_ = std::max(largest_part_, head_bytes);
    // The last rows first: they see the most.
    for (int64_t begin = (rows - 1) / most_rows * most_rows; begin >= 0; begin -= most_rows) {
      const int64_t end = std::min(rows, begin + most_rows);
      const int64_t first = first_position + begin / heads_per_kv_head;
      const int64_t last = first_position + (end - 1) / heads_per_kv_head;
      const int64_t oldest = a.window == 0 ? 0 : std::max<int64_t>(0, first - a.window + 1);
      for (int64_t i = 0; i < a.kv.n_kv_heads; ++i) {
        const int64_t h = is_decoding_ ? i : head_at(i, a.kv.n_kv_heads, team_.n_threads());
        parts_.push_back({s, h, begin, end, oldest / kAttentionChunk, last / kAttentionChunk + 1, 0, 0, 0});
      }
    }
  }
}

// Whether there is more than one chunk somewhere, and room for what all leave.
bool CpuAttention::reserve_partials(int64_t head_dim) {
  int64_t turns = 0;
  int64_t floats = 0;
  for (Part& part : parts_) {
    part.first_turn = turns;
    part.partial = floats;
    part.n_left = part.chunk_end - part.chunk_begin;
    turns += part.chunk_end - part.chunk_begin;
    floats += (part.chunk_end - part.chunk_begin) * (part.row_end - part.row_begin) * (head_dim + 2);
  }
  const auto bytes = floats * static_cast<int64_t>(sizeof(float));
  if (turns == static_cast<int64_t>(parts_.size()) || bytes > kMaxPartialBytes) return false;
  if (static_cast<size_t>(bytes) <= partials_.bytes()) return true;
  Result<Buffer> buffer = memory_.alloc(static_cast<size_t>(bytes));
  if (buffer) partials_ = std::move(*buffer);
  return buffer.ok();
}

CpuAttention::Chunk CpuAttention::chunk_of(int64_t turn) {
  const auto after = std::upper_bound(parts_.begin(), parts_.end(), turn,
                                      [](int64_t t, const Part& part) { return t < part.first_turn; });
  Part& part = *(after - 1);
  return {part, turn - part.first_turn, static_cast<float*>(partials_.data()) + part.partial};
}

// One loop: whoever does the last chunk of a part joins them all.
void CpuAttention::run_in_chunks(const AttentionParams& all, int fetched_streams) {
  const auto alone = [&](const Chunk& chunk) {
    kernels::AttentionPart own = whole(all, chunk.part);
    own.partial = chunk.partials + chunk.i * (own.row_end - own.row_begin) * (all.kv.head_dim + 2);
    own.chunk = chunk.part.chunk_begin + chunk.i;
    return own;
  };
  const auto attend = kernels_.cache_of(all.kv).attention;
  const Part& last = parts_.back();
  const int64_t n_turns = last.first_turn + last.chunk_end - last.chunk_begin;
  team_.run(n_turns, [&](int64_t turn, unsigned) {
    const Chunk chunk = chunk_of(turn);
    kernels::AttentionPart own = alone(chunk);
    own.fetched_streams = fetched_streams;
    own.is_fetched = turn >= team_.n_threads();
    kernels::AttentionPart next;
    if (turn + team_.n_threads() < n_turns) {
      next = alone(chunk_of(turn + team_.n_threads()));
      own.next = &next;
    }
    attend(own);
    if (std::atomic_ref(chunk.part.n_left).fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    own.partial = chunk.partials;
    kernels_.merge_attention(own, chunk.part.chunk_end - chunk.part.chunk_begin);
  });
}

}  // namespace inferno::backend
