# inferno_options: the flags every target of ours is compiled with; dependencies come in as system headers.
add_library(inferno_options INTERFACE)
target_compile_options(inferno_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wno-missing-field-initializers
    -Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast -Wimplicit-fallthrough>)
# g++ 12 warns of overlapping copies inside std::string's operator+ where there are none.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(inferno_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
# No contraction: an FMA is written explicitly, so that one source gives one order and rounding of operations.
target_compile_options(inferno_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off -fno-strict-aliasing -fstack-protector-strong>)
# Bounds checks of the standard library stay on in release: no input may corrupt memory.
target_compile_definitions(inferno_options INTERFACE _GLIBCXX_ASSERTIONS)
if(INFERNO_WERROR)
  target_compile_options(inferno_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(INFERNO_SANITIZE)
  # Instrumented code hides initializations from g++, which then warns of them (its manual says so).
  target_compile_options(inferno_options INTERFACE
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-maybe-uninitialized>)
  # -O1 -g1: a report needs lines, not variables, and the build takes half the time.
  target_compile_options(inferno_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${INFERNO_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g1>)
  target_link_options(inferno_options INTERFACE -fsanitize=${INFERNO_SANITIZE})
endif()
