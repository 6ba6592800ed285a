// Fetcher: brings what is multiplied next into the second-level cache while other things are multiplied (but
// two runs of panels into the first).
// Otherwise memory rests during all tiles of a panel but the first, and the first waits for memory.
#pragma once

#include <cstdint>

namespace inferno::kernels {
namespace {

// What one tile fetches: so many lines at each of its steps.
struct Fetch {
  static constexpr bool kIsInParts = false;  // of a step
  const uint8_t* at;
  int64_t lines;

  [[gnu::always_inline]] void step() {
    for (int64_t line = 0; line < lines; ++line, at += 64) __builtin_prefetch(at, 0, 2);
  }
};

class Fetcher {
 public:
  // In n_tiles tiles of n_steps steps; the first ones may fetch all of it. nullptr: nothing.
  Fetcher(const uint8_t* begin, int64_t bytes, int64_t n_tiles, int64_t n_steps)
      : at_(begin),
        end_(begin == nullptr ? begin : begin + bytes),
        n_steps_(n_steps),
        lines_((bytes + n_tiles * n_steps * 64 - 1) / (n_tiles * n_steps * 64)) {}

  Fetch next_tile() {
    if (at_ >= end_) return {nullptr, 0};
    const Fetch fetch = {at_, lines_};
    at_ += n_steps_ * lines_ * 64;
    return fetch;
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
  int64_t n_steps_;
  int64_t lines_;  // at a step
};

// The same as several streams side by side, and at the pace of the steps. A core asks for few lines by
// itself; most come because it foresees a stream, and of each stream it foresees some twenty lines. What that
// gains over other numbers of streams is in docs/decisions/007; where tiles are many, and so have time, its
// own instructions cost more.
constexpr int kStreamsOfPanels = 3;  // of the next panels, some 20 to 100 KiB
constexpr int kStreamsOfTurn = 4;    // of all of the next turn's, about kFetchedBytes
constexpr int64_t kHurriedTiles = 4;

template <int kStreams, int kIntoCache = 2>
struct StreamsFetch {
  static constexpr bool kIsInParts = true;
  const uint8_t* at;
  int64_t to_next;  // stream, in bytes
  int64_t pace;     // bytes of a stream at each step
  int64_t due = 0;
  int64_t done = 0;

  // Nothing more.
  void stop() { pace = 0; }
  // A step's lines all at once.
  [[gnu::always_inline]] void step() {
    begin_step();
    while (done < due) ask();
  }
  // Or up to one of each stream at a time, between other things.
  [[gnu::always_inline]] void begin_step() { due += pace; }
  [[gnu::always_inline]] void part_of_step() {
    if (done < due) ask();
  }

 private:
  [[gnu::always_inline]] void ask() {
#pragma GCC unroll 4
    for (int64_t i = 0; i < kStreams; ++i) __builtin_prefetch(at + i * to_next + done, 0, 4 - kIntoCache);
    done += 64;
  }
};

template <int kStreams>
class StreamsFetcher {
 public:
  // As Fetcher's; there may be no tiles.
  StreamsFetcher(const uint8_t* begin, int64_t bytes, int64_t n_tiles, int64_t n_steps)
      : at_(begin),
        stream_(lines_of(bytes, kStreams) * 64),
        piece_(n_tiles == 0 ? 0 : lines_of(bytes, kStreams * n_tiles) * 64),
        pace_(begin == nullptr ? 0 : (piece_ + n_steps - 1) / n_steps) {}

  StreamsFetch<kStreams> next_tile() {
    const StreamsFetch<kStreams> fetch = {at_, stream_, pace_};
    at_ += at_ == nullptr ? 0 : piece_;
    return fetch;
  }

 private:
  // Of a part, where bytes are cut into so many.
  static int64_t lines_of(int64_t bytes, int64_t parts) { return (bytes + parts * 64 - 1) / (parts * 64); }

  const uint8_t* at_;
  int64_t stream_;  // bytes
  int64_t piece_;   // of it, for a tile
  int64_t pace_;
};

// Nothing, without a trace in the loop, so that more of its loads are on their way at once.
struct NoFetch {
  static constexpr bool kFetches = false;
  [[gnu::always_inline]] void step() {}
};

// Runs of panels that are multiplied side by side ask for themselves, a little ahead, into the first-level
// cache (docs/decisions/007 has other numbers and distances): for every line …
template <int kRuns>
using LinesAhead = StreamsFetch<kRuns, 1>;
constexpr int64_t kLinesAhead = 33 * 64;
constexpr int64_t kLinesAheadOfTiles = 65 * 64;  // where rows of activations are many

// … or, where so little is done with a line that the processor foresees the next ones by itself, for the
// first two of each page, which it does not foresee.
template <int kRuns>
struct PagesAhead {
  const uint8_t* at;
  int64_t to_next;  // run, in bytes
  int64_t pace;     // bytes of a run at each step

  [[gnu::always_inline]] void step() {
    constexpr uintptr_t kPage = 4096, kBefore = 1024;  // bytes before its beginning
#pragma GCC unroll 4
    for (int64_t i = 0; i < kRuns; ++i) {
      const auto from = reinterpret_cast<uintptr_t>(at + i * to_next) + kBefore;
      const uintptr_t to = from + static_cast<uintptr_t>(pace);
      if (from / kPage == to / kPage) continue;
      const auto* page = reinterpret_cast<const uint8_t*>(to / kPage * kPage);
      __builtin_prefetch(page, 0, 3);
      __builtin_prefetch(page + 64, 0, 3);
    }
    at += pace;
  }
};

// Of runs that are multiplied in several tiles, of which the first one reads them from memory.
template <class AnyFetch>
class FirstTileFetcher {
 public:
  explicit FirstTileFetcher(const AnyFetch& fetch) : fetch_(fetch) {}

  AnyFetch next_tile() {
    const AnyFetch fetch = fetch_;
    fetch_.stop();
    return fetch;
  }

 private:
  AnyFetch fetch_;
};

using PanelsFetcher = StreamsFetcher<kStreamsOfPanels>;
using TurnFetcher = StreamsFetcher<kStreamsOfTurn>;

}  // namespace
}  // namespace inferno::kernels
