#!/usr/bin/env bash
# Everything that a machine with a GPU is needed for, in one command: see usage below.
set -euo pipefail
cd -P "$(dirname "$(readlink -f "$0")")/.."
source tools/packages.sh

usage() {
  cat <<'END'
usage: bench/gpu.sh FOLDER [PART...]   on a machine with a GPU, CUDA, CMake, ninja, g++ and Python: builds and does these parts, all
                                      of them without any; what each stage printed and the reports are left in FOLDER.
                                      Needs no network; each stage has a limit of time. Exit code 1 if one failed
  tests       the op tests, the steps, the contract and the goldens on the card (some 5 minutes with the build)
  sanitize    compute-sanitizer's memcheck, racecheck and initcheck over the op tests (at most 6)
  speed       of each of MODELS 128 tokens decoded after 32 and a prompt of 2048, a line each in FOLDER/generation.jsonl;
              the ladder of qwen3-0.6b in Q8_0 (at most 8)
  suites      of each of MODELS all seven configurations of inferno bench generation (at most 9)
  peers       MODELS in turn with the llama-bench that LLAMA_BENCH names (at most 9; left out where it names none)
       bench/gpu.sh --fetch           on a machine with network and apt: puts the packages of libraries that the build
                                      needs, and the goldens where they are here, into build/gpu-packages, for a GPU
                                      machine that lacks them; take that folder along

MODELS are synthetic ones (default: synthetic:NAME:bf16 of llama-3.2-1b, qwen3-0.6b, qwen3-1.7b and gemma-3-1b). The goldens are
looked for in $INFERNO_SHARED_DATA, in what was fetched and in ../shared/data.
END
}

kPackages=build/gpu-packages
kData=${INFERNO_SHARED_DATA:-../shared/data}

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
  # Those of F32 weights are half of all, and a GPU machine may take only so much along.
  if [[ -d $kData/golden ]]; then
    mkdir -p "$kPackages/data"
    cp -r "$kData"/{golden,models} "$kPackages/data"
    chmod -R u+w "$kPackages/data"
    rm "$kPackages"/data/golden/*-f32.*
  fi
  say "$(find "$kPackages" -name '*.deb' | wc -l) packages and $(find "$kPackages" -name '*.gguf' | wc -l) goldens," \
    "$(du -sh "$kPackages" | cut -f 1), are in $kPackages"
}

# Unpacks the packages beside the system and lets cmake, pkg-config and the loader look there.
use_fetched() {
  local root=$PWD/build/gpu-root deb libraries
  libraries=$root/usr/lib/$(uname -m)-linux-gnu
  [[ -d $kPackages ]] || return 0
  for deb in "$kPackages"/*.deb; do dpkg-deb --extract "$deb" "$root"; done
  export PATH=$PATH:$root/usr/bin CMAKE_PREFIX_PATH=$root/usr
  export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  if [[ -z ${INFERNO_SHARED_DATA:-} && -d $kPackages/data ]]; then export INFERNO_SHARED_DATA=$PWD/$kPackages/data; fi
  export PKG_CONFIG_LIBDIR=$libraries/pkgconfig:$root/usr/share/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
}

failed=()

# stage NAME SECONDS COMMAND...: its output goes to FOLDER/NAME.log, its end is shown. Tests that were skipped are counted:
# a card that they ran on passes none of them unseen.
stage() {
  local name=$1 limit=$2 started=$SECONDS code=0 skipped
  shift 2
  timeout "$limit" "$@" >"$out/$name.log" 2>&1 || code=$?
  # A filter that no test matches is no success.
  if ((code == 0)) && grep -q 'Running 0 tests' "$out/$name.log"; then code=1; fi
  skipped=$(grep -c '^\[  SKIPPED \].* ms)$' "$out/$name.log") || true
  printf '== %s: %s%s, %d s\n' "$name" "$( ((code == 0)) && echo passed || echo "FAILED ($code)")" \
    "$( ((skipped == 0)) || echo ", $skipped tests SKIPPED")" $((SECONDS - started))
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

# What a tool of compute-sanitizer says of the op tests and steps; attention's are too many for it, so that some stand for all:
# windows, large scores, paged blocks and ragged batches, in every type of a cache.
sanitize() {
  compute-sanitizer --tool "$1" --error-exitcode 9 build/test/bin/op_tests \
    --gtest_filter='On/*/cuda:On/StepsTest.*_cuda:-On/AttentionTest.*/cuda:On/MatmulTest.*Own*/cuda' &&
    compute-sanitizer --tool "$1" --error-exitcode 9 build/test/bin/op_tests \
      --gtest_filter='On/AttentionTest.Positions*/cuda:On/AttentionTest.Large*/cuda:On/AttentionTest.*Block*/cuda:On/AttentionTest.*Batch*/cuda'
}

