# The library exports what its header declares, and nothing else: cmake -DNM=… -DLIBRARY=… -DHEADER=… -P this file.
execute_process(COMMAND ${NM} --dynamic --defined-only --format=posix ${LIBRARY}
  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" symbols "${symbols}")
list(TRANSFORM symbols REPLACE " .*" "")
file(READ ${HEADER} header)
string(REGEX MATCHALL "FASTTOK_API [^(]*[ *]fasttok_[a-z_]+\\(" declared "${header}")
list(TRANSFORM declared REPLACE "^.*[ *](fasttok_[a-z_]+)\\($" "\\1")
list(SORT symbols)
list(SORT declared)
if(NOT declared OR NOT symbols STREQUAL declared)
  message(FATAL_ERROR "${LIBRARY} exports\n  ${symbols}\nand ${HEADER} declares\n  ${declared}")
endif()
