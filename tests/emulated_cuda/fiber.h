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

  // The next resume() begins `body` anew, whatever went on before; it outlives the run.
  void start(const std::function<void()>& body);
  // Runs it until it yields or ends. Not within a fiber.
  void resume();
  bool ended() const { return ended_; }
  // Stops the fiber that runs, until it is resumed.
  static void yield();

 private:
  static void enter();
  void switch_to();
  [[noreturn]] static void switch_back();

  std::unique_ptr<std::byte[]> stack_;
  const std::function<void()>* body_ = nullptr;
  bool entered_ = false;  // its stack is in use: to be gone on with by a jump
  bool ended_ = true;
  void* here_[5] = {};  // as __builtin_setjmp has it
};

}  // namespace inferno::emulated_cuda
