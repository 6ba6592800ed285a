// UndeliveredBatch: the ids of the latest batch that its caller had no room for. The call that asks for the
// size and the one that fetches the ids are then one encoding.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace inferno::tokenizer {

struct EncodedBatch {
  std::vector<std::vector<int32_t>> ids;  // of each text
  std::chrono::nanoseconds time{0};       // spent on encoding, summed over texts
};

// Threads may share one.
class UndeliveredBatch {
 public:
  // Of texts and ids together; a larger batch is not kept.
  static constexpr size_t kMaxBytes = size_t{64} << 20;

  // Replaces what was kept.
  void keep(std::span<const std::string_view> texts, const EncodeOptions& options, EncodedBatch batch);
  // What was kept, if it belongs to these very texts and options; it is given once.
  std::optional<EncodedBatch> take(std::span<const std::string_view> texts, const EncodeOptions& options);
  void forget();

 private:
  struct Kept {
    std::vector<std::string> texts;
    EncodeOptions options;
    EncodedBatch batch;
  };

  std::mutex mutex_;  // guards what follows
  std::optional<Kept> kept_;
};

}  // namespace inferno::tokenizer
