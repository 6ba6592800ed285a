// INFERNO_OPAQUE(x): the compiler forgets what it knows of the variable x, at no cost. So a loop that is run
// for its time (PeakLoop) is neither folded nor moved. INFERNO_IN_ORDER(x): it does not regroup the sum that
// x is a part of; it may move it. g++ 12 adds up whole numbers in a tree, of which all leaves live at once,
// more than there are registers for. x is a vector or floating-point number. INFERNO_OPAQUE_POINTER(x): the
// compiler does not see that x points to where it read before; it may move it.
#pragma once

// A macro, since a template drops the attributes of the vector types.
#if defined(__x86_64__)
#define INFERNO_OPAQUE(x) asm volatile("" : "+v"(x))
#define INFERNO_IN_ORDER(x) asm("" : "+v"(x))
#else
#define INFERNO_OPAQUE(x) asm volatile("" : "+w"(x))
#define INFERNO_IN_ORDER(x) asm("" : "+w"(x))
#endif
#define INFERNO_OPAQUE_POINTER(x) asm volatile("" : "+r"(x))
