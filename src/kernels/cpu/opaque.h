// INFERNO_OPAQUE(x): the compiler forgets what it knows of the variable x, at no cost. So a loop that is run
// for its time (PeakLoop) is neither folded nor moved. x is a vector or floating-point number.
#pragma once

// A macro, since a template drops the attributes of the vector types.
#if defined(__x86_64__)
#define INFERNO_OPAQUE(x) asm volatile("" : "+v"(x))
#else
#define INFERNO_OPAQUE(x) asm volatile("" : "+w"(x))
#endif
