# add_floor(name USES floor... [LINKS library...] [EXCLUDE pattern])
#
# Makes the library inferno_<name> of every .cpp below the calling folder. USES is the list of floors that its
# files may include, besides its own and base; tools/check_floors.py holds it against the #includes.
# NO_BASE marks the one floor that may not even include base (kernels); EXCLUDE leaves out the files whose path matches.
function(add_floor name)
  cmake_parse_arguments(FLOOR "NO_BASE" "EXCLUDE" "USES;LINKS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(FLOOR_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${FLOOR_EXCLUDE}")
  endif()
  if(NOT sources)
    file(CONFIGURE OUTPUT empty.cpp CONTENT "")
    set(sources ${CMAKE_CURRENT_BINARY_DIR}/empty.cpp)
  endif()
  add_library(inferno_${name} STATIC ${sources})
  target_include_directories(inferno_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(inferno_${name} PRIVATE inferno_options)
  list(TRANSFORM FLOOR_USES PREPEND inferno_)
  if(NOT FLOOR_NO_BASE AND NOT name STREQUAL "base")
    target_link_libraries(inferno_${name} PUBLIC inferno_base)
  endif()
  target_link_libraries(inferno_${name} PUBLIC ${FLOOR_USES} ${FLOOR_LINKS})
endfunction()
