#!/usr/bin/env bash
# Installs what is missing, builds Snug three times and runs its tests four times over:
#   release  as users build it
#   avx2     the same programs, held to AVX2 as on a CPU without AVX-512
#   asan     address and undefined behaviour, and every fuzzer for a few seconds
#   tsan     the programs that start threads
# All are one ctest run, which ends with the summary of all.
#
# usage: scripts/test.sh [--release-only | --without-sanitizers]
#   --release-only         only the first of them
#   --without-sanitizers   only the first two, which need one build
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in
  "" | --release-only | --without-sanitizers) ;;
  *)
    echo "test.sh: unknown option '$1'; there are --release-only and --without-sanitizers" >&2
    exit 2
    ;;
esac

# A tree in another folder (tests/adding_an_op builds one) finds what was compiled in this one.
export CCACHE_BASEDIR="$PWD"
scripts/install_packages.sh
cmake --preset release -DSNUG_TESTS=ON -DSNUG_BENCH=ON -DSNUG_WERROR=ON -DSNUG_TOGETHER=most
cmake --build build
if [[ "${1:-}" == --release-only ]]; then
  exec ctest --test-dir build --output-on-failure
fi

suites=(release avx2)
if [[ -z "${1:-}" ]]; then
  cmake --preset asan
  cmake --build build/asan --target sanitized_tests
  cmake --preset tsan
  cmake --build build/tsan --target threaded_tests
  suites+=(asan tsan)
fi

python3 tools/gather_tests.py build/suites "${suites[@]}"
exec ctest --test-dir build/suites --output-on-failure -j 2