# on_model FUNCTION MODEL: calls it with the model's file.
on_model() {
  local file=$scratch/${2//[^a-zA-Z0-9.]/_}.gguf
  rm -f "$scratch"/*.gguf
  build/test/bin/inferno synthesize "${2#synthetic:}" "$file" && "$1" "$file"
}
bench_generation() {
  build/test/bin/inferno bench generation --backend cuda --model "$@" --output-dir "$out/reports" --log "$out/generation.jsonl"
}
# The rows that targets are of: decode after a short prompt, and a long prompt.
speed_of() {
  bench_generation "$1" --prompt-tokens 32 --max-new-tokens 128 --trials 3 --max-seconds 25 &&
    bench_generation "$1" --prompt-tokens 2048 --max-new-tokens 1 --trials 3 --max-seconds 25
}
suite_of() {
  bench_generation "$1" --suite full --max-seconds 90
}
peers_of() {
  build/test/bin/inferno bench peers "$1" --backend cuda -p 512 -n 128 --rounds 3 --program "$LLAMA_BENCH"
}
# The ladder, which without its GPU rung would be none.
climb() {
  build/test/bin/inferno bench ladder --model synthetic:qwen3-0.6b:q8_0 --max-seconds 100 -o "$out/ladder.json" &&
    python3 -c 'import json, sys; sys.exit(not any(rung["backend"] == "cuda" and rung["decode_tps"] for rung in json.load(open(sys.argv[1]))["rungs"]))' "$out/ladder.json"
}
export -f build sanitize on_model bench_generation speed_of suite_of peers_of climb

# on_each_model FUNCTION SECONDS: a stage for each.
on_each_model() {
  local model
  for model in "${models[@]}"; do
    lines=40 stage "$1_${model//[^a-zA-Z0-9.]/_}" "$2" bash -c 'on_model "$0" "$1"' "$1" "$model"
  done
}

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
shift
parts=("$@")
if ((${#parts[@]} == 0)); then
  parts=(tests sanitize speed suites)
  [[ -z ${LLAMA_BENCH:-} ]] || parts+=(peers)
fi
for part in "${parts[@]}"; do
  if [[ ! $part =~ ^(tests|sanitize|speed|suites|peers)$ ]]; then
    say "bench/gpu.sh: expected parts among tests, sanitize, speed, suites and peers, found '$part'"
    exit 2
  fi
  if [[ $part == peers && -z ${LLAMA_BENCH:-} ]]; then
    say "bench/gpu.sh: peers: expected the path of a llama-bench in LLAMA_BENCH, found none"
    exit 2
  fi
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export out scratch
use_fetched
export PATH=$PATH:/usr/local/cuda/bin  # compute-sanitizer
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/cuda/lib64  # cuBLASLt, for the matrix peak
read -ra models <<<"${MODELS:-synthetic:llama-3.2-1b:bf16 synthetic:qwen3-0.6b:bf16 synthetic:qwen3-1.7b:bf16 synthetic:gemma-3-1b:bf16}"
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader | tee "$out/gpu.txt"
stage build 240 bash -c build
if ((${#failed[@]} > 0)); then
  exit 1
fi
for part in "${parts[@]}"; do
  case $part in
    tests)
      stage starts 30 build/test/bin/inferno generate --backend cuda "Once upon a time" 16
      stage op_tests 90 build/test/bin/op_tests --gtest_filter='*/cuda:*_cuda:DeviceOps.*'
      stage model_tests 90 build/test/bin/model_tests --gtest_filter='*cuda*'
      ;;
    sanitize)
      for tool in memcheck racecheck initcheck; do
        stage "$tool" 120 bash -c "sanitize $tool"
      done
      ;;
    speed)
      on_each_model speed_of 70
      lines=40 stage ladder 130 bash -c climb
      ;;
    suites) on_each_model suite_of 130 ;;
    peers) on_each_model peers_of 130 ;;
  esac
done
if ((${#failed[@]} > 0)); then
  echo "FAILED: ${failed[*]}"
  exit 1
fi
echo "All stages passed."
