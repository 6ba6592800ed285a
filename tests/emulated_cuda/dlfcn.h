// Stands in for the system's header where backend/cuda is compiled to be tested: a library of CUDA is looked
// for in the folder $EMULATED_CUDA_LIBRARIES alone, so that none meets the emulated device's memory and
// streams that was not made for them.
#pragma once
#pragma GCC system_header
#include_next <dlfcn.h>

void* emulated_dlopen(const char* name, int flags);
#define dlopen emulated_dlopen
