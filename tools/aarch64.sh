# Sourced by ./test from the repository's root: what the cross build for 64-bit ARM needs beyond packages of this machine.

kAarch64Sysroot=build/aarch64-sysroot

# Downloads the given packages for arm64 and what they depend on, from this machine's package sources, into a folder of
# their own: nothing that is installed changes, and no rights are needed.
fetch_aarch64_packages() {
  local root=$PWD/$kAarch64Sysroot deb
  local apt=(apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root
    -o Acquire::Languages=none -o "Dir::State=$root/apt" -o "Dir::State::status=$root/apt/status"
    -o "Dir::Cache=$root/apt")
  rm -rf "$root"
  mkdir -p "$root/apt/lists/partial" "$root/apt/archives/partial"
  : >"$root/apt/status"
  # Sources without arm64 are no error of the update's; what is missing then is one of the download's.
  "${apt[@]}" update || true
  "${apt[@]}" install --download-only --yes --no-install-recommends "$@" || return 1
  for deb in "$root"/apt/archives/*.deb; do
    dpkg-deb --extract "$deb" "$root" || return 1
  done
  rm -rf "$root/apt"
  echo "$*" >"$root/packages"
}

# Makes $kAarch64Sysroot of the given packages unless it is there. Prints why that cannot be, and returns 1 then.
prepare_aarch64() {
  local log
  if [[ $(uname -m) != x86_64 ]]; then
    echo "cross-built on x86-64 alone; this machine is $(uname -m)"
  elif ! command -v aarch64-linux-gnu-g++ >/dev/null || ! command -v qemu-aarch64 >/dev/null; then
    echo "aarch64-linux-gnu-g++ or qemu-aarch64 is missing (packages g++-aarch64-linux-gnu and qemu-user)"
  elif [[ -f $kAarch64Sysroot/packages && $(<"$kAarch64Sysroot/packages") == "$*" ]]; then
    return 0
  elif ! command -v apt-get >/dev/null; then
    echo "no apt-get to fetch libraries for arm64 with"
  elif log=$(fetch_aarch64_packages "$@" 2>&1); then
    return 0
  else
    echo "could not fetch libraries for arm64: $(tail -n 1 <<<"$log")"
  fi
  return 1
}
