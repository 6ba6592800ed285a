#include "emulated_cuda/fiber.h"

#include <ucontext.h>

namespace inferno::emulated_cuda {
namespace {

constexpr size_t kStackBytes = size_t{64} << 10;
Fiber* running = nullptr;
void* caller[5] = {};  // of run()

}  // namespace

Fiber::Fiber() : stack_(new std::byte[kStackBytes]) {}

void Fiber::start(const std::function<void()>& body, Fiber* (*next)()) {
  // A fiber that has ended waits in enter() for the next body.
  if (!ended_) entered_ = false;
  body_ = &body;
  next_ = next;
  ended_ = false;
}

// Contexts can begin a stack, but each switch asks the system for signal masks, which takes longer than what
// a thread does between two barriers. The compiler's own jumps save three registers; a jump may not be in the
// function that it leads to.
void Fiber::run(Fiber& first) {
  if (__builtin_setjmp(caller) == 0) first.jump_in();
  running = nullptr;
}

void Fiber::pass_on(Fiber* next) {
  if (__builtin_setjmp(running->here_) != 0) return;
  if (next == nullptr) jump_back();
  next->jump_in();
}

__attribute__((noinline)) void Fiber::jump_in() {
  running = this;
  if (entered_) __builtin_longjmp(here_, 1);
  entered_ = true;
  ucontext_t first = {};
  getcontext(&first);
  first.uc_stack = {.ss_sp = stack_.get(), .ss_flags = 0, .ss_size = kStackBytes};
  first.uc_link = nullptr;
  makecontext(&first, &Fiber::enter, 0);
  setcontext(&first);
}

__attribute__((noinline)) void Fiber::jump_back() {
  __builtin_longjmp(caller, 1);
}

void Fiber::enter() {
  for (;;) {
    (*running->body_)();
    running->ended_ = true;
    pass_on(running->next_());
  }
}

}  // namespace inferno::emulated_cuda
