#!/usr/bin/env bash
# Everything that a machine with a GPU is needed for, in one command: see usage below.
set -euo pipefail
cd -P "$(dirname "$(readlink -f "$0")")/.."
source tools/packages.sh

usage() {
  cat <<'END'
usage: bench/gpu.sh FOLDER    on a machine with a GPU, CUDA, CMake, ninja and g++: builds, runs the op and model tests and
                             compute-sanitizer on the card, the ladder and the quick suite, and prints the tables; what
                             each stage printed and the reports are left in FOLDER. Needs no network; each stage has a
                             limit of time. Exit code 1 if a stage failed
       bench/gpu.sh --fetch   on a machine with network and apt: puts the packages of libraries that the build needs into
                             build/gpu-packages, for a GPU machine that lacks them and has none; take that folder along

INFERNO_SHARED_DATA is where the goldens are; without them their tests are skipped. MODELS are the models that are timed
(default: synthetic:qwen3-0.6b:bf16 and synthetic:llama-3.2-1b:bf16).
END
}

kPackages=build/gpu-packages

# The libraries with what they are linked to, and pkg-config, but nothing that every compiler comes with.
fetch() {
  local packages
  packages=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
    --no-enhances "${kLibraries[@]}" "${kTestLibraries[@]}" pkg-config |
    grep -E '^(lib(fmt|spdlog|cli11|pcre2|utf8proc|xxhash|gtest|gmock|rapidcheck|pkgconf)|googletest|nlohmann|pkg)' |
    sort -u)
  mkdir -p "$kPackages"
  # shellcheck disable=SC2086
  (cd "$kPackages" && apt-get download $packages)
  say "$(find "$kPackages" -name '*.deb' | wc -l) packages, $(du -sh "$kPackages" | cut -f 1), are in $kPackages"
}

# Unpacks the packages beside the system and lets cmake, pkg-config and the loader look there.
use_fetched() {
  local root=$PWD/build/gpu-root deb libraries
  libraries=$root/usr/lib/$(uname -m)-linux-gnu
  [[ -d $kPackages ]] || return 0
  for deb in "$kPackages"/*.deb; do dpkg-deb --extract "$deb" "$root"; done
  export PATH=$PATH:$root/usr/bin CMAKE_PREFIX_PATH=$root/usr
  export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export PKG_CONFIG_LIBDIR=$libraries/pkgconfig:$root/usr/share/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
}

failed=()

# stage NAME SECONDS COMMAND...: its output goes to FOLDER/NAME.log, its end is shown.
stage() {
  local name=$1 limit=$2 started=$SECONDS code=0
  shift 2
  timeout "$limit" "$@" >"$out/$name.log" 2>&1 || code=$?
  # A filter that no test matches is no success.
  if ((code == 0)) && grep -q 'Running 0 tests' "$out/$name.log"; then code=1; fi
  printf '== %s: %s, %d s\n' "$name" "$( ((code == 0)) && echo passed || echo "FAILED ($code)")" $((SECONDS - started))
  tail -n "${lines:-4}" "$out/$name.log"
  ((code == 0)) || failed+=("$name")
}

# For the card that is here alone. A compiler that this was not written for may warn of more.
build() {
  local architecture
  architecture=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d .)
  cmake --preset test -DINFERNO_WERROR=OFF -DINFERNO_CUDA=ON "-DINFERNO_CUDA_ARCHITECTURES=${architecture/#90/90a}" \
    -DINFERNO_EMULATED_CUDA=OFF &&
    cmake --build build/test --target inferno op_tests model_tests
}

# What a tool of compute-sanitizer says of the op tests; attention's are too many for it, so that some stand for all.
sanitize() {
  compute-sanitizer --tool "$1" --error-exitcode 9 build/test/bin/op_tests \
    --gtest_filter='On/*/cuda:-On/AttentionTest.*/cuda:On/MatmulTest.*Own*/cuda' &&
    compute-sanitizer --tool "$1" --error-exitcode 9 build/test/bin/op_tests \
      --gtest_filter='On/AttentionTest.Positions*/cuda:On/AttentionTest.Large*/cuda'
}
export -f build sanitize

case ${1:-} in
  --fetch)
    fetch
    exit 0
    ;;
  "" | -*)
    usage
    [[ ${1:-} == --help ]] && exit 0
    exit 2
    ;;
esac
if ! command -v nvidia-smi >/dev/null; then
  say "bench/gpu.sh: expected a machine with an NVIDIA GPU, found no nvidia-smi; without one ./test runs the kernels emulated"
  exit 1
fi
mkdir -p "$1"
out=$(cd "$1" && pwd)
use_fetched
export PATH=$PATH:/usr/local/cuda/bin  # compute-sanitizer
read -ra models <<<"${MODELS:-synthetic:qwen3-0.6b:bf16 synthetic:llama-3.2-1b:bf16}"
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader | tee "$out/gpu.txt"
stage build 240 bash -c build
if ((${#failed[@]} > 0)); then
  exit 1
fi
stage starts 30 build/test/bin/inferno generate --backend cuda "Once upon a time" 16
stage op_tests 60 build/test/bin/op_tests --gtest_filter='*/cuda'
stage model_tests 60 build/test/bin/model_tests --gtest_filter='*cuda*'
for tool in memcheck racecheck initcheck; do
  stage "$tool" 60 bash -c "sanitize $tool"
done
lines=40
for model in "${models[@]}"; do
  stage "suite_${model//[^a-zA-Z0-9.]/_}" 60 build/test/bin/inferno bench generation --backend cuda --model "$model" --suite quick \
    --max-seconds 30 --output-dir "$out"
done
stage ladder 60 build/test/bin/inferno bench ladder --model "${models[0]}" --max-seconds 40 -o "$out/ladder.json"
if ((${#failed[@]} > 0)); then
  echo "FAILED: ${failed[*]}"
  exit 1
fi
echo "All stages passed."
