# add_isa(name ARCH pattern [EXTENDS isa] [NEEDS feature...] [FLAGS flag...])
#
# Compiles <calling folder>/cpu/<name>/*.cpp with FLAGS and those of the ISA that it EXTENDS into the library
# inferno_kernels, and enters the ISA into the list of kernels/cpu/kernels.h. NEEDS names what a CPU must have besides
# (base/cpu_features.h). Worse ISAs come first. Where CMAKE_SYSTEM_PROCESSOR does not match ARCH or the compiler lacks a
# flag, the ISA is entered without a table, so that it is known by name; so it is where INFERNO_ISAS leaves it out.
include(CheckCXXCompilerFlag)

set(INFERNO_ISAS all CACHE STRING "Whose kernels are built: all of the architecture's; native: those that this machine can run; \
checked: native, and the others compiled, quickly, but not linked")
set_property(CACHE INFERNO_ISAS PROPERTY STRINGS all native checked)
if(NOT INFERNO_ISAS MATCHES "^(all|native|checked)$")
  message(FATAL_ERROR "INFERNO_ISAS: expected all, native or checked, found ${INFERNO_ISAS}")
endif()

# What this machine has, as the program itself finds out; asked again when /proc/cpuinfo says something else.
function(native_features result)
  file(STRINGS /proc/cpuinfo flags REGEX "^(flags|Features)[\t ]*:" LIMIT_COUNT 1)
  if(NOT DEFINED INFERNO_NATIVE_FEATURES OR NOT flags STREQUAL INFERNO_NATIVE_FLAGS)
    try_run(exit_code compiled SOURCES ${PROJECT_SOURCE_DIR}/cmake/print_cpu_features.cpp
      ${PROJECT_SOURCE_DIR}/src/base/cpu_features.cpp
      CMAKE_FLAGS -DINCLUDE_DIRECTORIES=${PROJECT_SOURCE_DIR}/src CXX_STANDARD 20 RUN_OUTPUT_VARIABLE features)
    set(ended_with ${exit_code})
    unset(exit_code CACHE)
    if(NOT compiled OR NOT ended_with EQUAL 0)
      message(FATAL_ERROR "INFERNO_ISAS=${INFERNO_ISAS}: expected the processor's features of "
        "cmake/print_cpu_features.cpp, which does not compile or run; -DINFERNO_ISAS=all does without")
    endif()
    string(REPLACE "\n" ";" features "${features}")
    set(INFERNO_NATIVE_FEATURES "${features}" CACHE INTERNAL "")
    set(INFERNO_NATIVE_FLAGS "${flags}" CACHE INTERNAL "")
  endif()
  set(${result} ${INFERNO_NATIVE_FEATURES} PARENT_SCOPE)
endfunction()

# Both linked after inferno_options, and so stronger. Unrolled loops take a compiler minutes where UBSan checks every
# address; what is read or written there ASan sees.
add_library(inferno_less_sanitized INTERFACE)
if(INFERNO_SANITIZE MATCHES "undefined")
  target_compile_options(inferno_less_sanitized INTERFACE -fno-sanitize=null,pointer-overflow,object-size)
endif()
add_library(inferno_only_compiled INTERFACE)
target_compile_options(inferno_only_compiled INTERFACE -fno-sanitize=all -O0)

