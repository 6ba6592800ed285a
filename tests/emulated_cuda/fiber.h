// Fiber: a function that can stop in its middle and go on later, on a stack of its own. What a thread of an
// emulated block is.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace inferno::emulated_cuda {

class Fiber {
 public:
  Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // The next time it begins `body` anew, whatever went on before; it outlives the run. At its end it passes
  // on to what `next` says.
  void start(const std::function<void()>& body, Fiber* (*next)());
  bool ended() const { return ended_; }

  // Runs `first`, and what it passes on to, until one passes on to nobody. Not within a fiber.
  static void run(Fiber& first);
  // Stops the fiber that runs, until it is run or passed on to, and goes on with `next`.
  static void pass_on(Fiber* next);

 private:
  static void enter();
  void jump_in();
  [[noreturn]] static void jump_back();

  std::unique_ptr<std::byte[]> stack_;
  const std::function<void()>* body_ = nullptr;
  Fiber* (*next_)() = nullptr;
  bool entered_ = false;  // its stack is in use: to be gone on with by a jump
  bool ended_ = true;
  void* here_[5] = {};  // as __builtin_setjmp has it
};

}  // namespace inferno::emulated_cuda
