# join_files(target)
#
# With INFERNO_JOINED_FILES so many .cpp files of a folder, in alphabetical order, are one to the compiler, which then makes
# what they share once: a whole build is shorter, a change of one file takes longer. So names are a folder's, not a file's: a
# new file moves the others on, and a name that two of them have may meet itself later. TESTS joins those below tests/ alone,
# so that each file of the engine still shows that it includes what it uses. The presets for work compile each file alone.
set(INFERNO_JOINED_FILES OFF CACHE STRING "Compile the files of a folder several at a time: OFF, ON or TESTS")
set_property(CACHE INFERNO_JOINED_FILES PROPERTY STRINGS OFF ON TESTS)
set(joined_files 6)

function(join_files target)
  if(NOT INFERNO_JOINED_FILES OR
     (INFERNO_JOINED_FILES STREQUAL "TESTS" AND NOT CMAKE_CURRENT_SOURCE_DIR MATCHES "^${PROJECT_SOURCE_DIR}/tests"))
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "[.]cpp$")
  foreach(source ${sources})
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    list(LENGTH in_${folder} i)
    list(APPEND in_${folder} ${source})
    math(EXPR group "${i} / ${joined_files}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # g++ takes what is in a file of several for a header, and g++ 12 takes the inside of a string that is moved for too small.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
    if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      target_compile_options(${target} PRIVATE -Wno-stringop-overflow)
    endif()
  endif()
endfunction()