function(add_isa name)
  cmake_parse_arguments(ISA "" "ARCH;EXTENDS" "NEEDS;FLAGS" ${ARGN})
  if(ISA_EXTENDS)
    get_property(base_flags GLOBAL PROPERTY INFERNO_ISA_${ISA_EXTENDS}_FLAGS)
    list(PREPEND ISA_FLAGS ${base_flags})
    get_property(base_index GLOBAL PROPERTY INFERNO_ISA_${ISA_EXTENDS}_INDEX)
    set(extends "&kIsas[${base_index}]")
  else()
    set(extends "nullptr")
  endif()

  set(here FALSE)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "${ISA_ARCH}")
    string(MAKE_C_IDENTIFIER "INFERNO_COMPILER_HAS_${name}" has_flags)
    string(JOIN " " flags ${ISA_FLAGS})
    check_cxx_compiler_flag("${flags}" ${has_flags})
    set(here ${${has_flags}})
  endif()
  set(runs TRUE)
  if(here AND NOT INFERNO_ISAS STREQUAL "all" AND NOT CMAKE_CROSSCOMPILING AND EXISTS /proc/cpuinfo)
    native_features(features)
    foreach(feature ${ISA_NEEDS})
      if(NOT feature IN_LIST features)
        set(runs FALSE)
      endif()
    endforeach()
  endif()
  if(NOT runs AND NOT INFERNO_ISAS STREQUAL "checked")
    message(STATUS "Kernels of ${name}: left out, since this machine cannot run them; -DINFERNO_ISAS=all builds them")
    set(here FALSE)
  endif()
  set(table "nullptr")
  if(here)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/cpu/${name}/*.cpp)
    add_library(inferno_kernels_${name} OBJECT ${sources})
    target_include_directories(inferno_kernels_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    set(sanitizers inferno_less_sanitized)
    if(NOT runs)
      set(sanitizers inferno_only_compiled)
    endif()
    target_link_libraries(inferno_kernels_${name} PRIVATE inferno_options ${sanitizers})
    # Last, and so stronger than what the user of the build has set.
    target_compile_options(inferno_kernels_${name} PRIVATE ${ISA_FLAGS})
    # g++ 12 warns of what its own intrinsics leave undefined on purpose.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      target_compile_options(inferno_kernels_${name} PRIVATE -Wno-uninitialized -Wno-maybe-uninitialized)
    endif()
    if(runs)
      target_sources(inferno_kernels PRIVATE $<TARGET_OBJECTS:inferno_kernels_${name}>)
      set_property(GLOBAL APPEND_STRING PROPERTY INFERNO_ISA_DECLARATIONS
        "namespace ${name} {\nCpuKernels table(CpuKernels base);\n}\n")
      set(table "${name}::table")
    else()
      add_dependencies(inferno_kernels inferno_kernels_${name})
    endif()
  endif()

  get_property(index GLOBAL PROPERTY INFERNO_ISA_COUNT)
  if(NOT index)
    set(index 0)
  endif()
  math(EXPR count "${index} + 1")
  set_property(GLOBAL PROPERTY INFERNO_ISA_COUNT ${count})
  set_property(GLOBAL PROPERTY INFERNO_ISA_${name}_INDEX ${index})
  set_property(GLOBAL PROPERTY INFERNO_ISA_${name}_FLAGS "${ISA_FLAGS}")
  list(TRANSFORM ISA_NEEDS REPLACE "(.+)" "\"\\1\"")
  list(APPEND ISA_NEEDS "nullptr")
  string(JOIN ", " needs ${ISA_NEEDS})
  set_property(GLOBAL APPEND_STRING PROPERTY INFERNO_ISA_NEEDS "const char* const kNeeds${index}[] = {${needs}}@\n")
  set_property(GLOBAL APPEND_STRING PROPERTY INFERNO_ISA_ROWS "    {\"${name}\", ${extends}, kNeeds${index}, ${table}},\n")
endfunction()

# Writes the list, after the last add_isa().
function(finish_isas)
  foreach(part DECLARATIONS NEEDS ROWS COUNT)
    get_property(${part} GLOBAL PROPERTY INFERNO_ISA_${part})
  endforeach()
  string(REPLACE "@" ";" NEEDS "${NEEDS}")
  file(CONFIGURE OUTPUT isas.cpp CONTENT [[
// Made by cmake/isa.cmake.
#include "kernels/cpu/kernels.h"

namespace inferno::kernels {
@DECLARATIONS@
namespace {
@NEEDS@
extern const CpuIsa kIsas[@COUNT@];
const CpuIsa kIsas[] = {
@ROWS@};
}  // namespace

CpuIsaList cpu_isas() {
  return {kIsas, @COUNT@};
}

}  // namespace inferno::kernels
]] @ONLY)
  target_sources(inferno_kernels PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/isas.cpp)
endfunction()
