# Sourced by ./run and ./test: the packages of Debian 12 and Ubuntu 24.04 that the project needs, and their installation.

kLibraries=(libcli11-dev libfmt-dev libspdlog-dev nlohmann-json3-dev libpcre2-dev libutf8proc-dev libxxhash-dev)
kTestLibraries=(libgtest-dev librapidcheck-dev)
kRunPackages=(g++ cmake ninja-build pkg-config "${kLibraries[@]}")
kTestPackages=("${kRunPackages[@]}" "${kTestLibraries[@]}" python3 ccache)
# llvm: with its symbolizer a sanitizer's report names functions and lines.
kCiPackages=("${kTestPackages[@]}" libbenchmark-dev clang libclang-rt-dev llvm clang-format-14
  g++-aarch64-linux-gnu qemu-user)

say() { printf '%s\n' "$*" >&2; }

# Prints those of the given packages that are not installed.
missing_packages() {
  local package
  for package in "$@"; do
    [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || echo "$package"
  done
}

# Prints what to put before a command so that it runs as root; fails where there is no way to.
root_prefix() {
  if [[ $EUID -eq 0 ]]; then
    echo "env"
  elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; then
    echo "sudo env"
  else
    return 1
  fi
}

# Installs those of the given packages that are missing. Exits 1 with the line to type where it may not.
install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "This is no Debian or Ubuntu: where the build misses a library, install the equivalent of: $*"
    return
  fi
  local missing prefix log
  missing=$(missing_packages "$@" | tr '\n' ' ')
  missing=${missing% }
  [[ -n $missing ]] || return 0
  if ! prefix=$(root_prefix); then
    say "Some packages are missing. As root, type this one line, then call $0 again:"
    say "apt-get update && apt-get install -y --no-install-recommends $missing"
    exit 1
  fi
  say "Installing $missing"
  log=$(mktemp)
  # $prefix and $missing are lists of words.
  # shellcheck disable=SC2086
  if ! { $prefix apt-get update &&
    $prefix DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      -o DPkg::Lock::Timeout=300 $missing; } >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    say "Could not install the packages: see above."
    exit 1
  fi
  rm -f "$log"
}
