// Attention of a batch, shared among the threads of a team.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "backend/args.h"
#include "backend/cpu/timed_choice.h"
#include "backend/cpu_isa.h"
#include "backend/host_backend.h"
#include "base/thread_team.h"

namespace inferno::backend {

class CpuAttention {
 public:
  // All three outlive it.
  CpuAttention(const CpuKernels& kernels, ThreadTeam& team, HostBackend& memory)
      : kernels_(kernels), team_(team), memory_(memory), way_(plan_of(kernels)) {}

  // A part is one sequence's and one KV head's query rows, at most CacheKernels::query_rows of them. Where
  // there are fewer parts than threads (decode with few KV heads), they are cut into chunks of positions; the
  // bits are the same.
  void run(const AttentionArgs& a);

 private:
  struct Part {
    int64_t seq, kv_head;
    int64_t row_begin, row_end;
    int64_t chunk_begin, chunk_end;  // that its rows see
    int64_t first_turn;              // of its chunks among those of all parts
    int64_t partial;                 // where they begin, in floats
    int64_t n_left;                  // of them to be done
  };

  // One of a part's chunks.
  struct Chunk {
    Part& part;
    int64_t i;
    float* partials;  // the part's
  };

  // Which parts there are, and how many bytes of keys and values they read.
  void list_parts(const AttentionArgs& a);
  bool reserve_partials(int64_t head_dim);
  Chunk chunk_of(int64_t turn);
  int64_t n_turns(bool is_pipeline) const;
  void run_parts(const kernels::AttentionParams& all, int fetched_streams);
  void run_pipelines(const kernels::AttentionParams& all, int fetched_streams);
  void run_in_chunks(const kernels::AttentionParams& all, int fetched_streams);

  const CpuKernels& kernels_;
  ThreadTeam& team_;
  HostBackend& memory_;
  std::vector<Part> parts_;  // of the call under way
  uint64_t bytes_read_ = 0;  // likewise; by the part that reads the most:
  uint64_t largest_part_ = 0;
  bool is_decoding_ = false;  // a query of each sequence
  // How keys and values of few query rows are read: what is fastest is a matter of the processor
  // (docs/decisions/010).
  struct Way {
    int fetched_streams;
    bool is_pipeline;  // CpuKernels::attention_pipeline
  };
  static constexpr std::array kWays = {Way{0, false}, Way{2, false}, Way{4, false}, Way{2, true},
                                       Way{0, true}};
  static constexpr int kWaysWithoutPipeline = 3;  // those that come first
  static_assert(!kWays[kWaysWithoutPipeline - 1].is_pipeline && kWays[kWaysWithoutPipeline].is_pipeline);
  static TimedChoice::Plan plan_of(const CpuKernels& kernels) {
    const bool has_pipeline = kernels.attention_pipeline != nullptr;
    return {"way of reading keys and values",
            has_pipeline ? static_cast<int>(kWays.size()) : kWaysWithoutPipeline, has_pipeline ? 120 : 36,
            8192, 128};
  }
  TimedChoice way_;
  Buffer partials_;
};

}  // namespace inferno::backend
