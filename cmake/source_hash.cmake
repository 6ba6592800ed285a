# cmake "-DSOURCES=file;file" -DTEMPLATE=… -DOUTPUT=… -P source_hash.cmake
# Writes the template with SOURCE_HASH, a short hash of what the files hold.
set(hashes "")
foreach(source IN LISTS SOURCES)
  file(SHA256 "${source}" hash)
  string(APPEND hashes ${hash})
endforeach()
string(SHA256 SOURCE_HASH "${hashes}")
string(SUBSTRING ${SOURCE_HASH} 0 16 SOURCE_HASH)
configure_file("${TEMPLATE}" "${OUTPUT}" @ONLY)
file(TOUCH "${OUTPUT}")  # newer than the sources, also where their hash is the same
