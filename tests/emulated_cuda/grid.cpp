#include "emulated_cuda/grid.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "emulated_cuda/fiber.h"

namespace inferno::emulated_cuda {

Index3 thread_index, block_index, block_size, grid_size;
bool backwards = false;

namespace {

constexpr unsigned kWarpSize = 32;

enum class Stop { kNone, kWarp, kBlock };  // what a thread waits for

struct Thread {
  Fiber fiber;
  Index3 index{};
  Stop stop = Stop::kNone;
  std::source_location place;
  bool odd = false;  // which of two mailboxes the next exchange uses: others may still read the last one
};

struct Warp {
  std::array<std::array<uint64_t, kWarpSize>, 2> mailboxes{};
};

std::deque<Thread> threads;  // stay where they are; kept for the next block
std::vector<Warp> warps;
unsigned running = 0;

std::string_view file_of(const std::source_location& place) {
  const std::string_view path = place.file_name();
  return path.substr(path.rfind('/') + 1);
}

std::string state_of(unsigned number) {
  const Thread& t = threads[number];
  const std::string who = fmt::format("lane {} of warp {}", number % kWarpSize, number / kWarpSize);
  if (t.fiber.ended()) return who + " has ended";
  return fmt::format("{} waits for its {} at {}:{}", who, t.stop == Stop::kWarp ? "warp" : "block",
                     file_of(t.place), t.place.line());
}

bool same_state(const Thread& a, const Thread& b) {
  if (a.fiber.ended() || b.fiber.ended()) return a.fiber.ended() == b.fiber.ended();
  return a.stop == b.stop && a.place.line() == b.place.line() && a.place.column() == b.place.column() &&
         a.place.file_name() == b.place.file_name();  // the same literal: a kernel is compiled in one file
}

// The first of the threads begin .. end that is elsewhere than `begin`.
std::optional<std::string> disagreement(unsigned begin, unsigned end) {
  for (unsigned i = begin + 1; i < end; ++i) {
    if (same_state(threads[begin], threads[i])) continue;
    return fmt::format("block ({}, {}, {}): {}, {}", block_index.x, block_index.y, block_index.z,
                       state_of(begin), state_of(i));
  }
  return std::nullopt;
}

void go_on(unsigned number) {
  Thread& t = threads[number];
  t.stop = Stop::kNone;
  running = number;
  thread_index = t.index;
  t.fiber.resume();
}

// Calls fn with 0 .. n - 1, or backwards.
template <class Fn>
void for_each(unsigned n, const Fn& fn) {
  for (unsigned i = 0; i < n; ++i) fn(backwards ? n - 1 - i : i);
}

// Until all of its lanes have ended or wait for the block.
std::optional<std::string> run_warp(unsigned begin, unsigned end) {
  do {
    for_each(end - begin, [&](unsigned lane) { go_on(begin + lane); });
    // Only an exchange or a barrier makes lanes wait for each other.
    const auto waits = [](const Thread& t) { return !t.fiber.ended(); };
    if (std::any_of(threads.begin() + begin, threads.begin() + end, waits)) {
      if (auto error = disagreement(begin, end)) return error;
    }
  } while (!threads[begin].fiber.ended() && threads[begin].stop == Stop::kWarp);
  return std::nullopt;
}

std::optional<std::string> run_block(unsigned n, const std::function<void()>& body) {
  for (unsigned i = 0; i < n; ++i) {
    threads[i].fiber.start(body);
    threads[i].odd = false;
    threads[i].index = {i % block_size.x, i / block_size.x % block_size.y, i / block_size.x / block_size.y};
  }
  do {
    std::optional<std::string> error;
    for_each((n + kWarpSize - 1) / kWarpSize, [&](unsigned warp) {
      if (!error) error = run_warp(warp * kWarpSize, std::min(n, (warp + 1) * kWarpSize));
    });
    if (!error) error = disagreement(0, n);
    if (error) return error;
  } while (!threads[0].fiber.ended());
  return std::nullopt;
}

}  // namespace

std::string run_grid(Index3 grid, Index3 block, const std::function<void()>& thread) {
  const unsigned n = block.x * block.y * block.z;
  while (threads.size() < n) threads.emplace_back();
  warps.resize((n + kWarpSize - 1) / kWarpSize);
  grid_size = grid;
  block_size = block;
  std::string error;
  for_each(grid.x * grid.y * grid.z, [&](unsigned i) {
    if (!error.empty()) return;
    block_index = {i % grid.x, i / grid.x % grid.y, i / grid.x / grid.y};
    error = run_block(n, thread).value_or("");
  });
  return error;
}

void wait_for_block(const std::source_location& place) {
  threads[running].stop = Stop::kBlock;
  threads[running].place = place;
  Fiber::yield();
}

void wait_for_warp(const std::source_location& place) {
  threads[running].stop = Stop::kWarp;
  threads[running].place = place;
  Fiber::yield();
}

uint64_t exchange(uint64_t bits, unsigned from, const std::source_location& place) {
  Thread& self = threads[running];
  auto& mailbox = warps[running / kWarpSize].mailboxes[self.odd ? 1 : 0];
  self.odd = !self.odd;
  mailbox[running % kWarpSize] = bits;
  wait_for_warp(place);
  return mailbox[from];
}

unsigned lane_number() {
  return running % kWarpSize;
}

}  // namespace inferno::emulated_cuda
