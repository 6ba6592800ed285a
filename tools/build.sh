# Sourced by ./run and ./test from the repository's root: quiet builds of one of CMakePresets.json's presets.

# Shows how far ninja is, by its "[done/total] ..." lines: on a terminal as one line that moves; else in a line after the
# first file that is compiled and then one every half a minute.
show_progress() {
  local line next=0
  while IFS= read -r line; do
    if [[ -t 2 && $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
      printf '\r\033[KBuilding %s: %d of %d' "$1" "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" >&2
    elif [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\ Building ]] && ((SECONDS >= next)); then
      say "Building $1: ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}"
      next=$((SECONDS + 30))
    fi
  done
  [[ ! -t 2 ]] || printf '\r\033[K' >&2
}

# Whether a folder could be made there, or is there and may be written to.
could_write() {
  local place=$1
  while [[ ! -e $place ]]; do place=$(dirname -- "$place"); done
  [[ -d $place && -w $place ]]
}

# build PRESET [TARGET...]: configures and builds; the output is shown only if that fails. Returns 1 then. Says nothing
# where nothing is compiled or linked.
build() {
  local preset=$1 folder=build/$1
  shift
  # A cache that was made elsewhere (the folder was moved or copied) cannot be used again.
  if [[ -f $folder/CMakeCache.txt ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$folder/CMakeCache.txt"; then
    rm -rf "$folder"
  fi
  mkdir -p "$folder"
  # A compiler behind ccache fails where ccache cannot write.
  if [[ -z ${CCACHE_DIR:-} ]] && ! could_write "${XDG_CACHE_HOME:-${HOME:-}/.cache}/ccache"; then
    export CCACHE_DIR=$PWD/build/ccache
  fi
  local log=$folder/build.log started=$SECONDS
  if ! cmake --preset "$preset" >"$log" 2>&1; then
    cat "$log" >&2
    return 1
  fi
  local command=(cmake --build "$folder")
  (($# == 0)) || command+=(--target "$@")
  if ! NINJA_STATUS='[%f/%t] ' "${command[@]}" 2>&1 | tee "$log" | show_progress "$folder"; then
    cat "$log" >&2
    say "The build of $folder failed: see above."
    return 1
  fi
  if grep -qE '^\[[0-9]+/[0-9]+\] (Building|Linking) ' "$log"; then
    say "Built $folder in $((SECONDS - started)) s"
  fi
}
