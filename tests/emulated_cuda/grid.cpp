#include "emulated_cuda/grid.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "emulated_cuda/fiber.h"

namespace inferno::emulated_cuda {

Index3 thread_index, block_index, block_size, grid_size;
bool backwards = false;

namespace {

constexpr unsigned kWarpSize = 32;

enum class Stop { kNone, kWarp, kBlock };  // what a thread waits for

struct Warp {
  std::array<std::array<uint64_t, kWarpSize>, 2> mailboxes{};
};

struct Thread {
  explicit Thread(Warp& its_warp, unsigned its_lane) : warp(its_warp), lane(its_lane) {}
  Warp& warp;
  unsigned lane;
  Index3 index{};
  Stop stop = Stop::kNone;
  bool odd = false;  // which of two mailboxes the next exchange uses: others may still read the last one
  std::source_location place;
  Fiber fiber;
};

// Kept for the next block.
std::vector<std::unique_ptr<Warp>> warps;
std::vector<std::unique_ptr<Thread>> threads;
// The lanes that go on one after the other, and who does.
unsigned turn_begin = 0, turn_end = 0;
Thread* running = nullptr;

std::string_view file_of(const std::source_location& place) {
  const std::string_view path = place.file_name();
  return path.substr(path.rfind('/') + 1);
}

std::string state_of(unsigned number) {
  const Thread& t = *threads[number];
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
    if (same_state(*threads[begin], *threads[i])) continue;
    return fmt::format("block ({}, {}, {}): {}, {}", block_index.x, block_index.y, block_index.z,
                       state_of(begin), state_of(i));
  }
  return std::nullopt;
}

// The lane after the one that runs, or nullptr after the last: it is the running one from here on.
Fiber* next_in_turn() {
  if (turn_begin == turn_end) return nullptr;
  running = threads[backwards ? --turn_end : turn_begin++].get();
  running->stop = Stop::kNone;
  thread_index = running->index;
  return &running->fiber;
}

// Calls fn with 0 .. n - 1, or backwards.
template <class Fn>
void for_each(unsigned n, const Fn& fn) {
  for (unsigned i = 0; i < n; ++i) fn(backwards ? n - 1 - i : i);
}

// Until all of its lanes have ended or wait for the block.
std::optional<std::string> run_warp(unsigned begin, unsigned end) {
  do {
    turn_begin = begin;
    turn_end = end;
    Fiber::run(*next_in_turn());
    // Only an exchange or a barrier makes lanes wait for each other.
    const auto waits = [](const auto& t) { return !t->fiber.ended(); };
    if (std::any_of(threads.begin() + begin, threads.begin() + end, waits)) {
      if (auto error = disagreement(begin, end)) return error;
    }
  } while (!threads[begin]->fiber.ended() && threads[begin]->stop == Stop::kWarp);
  return std::nullopt;
}

std::optional<std::string> run_block(unsigned n, const std::function<void()>& body) {
  for (unsigned i = 0; i < n; ++i) {
    Thread& t = *threads[i];
    t.fiber.start(body, next_in_turn);
    t.odd = false;
    t.index = {i % block_size.x, i / block_size.x % block_size.y, i / block_size.x / block_size.y};
  }
  do {
    std::optional<std::string> error;
    for_each((n + kWarpSize - 1) / kWarpSize, [&](unsigned warp) {
      if (!error) error = run_warp(warp * kWarpSize, std::min(n, (warp + 1) * kWarpSize));
    });
    if (!error) error = disagreement(0, n);
    if (error) return error;
  } while (!threads[0]->fiber.ended());
  return std::nullopt;
}

}  // namespace

std::string run_grid(Index3 grid, Index3 block, const std::function<void()>& thread) {
  const unsigned n = block.x * block.y * block.z;
  for (auto i = static_cast<unsigned>(threads.size()); i < n; ++i) {
    if (i % kWarpSize == 0) warps.push_back(std::make_unique<Warp>());
    threads.push_back(std::make_unique<Thread>(*warps.back(), i % kWarpSize));
  }
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
  running->stop = Stop::kBlock;
  running->place = place;
  Fiber::pass_on(next_in_turn());
}

uint64_t exchange(uint64_t bits, unsigned from, const std::source_location& place) {
  Thread& self = *running;
  auto& mailbox = self.warp.mailboxes[self.odd ? 1 : 0];
  self.odd = !self.odd;
  mailbox[self.lane] = bits;
  self.stop = Stop::kWarp;
  self.place = place;
  Fiber::pass_on(next_in_turn());
  return mailbox[from];
}

unsigned lane_number() {
  return running->lane;
}

}  // namespace inferno::emulated_cuda
