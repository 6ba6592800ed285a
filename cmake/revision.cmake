# cmake -DSOURCE=… -DVERSION=… -DTEMPLATE=… -DOUTPUT=… -P revision.cmake
#
# Fills in which version and commit is built; leaves the output alone when it says so already, so that nothing is
# compiled anew.
execute_process(COMMAND git -C ${SOURCE} rev-parse --show-prefix
  OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --exclude=*
  OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
# Unpacked inside another project's repository: its commits say nothing about us.
if(failed OR NOT prefix STREQUAL "")
  set(revision "")
endif()
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
