# add_precompiled(name LINKS library... HEADERS header...)
# use_precompiled(target name)
#
# Headers that nearly every file of some targets includes, parsed once; <name> links what says how those are compiled,
# and they must be compiled alike. It owns nothing else, so that none of them waits for a library. Files still include
# what they use: the preset clang is built without (CMAKE_DISABLE_PRECOMPILE_HEADERS), and with errors for warnings.
function(add_precompiled name)
  cmake_parse_arguments(PRECOMPILED "" "" "LINKS;HEADERS" ${ARGN})
  file(CONFIGURE OUTPUT ${name}.cpp CONTENT "")
  add_library(${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE ${PRECOMPILED_LINKS})
  target_compile_options(${name} PRIVATE ${precompiled_flags})
  target_precompile_headers(${name} PRIVATE ${PRECOMPILED_HEADERS})
endfunction()

function(use_precompiled target name)
  target_compile_options(${target} PRIVATE ${precompiled_flags})
  target_precompile_headers(${target} REUSE_FROM ${name})
endfunction()

# What ccache needs to know a precompiled header again.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(precompiled_flags "SHELL:-Xclang -fno-pch-timestamp")
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(precompiled_flags -fpch-preprocess)
endif()
# What most files of ours include, tests aside.
set(common_headers <algorithm> <array> <functional> <memory> <optional> <span> <string> <string_view> <variant> <vector>
    <fmt/core.h>)
